from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from ledger.transcripts import contexts
from openclaw_web.commands.verbs import BY, DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb
from people.audit import log as audit
from people.configuration import setting_values as configuration

from ...checkpoints import services as checkpoints


class Command(Verb):
    help = gettext_lazy("Print the context of a turn: the messages before it.")
    examples = (
        "turn_context 7dc772a1-0f67-4c4f-9e1c-1f2f3a4b5c6d:2444ade5",
        "turn_context agent:main:main --number 3",
        "turn_context agent:main:main --number 3 --json | jq -r '.items[].message'",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    status_words = {FAILED: gettext_lazy("there is no such turn")}
    schema = "openclaw-web.turn_context.v1"

    def add_arguments(self, parser):
        parser.add_argument("turn", metavar="TURN", help=_("id of a turn; with --number: id or key of its session"))
        parser.add_argument("--number", type=int, metavar="N", help=_("number of the turn in its session"))
        parser.add_argument("--agent", default="main", help=_("agent of the turn (main)"))

    def run(self, turn, number, agent, **options):
        agent_row = agents.get(agent)
        which = {"id": turn}
        if number is not None:
            which = {"session": checkpoints.find_session(agent_row, turn), "turn_number": number}
        try:
            context = contexts.read_context(agent_row.db, configuration.get_number(contexts.SETTING), **which)
        except contexts.NoSuchTurn as refused:
            self.fail(refused.sentence, FAILED)
        audit.record(BY, "read", object_type="session", object_id=context.turn.session_id, agent_id=agent)
        self.answer(context.as_json(), self._format_context(context))

    def _format_context(self, context):
        text = "\n\n".join(f"{item['role']}: {item['message']}" for item in context.items)
        return self.fit_to_output(text)
