from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.progress import Progress
from jobs.verbs import JobGroup, read_job_result
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY, PARTLY, REFUSED

from ...retention import archive_restore, report


class Sessions:
    """The command without a verb: moves old sessions to files."""

    HELP = gettext_lazy("Move old sessions to archive files, which are read back first; restore them later.")
    EXAMPLES = (
        "archive --older-than 365d --dry-run",
        "archive --before 2026-01-01 --agent main",
        "archive --older-than 365d --out /mnt/archive",
    )

    def add_arguments(self, parser):
        parser.add_argument("--before", metavar="DATE", help=_("sessions without activity since this day (UTC)"))
        parser.add_argument("--older-than", metavar="AGE", help=_("the same as an age in whole days: 365d or 52w"))
        parser.add_argument("--agent", metavar="NAME", help=_("only this agent (all agents)"))
        parser.add_argument("--out", metavar="FOLDER", help=_("folder for the archives (archive in the home)"))
        parser.add_argument("--dry-run", action="store_true", help=_("only count"))

    def run(self, listener, before, older_than, agent, out, dry_run, **options):
        folder = str(Path(out).expanduser().absolute()) if out else None
        requested = {"agent": agent, "out": folder, "dry_run": dry_run}
        params = {"before": _parse_moment(before, older_than), "by": BY}
        params |= {name: value for name, value in requested.items() if value}
        result = read_job_result(jobs.run_now("archive", params, by=BY, listener=listener))
        return _build_outcome(report.build_sessions_receipt(result))


class Files:
    """A verb for existing archives."""

    def __init__(self, name, sentence, example):
        self.name, self.HELP, self.EXAMPLES = name, sentence, (example,)

    def add_arguments(self, parser):
        parser.add_argument("files", nargs="*", metavar="FILE", help=_("archives, or folders of archives"))

    def run(self, listener, files, **options):
        if not files:
            raise WrongUse(_("Name the archives: openclaw-web archive %(verb)s FILE…") % {"verb": self.name})
        paths, progress = archive_restore.find_archives(files), Progress(listener)
        return _build_outcome(report.build_files_receipt(self.name, self.rows_of(paths, progress)))

    def rows_of(self, paths, progress):
        return archive_restore.verify_archives(paths, progress)


class Restore(Files):
    def rows_of(self, paths, progress):
        return archive_restore.restore_archives(paths, progress, by=BY)


class Command(JobGroup):
    help = Sessions.HELP
    examples = (
        *Sessions.EXAMPLES,
        "archive verify ~/.openclaw-web/archive",
        "archive restore ~/.openclaw-web/archive/main/2026-01/*.jsonl.zst",
    )
    alone = Sessions()
    verbs = {
        "restore": Restore("restore", gettext_lazy("Restore the sessions of archives."), examples[-1]),
        "verify": Files("verify", gettext_lazy("Read archives in full and check them."), examples[-2]),
    }
    schema = report.ARCHIVE_SCHEMA


def _parse_moment(before, older_than):
    if bool(before) == bool(older_than):
        raise WrongUse(_("Use either --before DATE or --older-than AGE."))
    try:
        return report.parse_moment(before, older_than)
    except ValueError as exc:
        raise WrongUse(_("Write a date as 2026-01-31, an age in whole days as 365d or 52w.")) from exc


def _build_outcome(facts):
    words = report.in_words(facts)
    if not facts["failed"]:
        return Outcome(facts, words)
    status = PARTLY if report.has_successes(facts) else REFUSED
    return Outcome(facts, words, status, str(report.SOME_FAILED), tuple(facts["failed"]))
