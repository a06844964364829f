from jobs import services as jobs
from jobs.progress import listener_on
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, PARTLY, REFUSED, WRONG_USE, Verb

from ... import report, watching


class Command(Verb):
    help = "Read an OpenClaw home into the store. Running it again reads only what is new."
    examples = (
        "collect",
        "collect --source /srv/openclaw --as lab",
        "collect --watch",
        "collect --again --agent main",
        "collect --json --quiet | jq .agents",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    schema = report.SCHEMA
    has_progress = True

    def add_arguments(self, parser):
        parser.add_argument("--source", metavar="DIR", help="OpenClaw's home (OPENCLAW_STATE_DIR, else ~/.openclaw)")
        parser.add_argument("--as", dest="as_name", metavar="NAME", help="another name for this home's agents")
        parser.add_argument("--watch", action="store_true", help="keep running and collect whenever something changes")
        parser.add_argument("--include-deleted", action="store_true", help="also read deleted and reset sessions")
        parser.add_argument("--agent", metavar="NAME", help="only this agent")
        parser.add_argument("--again", action="store_true", help="rebuild sessions from every source that holds them")
        parser.add_argument("--session", metavar="ID", action="append", help="--again: only this session, by id or key")

    def run(self, source, as_name, watch, include_deleted, agent, again, session, quiet, **options):
        if watch and again:
            self.fail("Say either --watch or --again.", WRONG_USE)
        if session and not again:
            self.fail("--session is for --again.", WRONG_USE)
        params = {"source": source, "as": as_name, "include_deleted": include_deleted, "again": again, "agent": agent}
        params = {name: value for name, value in params.items() if value}
        if session:  # a session is one agent's
            params |= {"agent": agent or "main", "session": sorted(set(session))}
        if watch:
            watching.watch(params, say=self.say)
            return
        with listener_on(self.stderr, is_quiet=quiet) as listener:
            job = jobs.run_now("collect", params, by="command line", listener=listener)
        result = report.result_of(job)
        if result is None:
            self.fail(job.message, REFUSED if job.state == job.State.REFUSED else FAILED)
        words = report.in_words(result)
        if report.is_partly(result):
            self.end_partly(result, words, report.problems(result))
        self.answer(result, words)
