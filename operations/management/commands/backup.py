from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import services as jobs
from jobs.progress import Progress
from jobs.verbs import JobGroup, read_job_result
from openclaw_web import amounts
from openclaw_web.commands.groups import Outcome, VerbModule, WrongUse
from openclaw_web.commands.verbs import BY, PARTLY
from openclaw_web.pages.formatting import size, to_datetime

from ...backups import home_restore, runs, services
from ...models import BackupRun

SCHEMA = "openclaw-web.backup.v1"
MAX_LISTED = 1_000
NO_FACTS = {
    "backup": None,
    "backups": [],
    "message": "",
    "damaged": [],
    "missing": [],
    "removed": [],
    "home": None,
    "kept": None,
}

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


class List(VerbModule):
    HELP = gettext_lazy("List backups, newest first, including files in the folder that were created elsewhere.")
    EXAMPLES = ("backup list", "backup list --json | jq .backups[0].path")

    def run(self, **options):
        runs.sync_with_disk(by=BY)
        rows = BackupRun.objects.order_by("-created_at", "-id").exclude(status=BackupRun.Status.GONE)
        backups = [services.build_facts(run) for run in rows[:MAX_LISTED]]
        lines = list(map(_format_line, backups)) or [_("No backups yet. Create a backup: openclaw-web backup create")]
        return Outcome(NO_FACTS | {"verb": "list", "backups": backups}, "\n".join(lines))


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
        words = {
            "home": result.home,
            "agents": amounts.format_amount("agents", len(result.facts["agents"])),
            "users": amounts.format_amount("users", result.facts["users"]),
            "version": result.manifest.app_version,
            "made": str(to_datetime(result.manifest.created_at))[:19],
        }
        sentence = _("%(home)s is restored to its state of %(made)s UTC: %(agents)s, %(users)s (version %(version)s).")
        message = sentence % words
        lines = [message, _("Everybody has to sign in again. Tokens remain valid.")]
        if result.lacks:
            lines.append(_("The backup was incomplete, and so is the restored home.") + f" {result.lacks}")
        if result.old_home:
            lines.append(_("The previous home is kept: %(path)s") % {"path": result.old_home})
        backup = {"id": result.manifest.id, "created_at": result.manifest.created_at, "path": str(result.path)}
        places = {"home": str(result.home), "kept": str(result.old_home) if result.old_home else None}
        facts = NO_FACTS | {"verb": "restore", "backup": backup, "message": message} | places
        return Outcome(facts, "\n".join(lines))


class Command(JobGroup):
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
    schema = SCHEMA

    def _parse(self, argv):
        options = super()._parse(argv)
        # A restore needs a home without a database of this process, and without other users.
        if options["verb"] is self.verbs["restore"]:
            self.needs_database = self.works_in_home = False
        return options


def _run_job(verb, params, listener):
    result = read_job_result(jobs.run_now(KINDS[verb], params, by=BY, listener=listener))
    backup = {name: result[name] for name in ("id", "status", "path", "bytes", "sha256", "created_at")}
    backup |= {name: result[name] for name in ("verified_at", "proven_at", "proven_ms", "made_by", "sentence")}
    facts = NO_FACTS | {"verb": verb, "backup": backup, "message": result["message"]}
    facts |= {name: result[name] for name in ("damaged", "missing", "removed") if name in result}
    lines = [result["message"], *(_("Removed %(path)s") % {"path": path} for path in facts["removed"])]
    if facts["damaged"] or facts["missing"]:
        return Outcome(facts, "\n".join(lines), PARTLY, facts["message"])
    return Outcome(facts, "\n".join(lines))


def _format_line(backup):
    when = str(to_datetime(backup["created_at"]))[:19]
    proven = str(to_datetime(backup["proven_at"]))[:10] if backup["proven_at"] else _("never restored")
    columns = (when, f"{backup['status']:<9} {size(backup['bytes']):>10}", f"{proven:<14}")
    return "  ".join((*columns, backup["path"] or backup["sentence"]))
