from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.homes import NoHome
from jobs import services as jobs
from jobs.progress import open_listener
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, PARTLY, REFUSED, WRONG_USE, Verb

from ... import advice, report, watcher


class Command(Verb):
    help = gettext_lazy("Import an OpenClaw folder. Running the command again imports only what is new.")
    examples = (
        "collect",
        "collect --source /srv/openclaw --as lab",
        "collect --watch",
        "collect --source /openclaw --moved-from ~/.openclaw",
        "collect --again --agent main",
        "collect --json --quiet | jq .agents",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    schema = report.SCHEMA
    has_progress = True

    def add_arguments(self, parser):
        add = parser.add_argument
        add("--source", metavar="DIR", help=_("the OpenClaw folder (OPENCLAW_STATE_DIR, else ~/.openclaw)"))
        add("--as", dest="as_name", metavar="NAME", help=_("another name for the agents of this folder"))
        add("--moved-from", metavar="DIR", help=_("the path of this folder at its last import, before it was moved"))
        add("--watch", action="store_true", help=_("keep running and import whenever something changes"))
        add("--include-deleted", action="store_true", help=_("also import deleted and reset sessions"))
        add("--agent", metavar="NAME", help=_("only this agent"))
        add("--again", action="store_true", help=_("rebuild sessions from every source that contains them"))
        add("--session", metavar="ID", action="append", help=_("--again: only this session, by id or key"))

    def run(self, source, as_name, moved_from, watch, include_deleted, agent, again, session, quiet, **options):
        if watch and again:
            self.fail(_("Use either --watch or --again."), WRONG_USE)
        if moved_from and (watch or as_name):
            self.fail(_("--moved-from cannot be used with --watch or --as."), WRONG_USE)
        if session and not again:
            self.fail(_("--session can be used only with --again."), WRONG_USE)
        params = {"source": source, "as": as_name, "include_deleted": include_deleted, "again": again, "agent": agent}
        params["moved_from"] = moved_from
        params = {name: value for name, value in params.items() if value}
        if session:  # a session belongs to one agent
            params |= {"agent": agent or "main", "session": sorted(set(session))}
        if watch:
            self._watch(params)
            return
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            job = jobs.run_now("collect", params, by="command line", listener=listener)
        result = report.read_job_result(job)
        if result is None and job.state == job.State.REFUSED:
            self._refuse(job.message, params)
        if result is None:
            self.fail(job.message, FAILED)
        words = report.in_words(result)
        if report.is_partial(result):
            self.end_partly(result, words, report.describe_problems(result))
        self.answer(result, words)

    def _watch(self, params):
        try:
            watcher.watch(params, say=self.say)
        except NoHome as refused:
            self._refuse(refused.sentence, params)

    def _refuse(self, sentence, params):
        option = advice.suggest_option(sentence, params.get("source"), params.get("as"))
        self.fail(f"{sentence} {option}".strip(), REFUSED)
