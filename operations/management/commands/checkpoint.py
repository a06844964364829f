from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from artifacts.handles import NotAHandle
from ledger.checkpoints.bundle import LEAST_CHARS, MOST_CHARS, USUAL_CHARS
from openclaw_web.commands.groups import Group, Outcome, WrongUse
from openclaw_web.commands.verbs import BY, DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE
from people.audit import log as audit

from ...checkpoints import services as checkpoints


class Build:
    HELP = gettext_lazy("Create the checkpoint of a compaction, unless it exists.")
    EXAMPLES = (
        "checkpoint build --session agent:main:main",
        "checkpoint build --session 7dc772a1 --compaction all --json",
    )

    def add_arguments(self, parser):
        limits = {"least": LEAST_CHARS, "most": MOST_CHARS, "usual": USUAL_CHARS}
        parser.add_argument("--session", metavar="ID", help=_("id or key of the session"))
        parser.add_argument(
            "--compaction",
            default="latest",
            metavar="RECORD",
            help=_("latest, all, or a record id (latest)"),
        )
        parser.add_argument(
            "--budget-chars",
            type=int,
            default=USUAL_CHARS,
            metavar="N",
            help=_("maximum length of the text for a prompt, %(least)s to %(most)s (%(usual)s)") % limits,
        )

    def run(self, agent, session, compaction, budget_chars, **options):
        if not session:
            raise WrongUse(_("Name the session: openclaw-web checkpoint build --session ID"))
        session = checkpoints.find_session(agent, session)
        rows = [
            {**checkpoints.build_facts(agent, built.row), "is_new": built.is_new}
            for built in checkpoints.build_checkpoints(agent, session, compaction, budget=budget_chars, by=BY)
        ]
        states = {True: _("created"), False: _("already there")}
        lines = [f"{row['handle']}  {states[row['is_new']]}" for row in rows]
        return Outcome({"checkpoints": rows}, "\n".join(lines))


class Show:
    HELP = gettext_lazy("Print the text of a checkpoint for a prompt, and its handle.")
    EXAMPLES = ("checkpoint show --session agent:main:main --bundle",)

    def add_arguments(self, parser):
        parser.add_argument("handle", nargs="?", metavar="HANDLE", help=_("handle of the checkpoint"))
        parser.add_argument("--session", metavar="ID", help=_("id or key of a session: its latest checkpoint"))
        parser.add_argument("--bundle", action="store_true", help=_("only the text for a prompt"))

    def run(self, agent, handle, session, bundle, **options):
        if bool(handle) == bool(session):
            raise WrongUse(_("Name the checkpoint: a handle, or --session ID for the latest checkpoint of a session."))
        if session:
            handle = checkpoints.find_latest(checkpoints.find_session(agent, session)).handle
        row, pack = checkpoints.read_checkpoint(agent, handle.strip())
        audit.record(BY, "read", object_type="checkpoint", object_id=row.handle, agent_id=agent.agent_id)
        facts, text = checkpoints.build_facts(agent, row), pack["bundle"]["text"]
        words = text if bundle else f"{text}\n\n{row.handle}\n{facts['fetch']}"
        return Outcome({"checkpoints": [{**facts, "pack": pack}]}, words)


class Command(Group):
    help = gettext_lazy("Create and show checkpoints: what a compaction removed from the model's context.")
    examples = (*Build.EXAMPLES, *Show.EXAMPLES)
    verbs = {"build": Build(), "show": Show()}
    refusals = {NotAHandle: WRONG_USE}
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = "openclaw-web.checkpoint.v1"

    def add_common_arguments(self, parser):
        parser.add_argument("--agent", default="main", help=_("agent of the session (main)"))

    def ask(self, verb, *, agent, **options):
        return verb.run(agent=agents.get(agent), **options)
