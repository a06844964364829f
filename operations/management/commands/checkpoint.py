from agents import audit
from agents.commands import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb
from agents.models import Agent
from artifacts.handles import NotAHandle
from ledger.checkpoints import compactions
from ledger.checkpoints.bundle import LEAST_CHARS, MOST_CHARS, USUAL_CHARS
from openclaw_web.errors import Refused
from operations import checkpoints

BY = "command line"


class Command(Verb):
    help = "Make and show checkpoints: what a compaction took out of the model's sight."
    examples = (
        "checkpoint build --session agent:main:main",
        "checkpoint build --session 7dc772a1 --compaction all --json",
        "checkpoint show --session agent:main:main --bundle",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = "openclaw-web.checkpoint.v1"

    def add_arguments(self, parser):
        parser.add_argument("action", choices=("build", "show"))
        parser.add_argument("handle", nargs="?", metavar="HANDLE", help="with show: which checkpoint")
        parser.add_argument("--session", metavar="ID", help="an id or a key; with show: its latest checkpoint")
        parser.add_argument(
            "--compaction", default="latest", metavar="RECORD", help="latest, all, or the id of one (latest)"
        )
        parser.add_argument("--agent", default="main", help="whose session (main)")
        parser.add_argument(
            "--budget-chars",
            type=int,
            default=USUAL_CHARS,
            metavar="N",
            help=f"the longest text for a prompt, {LEAST_CHARS} to {MOST_CHARS} ({USUAL_CHARS})",
        )
        parser.add_argument("--bundle", action="store_true", help="with show: only the text for a prompt")

    def run(self, action, agent, **options):
        found = Agent.objects.filter(agent_id=agent).first()
        if found is None:
            raise Refused(f"There is no agent {agent}.")
        if action == "build":
            self.build(found, **options)
        else:
            self.show(found, **options)

    def build(self, agent, handle, session, compaction, budget_chars, bundle, **options):
        if not session:
            self.fail("Say which session: openclaw-web checkpoint build --session ID", WRONG_USE)
        if handle or bundle:
            self.fail("A handle and --bundle belong to show.", WRONG_USE)
        session = checkpoints.session_of(agent, session)
        rows = [
            {**checkpoints.facts(agent, built.row), "is_new": built.is_new}
            for built in checkpoints.make(agent, session, compaction, budget=budget_chars, by=BY)
        ]
        lines = [f"{row['handle']}  {'made' if row['is_new'] else 'was there'}" for row in rows]
        self.answer({"checkpoints": rows}, "\n".join(lines))

    def show(self, agent, handle, session, compaction, bundle, **options):
        if bool(handle) == bool(session):
            self.fail("Say which checkpoint: a handle, or --session ID for its latest.", WRONG_USE)
        if compaction != compactions.LATEST:
            self.fail("--compaction belongs to build; show takes the handle.", WRONG_USE)
        if session:
            handle = checkpoints.latest(checkpoints.session_of(agent, session)).handle
        try:
            row, pack = checkpoints.opened(agent, handle.strip())
        except NotAHandle as refused:
            self.fail(refused.sentence, WRONG_USE)
        audit.record(BY, "read", object_type="checkpoint", object_id=row.handle, agent_id=agent.agent_id)
        facts, text = checkpoints.facts(agent, row), pack["bundle"]["text"]
        words = text if bundle else f"{text}\n\n{row.handle}\n{facts['fetch']}"
        self.answer({"checkpoints": [{**facts, "pack": pack}]}, words)
