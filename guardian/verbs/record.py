"""`reflection guardian record`: records a plugin's writes from a file or standard input."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.commands import json_input
from openclaw_web.commands.verbs import BY
from openclaw_web.errors import Refused

from ..recording import api_import
from ..recording.schemas import MAX_WRITES, WriteIn

HELP = gettext_lazy("Record writes to memory files: JSON, a JSON list, or JSON lines.")
RECORDED = ngettext_lazy("%(count)s write recorded", "%(count)s writes recorded", "count")
EXAMPLES = (
    "reflection guardian record writes.jsonl",
    "reflection guardian record --agent main --json < writes.json",
)


def add_arguments(parser):
    parser.add_argument("file", nargs="?", metavar="FILE", help=_("file with the writes (standard input)"))


def run(agent, file, **options):
    owner = agents.get(agent)
    writes = json_input.parse_entries(json_input.read_input(file), WriteIn, body="writes")
    if not writes:
        raise Refused(_("There is no write in what was given."))
    return json_input.store_entries(
        writes, MAX_WRITES, lambda batch: api_import.record_reports(owner, batch, by=BY), RECORDED
    )
