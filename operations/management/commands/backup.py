from pathlib import Path

from agents.commands import DONE, FAILED, INTERRUPTED, PARTLY, REFUSED, WRONG_USE, Verb
from operations import jobs
from operations.backups import report, restoring, runs, services
from operations.models import BackupRun
from operations.progress import Progress, listener_on

BY = "command line"
# Option: the verbs that know it.
KNOWN_TO = {
    "archive": ("verify", "restore", "drill"),
    "to": ("create",),
    "with_exports": ("create",),
    "keep": ("create",),
    "replace": ("restore",),
}
KINDS = {"create": "backup", "verify": "backup_verify", "drill": "backup_drill"}


class Command(Verb):
    help = "Make backups, prove them by restoring, and put one back."
    examples = (
        "backup create",
        "backup create --to /mnt/backups --with-exports --keep 7",
        "backup list --json | jq .backups[0].path",
        "backup verify latest",
        "backup drill",
        "backup restore /mnt/backups/openclaw-web-20261121T220000Z.tar.zst --replace",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    schema = report.SCHEMA
    has_progress = True
    is_mixed = True

    def add_arguments(self, parser):
        parser.add_argument("verb", choices=("create", "list", "verify", "restore", "drill"))
        parser.add_argument("archive", nargs="?", metavar="ARCHIVE", help="its file, its id, or latest")
        parser.add_argument("--to", metavar="DIR", help="create: where to (the setting backup.folder)")
        parser.add_argument("--with-exports", action="store_true", help="create: also the files of exports")
        parser.add_argument("--keep", type=int, metavar="N", help="create: then remove all but the newest N there")
        parser.add_argument("--replace", action="store_true", help="restore: move the home that is there aside first")

    def _parse(self, argv):
        options = super()._parse(argv)
        if options["verb"] == "restore":  # an empty home stays empty until it is put back, and nobody else may be in it
            self.needs_database = self.works_in_home = False
        return options

    def run(self, verb, quiet, **options):
        self._check(verb, options)
        with listener_on(self.stderr, is_quiet=quiet) as listener:
            facts, words = getattr(self, f"_{verb}")(listener, **options)
        if facts["damaged"] or facts["missing"]:
            self.end_partly(facts, words, facts["message"])
        self.answer(facts, words)

    def _check(self, verb, options):
        for name, verbs in KNOWN_TO.items():
            if options[name] and verb not in verbs:
                word = "ARCHIVE" if name == "archive" else f"--{name.replace('_', '-')}"
                self.fail(f"backup {verb} knows no {word}.", WRONG_USE)
        if options["keep"] is not None and options["keep"] < 1:
            self.fail("--keep must be 1 or more.", WRONG_USE)
        if verb == "restore" and not options["archive"]:
            self.fail("Say which archive to restore: openclaw-web backup restore FILE", WRONG_USE)

    def _create(self, listener, to, with_exports, keep, **options):
        folder = str(Path(to).expanduser().absolute()) if to else None
        asked = {"folder": folder, "with_exports": with_exports, "keep": keep, "by": BY}
        return self._job("create", {name: value for name, value in asked.items() if value}, listener)

    def _verify(self, listener, archive, **options):
        return self._job("verify", {"backup": self._named(archive)}, listener)

    def _drill(self, listener, archive, **options):
        return self._job("drill", {"backup": self._named(archive)}, listener)

    def _list(self, listener, **options):
        runs.look_around(by=BY)
        found = BackupRun.objects.order_by("-created_at", "-id").exclude(status=BackupRun.Status.GONE)
        return report.listed([services.facts(run) for run in found[: report.MOST]])

    def _restore(self, listener, archive, replace, **options):
        path = Path(archive).expanduser().absolute()
        return report.restored(restoring.restore(path, replace=replace, by=BY, progress=Progress(listener)))

    def _named(self, archive):
        runs.look_around(by=BY)
        return runs.wanted(archive or "latest").id

    def _job(self, verb, params, listener):
        job = jobs.run_now(KINDS[verb], params, by=BY, listener=listener)
        if job.state != job.State.FINISHED:
            self.fail(job.message, REFUSED if job.state == job.State.REFUSED else FAILED)
        return report.made(verb, job)
