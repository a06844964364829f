from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from collecting import advice
from jobs import services as jobs
from jobs.progress import Progress, open_listener
from openclaw_web.commands.verbs import BY, DONE, FAILED, INTERRUPTED, WRONG_USE, Verb
from openclaw_web.disk import room
from openclaw_web.errors import Refused

from ...doctor import fix_job, plan, repairs, report, undo_job

ONLY_FIX = ("sources", "force", "accept_losses")


class Command(Verb):
    help = gettext_lazy("Check every source and the store; import and repair with --fix.")
    examples = (
        "doctor",
        "doctor --source /srv/openclaw --json | jq .findings",
        "doctor --fix",
        "doctor --fix --include-deleted --sources archive",
        "doctor --undo 01M802QPCKD3RD2B1CZH9PSDC7",
        "doctor --unignore main/4f1c9b1e-3f4b-4b7e-9a51-7f2f5b0f7c11",
    )
    statuses = (DONE, FAILED, WRONG_USE, INTERRUPTED)
    status_words = {
        DONE: gettext_lazy("clean"),
        FAILED: gettext_lazy("something was found"),
        WRONG_USE: gettext_lazy("could not run"),
    }
    schema = report.SCHEMA
    has_progress = works_on_damage = True

    def add_arguments(self, parser):
        add, yes = parser.add_argument, {"action": "store_true"}
        add("--source", metavar="DIR", help=_("the OpenClaw folder (OPENCLAW_STATE_DIR, else ~/.openclaw)"))
        add("--as", dest="as_name", metavar="NAME", help=_("another name for the agents of this folder"))
        add("--include-deleted", **yes, help=_("also deleted and reset sessions"))
        add("--deep", **yes, help=_("compare every record with its source; also check every index and artifact"))
        add("--fix", **yes, help=_("back up, repair the store, import, compare, write a receipt"))
        choices = ("keep", "archive", "remove")
        add("--sources", choices=choices, help=_("--fix: what to do with imported legacy files (keep)"))
        add("--accept-losses", **yes, help=_("--fix: stop reporting records found in no source and no backup"))
        add("--force", **yes, help=_("--sources: even if OpenClaw seems to run; --undo: even without source files"))
        add("--undo", metavar="RUN", help=_("remove the sessions that a --fix imported first"))
        excluded = _("allow sessions of an undone import again: AGENT/SESSION, or the undone RUN")
        add("--unignore", metavar="WHAT", help=excluded)

    def run(self, quiet, fix, undo, unignore, source, as_name, include_deleted, deep, **options):
        self._check_options(fix, undo, unignore, options)
        check_params = given({"source": source, "as": as_name, "include_deleted": include_deleted, "deep": deep})
        fix_params = {name: options[name] for name in ONLY_FIX} | {"by": BY}
        try:
            with room.refuse_when_full(
                settings.HOME_DIR, _("Free some disk space and run the command again: it continues.")
            ):
                if unignore:
                    result = self._run_job("doctor_unignore", {"what": unignore, "by": BY}, quiet)
                elif undo:
                    undo_params = {"run": undo, "by": BY, "force": options["force"]}
                    result = self._run_job("doctor_undo", given(undo_params), quiet)
                elif fix:
                    repairs.check_global_database()
                    result = self._run_job("doctor", check_params | given(fix_params), quiet)
                else:
                    result = self._run_check(check_params, quiet)
        except Refused as refused:
            option = _suggest_option(refused) or advice.suggest_option(refused.sentence, source, as_name)
            self.fail(f"{refused.sentence} {option}".strip(), WRONG_USE, reasons=refused.reasons)
        self._print_result(result, source, as_name)

    def _check_options(self, fix, undo, unignore, options):
        if sum(map(bool, (fix, undo, unignore))) > 1:
            self.fail(_("Use only one of --fix, --undo and --unignore."), WRONG_USE)
        if options["sources"] and not fix:
            self.fail(_("--sources can be used only with --fix."), WRONG_USE)
        if options["accept_losses"] and not fix:
            self.fail(_("--accept-losses can be used only with --fix."), WRONG_USE)
        if options["force"] and not (fix or undo):
            self.fail(_("--force can be used only with --fix or --undo."), WRONG_USE)

    def _run_check(self, params, quiet):
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            result = plan.run_check(params, Progress(listener))
        if params.get("source") and result["source"]["problem"]:  # the requested source could not be checked
            raise Refused(result["source"]["problem"])
        return result

    def _run_job(self, kind, params, quiet):
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            job = jobs.run_now(kind, params, by=BY, listener=listener)
        if job.state != job.State.FINISHED:
            raise Refused(job.message, reasons=job.result.get("reasons", []))
        return job.result

    def _print_result(self, result, source, as_name):
        words, run = report.in_words(result), result["run"]
        if problem := result["source"]["problem"] if result["source"] else "":
            option = advice.suggest_option(problem, source, as_name)
            words = words.replace(problem, f"{problem} {option}".strip(), 1)
        if result["ignored_count"]:
            option = _("Use --unignore AGENT/SESSION to allow excluded sessions again.")
            words = words.removesuffix(result["message"]) + f"  {option}\n{result['message']}"
        is_incomplete = report.is_incomplete(run) if run else False
        if is_incomplete or (result["verb"] == "look" and result["findings"]):
            self.end_partly(result, words, str(result["message"]), status=FAILED)
        self.answer(result, words)


def _suggest_option(refused):
    """The option of this command that solves a refusal, whose sentence serves pages too."""
    if str(undo_job.FORCE_ADVICE) in str(refused.sentence):
        return _("Use --force.")
    is_running = any(reason["id"] == fix_job.GATEWAY_REASON for reason in refused.reasons)
    return _("Use --force to continue anyway.") if is_running else ""


def given(options):
    """The options that have values."""
    return {name: value for name, value in options.items() if value}
