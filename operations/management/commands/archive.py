from pathlib import Path

import orjson

from agents.commands import DONE, FAILED, INTERRUPTED, PARTLY, REFUSED, WRONG_USE, Verb
from operations import jobs
from operations.progress import Progress, listener_on
from operations.retention import report, restoring

ABOUT_SESSIONS = ("before", "older_than", "agent", "out", "dry_run")


class Command(Verb):
    help = "Put old sessions into files that are read back, then remove them; put them back with restore."
    examples = (
        "archive --older-than 365d --dry-run",
        "archive --before 2026-01-01 --agent main",
        "archive --older-than 365d --out /mnt/archive",
        "archive verify ~/.openclaw-web/archive",
        "archive restore ~/.openclaw-web/archive/main/2026-01/*.jsonl.zst",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    schema = report.ARCHIVE
    has_progress = True

    def add_arguments(self, parser):
        parser.add_argument("verb", nargs="?", choices=("restore", "verify"), help="what to do with FILES")
        parser.add_argument("files", nargs="*", metavar="FILE", help="archives, or folders of archives")
        parser.add_argument("--before", metavar="DATE", help="sessions without activity since this day (UTC)")
        parser.add_argument("--older-than", metavar="AGE", help="the same as an age in whole days, as 365d or 52w")
        parser.add_argument("--agent", metavar="NAME", help="only this agent's (every agent's)")
        parser.add_argument("--out", metavar="FOLDER", help="where to (archive in the home)")
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def run(self, verb, files, quiet, **options):
        if verb:
            self._check_files(verb, files, options)
        else:
            moment = self._before(options["before"], options["older_than"])
        with listener_on(self.stderr, is_quiet=quiet) as listener:
            facts = self._files(verb, files, listener) if verb else self._archive(moment, listener, **options)
        if facts["failed"]:
            words, status = report.in_words(facts), PARTLY if report.was_anything_done(facts) else REFUSED
            self.end_partly(facts, words, str(report.SOME_STAY), facts["failed"], status=status)
        self.answer(facts, report.in_words(facts))

    def _check_files(self, verb, files, options):
        if not files:
            self.fail(f"Say which archives: openclaw-web archive {verb} FILE…", WRONG_USE)
        for name in ABOUT_SESSIONS:
            if options[name]:
                self.fail(f"archive {verb} knows no --{name.replace('_', '-')}.", WRONG_USE)

    def _before(self, before, older_than):
        if bool(before) == bool(older_than):
            self.fail("Say either --before DATE or --older-than AGE.", WRONG_USE)
        try:
            return report.moment(before, older_than)
        except ValueError:
            self.fail("A date is spelled 2026-01-31, an age in whole days: 365d or 52w.", WRONG_USE)

    def _files(self, verb, files, listener):
        paths, progress = restoring.archives(files), Progress(listener)
        if verb == "verify":
            return report.of_files(verb, restoring.verify(paths, progress))
        return report.of_files(verb, restoring.restore(paths, progress, by=report.BY))

    def _archive(self, moment, listener, agent, out, dry_run, **options):
        folder = str(Path(out).expanduser().absolute()) if out else None
        asked = {"agent": agent, "out": folder, "dry_run": dry_run}
        params = {"before": moment, "by": report.BY} | {name: value for name, value in asked.items() if value}
        job = jobs.run_now("archive", params, by=report.BY, listener=listener)
        if job.state != job.State.FINISHED:
            self.fail(job.message, REFUSED if job.state == job.State.REFUSED else FAILED)
        return report.of_sessions(orjson.loads(job.result_json))
