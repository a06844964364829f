from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.progress import open_listener
from openclaw_web.commands.verbs import BY, DONE, FAILED, INTERRUPTED, PARTLY, REFUSED, WRONG_USE, Verb

from ...retention import report


class Command(Verb):
    help = gettext_lazy("Count old sessions; remove them with --remove. Sessions that evidence needs are kept.")
    examples = (
        "retention",
        "retention --days 365",
        "retention --days 365 --remove",
        "retention --json --quiet | jq .sessions",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    schema = report.RETENTION_SCHEMA
    has_progress = True

    def add_arguments(self, parser):
        parser.add_argument("--days", type=int, metavar="N", help=_("inactive for this many days (retentionDays)"))
        parser.add_argument("--agent", metavar="NAME", help=_("only this agent (all agents)"))
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--dry-run", action="store_true", help=_("only count, as without --remove"))
        how.add_argument("--remove", action="store_true", help=_("remove them permanently"))

    def run(self, days, agent, remove, quiet, **options):
        if days is not None and not 1 <= days <= report.MOST_DAYS:
            self.fail(_("--days must be 1 to %(most)s.") % {"most": report.MOST_DAYS}, WRONG_USE)
        requested = {"days": days, "agent": agent, "dry_run": not remove, "by": BY}
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            params = {name: value for name, value in requested.items() if value}
            job = jobs.run_now("retention", params, by=BY, listener=listener)
        if job.state != job.State.FINISHED:
            self.fail(job.message, REFUSED if job.state == job.State.REFUSED else FAILED)
        facts = job.result
        if facts["failed"]:
            words, status = report.in_words(facts), PARTLY if report.has_successes(facts) else REFUSED
            self.end_partly(facts, words, str(report.SOME_FAILED), facts["failed"], status=status)
        self.answer(facts, report.in_words(facts))
