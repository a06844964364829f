from contextlib import suppress

from django.db import DatabaseError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Group, Outcome, WrongUse
from openclaw_web.commands.verbs import BY, DONE, INTERRUPTED, REFUSED, WRONG_USE
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import duration, to_datetime

from ... import services as jobs
from ...models import JobRun

COLUMNS = ("id", "kind", "state", "done", "total", "message", "attempts", "started_by")
MOST = 1_000
TIMES = ("created_at", "started_at", "heartbeat_at", "finished_at")
CANCEL = ("cancel_requested_at", "cancel_requested_by")


class ListVerb:
    """The command without a verb: lists the latest jobs."""

    HELP = gettext_lazy("List the latest jobs, newest first.")
    EXAMPLES = ("jobs", "jobs --limit 5", "jobs --json | jq '.jobs[] | select(.state == \"failed\") | .id'")

    def add_arguments(self, parser):
        parser.add_argument("--limit", type=int, default=20, metavar="N", help=_("how many, 1 to 1,000 (20)"))

    def run(self, limit, **options):
        if not 1 <= limit <= MOST:
            raise WrongUse(_("--limit must be 1 to %(most)s.") % {"most": f"{MOST:,}"})
        with suppress(DatabaseError):  # on a full disk they are listed as they were
            jobs.recover(ends_with_process=True)  # no worker may be there to say that they stopped
        runs = list(JobRun.objects.order_by("-created_at", "-id").defer("log", "result_json")[:limit])
        return Outcome({"jobs": [_job_fields(job) for job in runs]}, "\n".join(map(_format_line, runs)))


class CancelVerb:
    HELP = gettext_lazy("Cancel a job: a queued job ends immediately, a running job at its next step.")
    EXAMPLES = ("jobs cancel 01JD3ZK8Q5T9W2X4Y6A8C0E1G3",)

    def add_arguments(self, parser):
        parser.add_argument("job", metavar="ID", help=_("id of the job, as shown by jobs --json and on its page"))

    def run(self, job, **options):
        found_job = JobRun.objects.filter(id=job).first()
        if found_job is None:
            sentence = _("There is no job %(job)s. openclaw-web jobs --json lists all jobs with their ids.")
            raise Refused(sentence % {"job": job})
        job = jobs.cancel(found_job, by=BY)
        return Outcome(
            {"jobs": [_job_fields(job)]}, job.message if job.has_ended else _("The job ends at its next step.")
        )


class Command(Group):
    help = ListVerb.HELP
    examples = (*ListVerb.EXAMPLES, *CancelVerb.EXAMPLES)
    alone = ListVerb()
    verbs = {"cancel": CancelVerb()}
    statuses = (DONE, WRONG_USE, REFUSED, INTERRUPTED)
    schema = "openclaw-web.jobs.v1"


def _job_fields(job):
    return {name: getattr(job, name) for name in COLUMNS + TIMES + CANCEL}


def _format_line(job):
    queued = to_datetime(job.created_at).strftime("%Y-%m-%d %H:%M:%S")
    how_far = f"{job.done:,}" if job.percent is None else f"{job.percent} %"
    columns = (queued, f"{job.kind:<8}", f"{job.state:<8}", f"{how_far:>7}", f"{duration(job.duration_ms):>12}")
    return "  ".join((*columns, job.message)).rstrip()
