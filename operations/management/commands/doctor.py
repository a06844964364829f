import orjson
from django.conf import settings

from agents.homes import is_text
from jobs import services as jobs
from jobs.progress import Progress, listener_on
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, WRONG_USE, Verb
from openclaw_web.disk import room
from openclaw_web.errors import Refused

from ...doctor import plan, preparing, report

BY = "command line"
ONLY_FIX = ("sources", "force", "accept_losses")


class Command(Verb):
    help = "Look at every source and at the store; import and mend with --fix."
    examples = (
        "doctor",
        "doctor --source /srv/openclaw --json | jq .findings",
        "doctor --fix",
        "doctor --fix --include-deleted --sources archive",
        "doctor --undo 01M802QPCKD3RD2B1CZH9PSDC7",
        "doctor --unignore main/4f1c9b1e-3f4b-4b7e-9a51-7f2f5b0f7c11",
    )
    statuses = (DONE, FAILED, WRONG_USE, INTERRUPTED)
    status_words = {DONE: "clean", FAILED: "it found something", WRONG_USE: "it could not run"}
    schema = report.SCHEMA
    has_progress = works_on_damage = True

    def add_arguments(self, parser):
        parser.add_argument("--source", metavar="DIR", help="OpenClaw's home (OPENCLAW_STATE_DIR, else ~/.openclaw)")
        parser.add_argument("--as", dest="as_name", metavar="NAME", help="another name for this home's agents")
        parser.add_argument("--include-deleted", action="store_true", help="also deleted and reset sessions")
        parser.add_argument(
            "--deep", action="store_true", help="compare every record with its source; also every index and content"
        )
        parser.add_argument(
            "--fix", action="store_true", help="back up, mend the store, import, compare, write a receipt"
        )
        parser.add_argument(
            "--sources",
            choices=("keep", "archive", "remove"),
            help="--fix: what becomes of imported legacy files (keep)",
        )
        parser.add_argument(
            "--accept-losses",
            action="store_true",
            help="--fix: from now on do not miss what neither a source nor a backup has",
        )
        parser.add_argument("--force", action="store_true", help="--sources, --undo: also when OpenClaw seems to run")
        parser.add_argument("--undo", metavar="RUN", help="take out the sessions that a --fix brought in first")
        parser.add_argument(
            "--unignore", metavar="WHAT", help="let undone sessions in again: AGENT/SESSION, or the RUN that was undone"
        )

    def run(self, quiet, fix, undo, unignore, source, as_name, include_deleted, deep, **options):
        self._check(fix, undo, unignore, source, as_name, options)
        asked = given({"source": source, "as": as_name, "include_deleted": include_deleted, "deep": deep})
        more = {name: options[name] for name in ONLY_FIX} | {"by": BY}
        try:
            with room.refusing(settings.HOME_DIR, "Make room and run it again: it goes on."):
                if unignore:
                    result = self._job("doctor_unignore", {"what": unignore, "by": BY}, quiet)
                elif undo:
                    forced = {"run": undo, "by": BY, "force": options["force"]}
                    result = self._job("doctor_undo", given(forced), quiet)
                elif fix:
                    preparing.bring_up_to_date(self.say)
                    result = self._job("doctor", asked | given(more), quiet)
                else:
                    result = self._look(asked, quiet)
        except Refused as refused:
            self.fail(refused.sentence, WRONG_USE, reasons=refused.reasons)
        self._end(result)

    def _check(self, fix, undo, unignore, source, as_name, options):
        if sum(map(bool, (fix, undo, unignore))) > 1:
            self.fail("Say either --fix or --undo or --unignore.", WRONG_USE)
        if options["sources"] and not fix:
            self.fail("--sources is for --fix.", WRONG_USE)
        if options["accept_losses"] and not fix:
            self.fail("--accept-losses is for --fix.", WRONG_USE)
        if options["force"] and not (fix or undo):
            self.fail("--force is for --fix and --undo.", WRONG_USE)
        for option, value in (("--source", source), ("--as", as_name), ("--undo", undo), ("--unignore", unignore)):
            if value and not is_text(value):
                self.fail(f"{option} is not text.", WRONG_USE)

    def _look(self, asked, quiet):
        with listener_on(self.stderr, is_quiet=quiet) as listener:
            result = plan.look(asked, Progress(listener))
        if asked.get("source") and result["source"]["problem"]:  # nothing of what was asked could be looked at
            raise Refused(result["source"]["problem"])
        return result

    def _job(self, kind, params, quiet):
        with listener_on(self.stderr, is_quiet=quiet) as listener:
            job = jobs.run_now(kind, params, by=BY, listener=listener)
        result = orjson.loads(job.result_json or "{}")
        if job.state != job.State.FINISHED:
            raise Refused(job.message, reasons=result.get("reasons", []))
        return result

    def _end(self, result):
        words, run = report.in_words(result), result["run"]
        left = report.is_left(run) if run else False
        if left or (result["verb"] == "look" and result["findings"]):
            self.end_partly(result, words, str(result["message"]), status=FAILED)
        self.answer(result, words)


def given(options):
    """The options that were given."""
    return {name: value for name, value in options.items() if value}
