"""Jobs that a command runs in its terminal."""

from typing import Any

from openclaw_web.commands.groups import Failed, Group
from openclaw_web.errors import Refused

from .models import JobRun
from .progress import open_listener


class JobGroup(Group):
    """A command whose verbs run jobs: each gets a `listener` that draws their progress."""

    has_progress = True

    def ask(self, verb, *, quiet, **options):
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            return verb.run(listener=listener, **options)


def read_job_result(job: JobRun) -> dict[str, Any]:
    """Return the result of a job that has ended.

    Raises Refused when it was refused, and Failed when it did not finish.
    """
    if job.state == JobRun.State.REFUSED:
        raise Refused(job.message)
    if job.state != JobRun.State.FINISHED:
        raise Failed(job.message)
    return job.result
