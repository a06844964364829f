"""`reflection gate record`: stores decisions of a plugin from a file or standard input."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.commands import json_input
from openclaw_web.errors import Refused

from ..recording import api_import
from ..schemas import MAX_DECISIONS, DecisionIn

HELP = gettext_lazy("Record decisions of memory_gate: JSON, a JSON list, or JSON lines.")
RECORDED = ngettext_lazy("%(count)s decision recorded", "%(count)s decisions recorded", "count")
EXAMPLES = ("reflection gate record decisions.jsonl", "reflection gate record --agent main --json < decisions.json")


def add_arguments(parser):
    parser.add_argument("file", nargs="?", metavar="FILE", help=_("file with the decisions (standard input)"))


def run(agent, file, **options):
    agent_row = agents.get(agent)
    decisions = json_input.parse_entries(json_input.read_input(file), DecisionIn, body="decisions")
    if not decisions:
        raise Refused(_("There is no decision in what was given."))
    return json_input.store_entries(
        decisions, MAX_DECISIONS, lambda batch: api_import.record_reports(agent_row, batch), RECORDED
    )
