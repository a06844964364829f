from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.progress import Progress, open_listener
from openclaw_web.commands.groups import Failed, Group, Outcome, WrongUse
from openclaw_web.commands.verbs import PARTLY
from openclaw_web.errors import Refused

from ...backups import home_restore, report, runs, services
from ...models import BackupRun

BY = "command line"
KINDS = {"create": "backup", "verify": "backup_verify", "drill": "backup_drill"}


class Create:
    HELP = gettext_lazy("Create a backup; the file gets its name only after it was opened and checked.")
    EXAMPLES = ("backup create", "backup create --to /mnt/backups --with-exports --keep 7")

    def add_arguments(self, parser):
        parser.add_argument("--to", metavar="DIR", help=_("folder for the backup (the setting backup.folder)"))
        parser.add_argument("--with-exports", action="store_true", help=_("include export files"))
        parser.add_argument("--keep", type=int, metavar="N", help=_("then remove all but the newest N backups there"))

    def run(self, listener, to, with_exports, keep, **options):
        if keep is not None and keep < 1:
            raise WrongUse(_("--keep must be 1 or more."))
        folder = str(Path(to).expanduser().absolute()) if to else None
        requested = {"folder": folder, "with_exports": with_exports, "keep": keep, "by": BY}
        return _run_job("create", {name: value for name, value in requested.items() if value}, listener)


class List:
    HELP = gettext_lazy("List backups, newest first, including files in the folder that were created elsewhere.")
    EXAMPLES = ("backup list", "backup list --json | jq .backups[0].path")

    def add_arguments(self, parser):
        pass

    def run(self, **options):
        runs.sync_with_disk(by=BY)
        rows = BackupRun.objects.order_by("-created_at", "-id").exclude(status=BackupRun.Status.GONE)
        return _build_outcome(
            *report.build_list_receipt([services.build_facts(run) for run in rows[: report.MAX_LISTED]])
        )


class BackupVerb:
    """A verb that runs a job on one backup."""

    def __init__(self, name, sentence):
        self.name, self.HELP = name, sentence
        self.EXAMPLES = (f"backup {name}", f"backup {name} latest")

    def add_arguments(self, parser):
        parser.add_argument("archive", nargs="?", default="latest", metavar="ARCHIVE", help=_("file or id (latest)"))

    def run(self, listener, archive, **options):
        runs.sync_with_disk(by=BY)
        return _run_job(self.name, {"backup": runs.find_backup(archive).id}, listener)


class Restore:
    HELP = gettext_lazy("Restore a backup into an empty home.")
    EXAMPLES = ("backup restore /mnt/backups/openclaw-web-20261121T220000Z.tar.zst --replace",)

    def add_arguments(self, parser):
        parser.add_argument("archive", nargs="?", metavar="ARCHIVE", help=_("file of the backup"))
        parser.add_argument("--replace", action="store_true", help=_("move the current home aside first"))

    def run(self, listener, archive, replace, **options):
        if not archive:
            raise WrongUse(_("Name the backup to restore: openclaw-web backup restore FILE"))
        path = Path(archive).expanduser().absolute()
        result = home_restore.restore(path, replace=replace, by=BY, progress=Progress(listener))
        return _build_outcome(*report.build_restore_receipt(result))


class Command(Group):
    help = gettext_lazy("Create, verify, test and restore backups.")
    examples = (
        "backup create",
        "backup create --to /mnt/backups --with-exports --keep 7",
        "backup list --json | jq .backups[0].path",
        "backup verify latest",
        "backup drill",
        "backup restore /mnt/backups/openclaw-web-20261121T220000Z.tar.zst --replace",
    )
    verbs = {
        "create": Create(),
        "list": List(),
        "verify": BackupVerb("verify", gettext_lazy("Read every byte of a backup and open every database in it.")),
        "restore": Restore(),
        "drill": BackupVerb(
            "drill", gettext_lazy("Test a backup: restore it into a separate folder and record the result.")
        ),
    }
    schema = report.SCHEMA
    has_progress = True

    def _parse(self, argv):
        options = super()._parse(argv)
        # A restore needs a home without a database of this process, and without other users.
        if options["verb"] is self.verbs["restore"]:
            self.needs_database = self.works_in_home = False
        return options

    def ask(self, verb, *, quiet, **options):
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            return verb.run(listener=listener, **options)


def _run_job(verb, params, listener):
    job = jobs.run_now(KINDS[verb], params, by=BY, listener=listener)
    if job.state != job.State.FINISHED:
        raise (Refused if job.state == job.State.REFUSED else Failed)(job.message)
    return _build_outcome(*report.build_job_receipt(verb, job))


def _build_outcome(facts, words):
    if facts["damaged"] or facts["missing"]:
        return Outcome(facts, words, PARTLY, facts["message"])
    return Outcome(facts, words)
