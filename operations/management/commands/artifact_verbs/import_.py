from pathlib import Path

from django.utils.translation import ngettext

from artifacts.store import importing
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import PARTLY

from . import db_of

HELP = "Take over an artifacts folder of openclaw-mem. The folder is only read."
EXAMPLES = ("artifact import ~/.openclaw/memory/openclaw-mem/artifacts",)


def add_arguments(parser):
    parser.add_argument("folder", type=Path, help="the artifacts folder, or OpenClaw's home with one inside")


def run(folder, agent, **options):
    result = importing.import_folder(db_of(agent, make=True), folder)
    lines = [f"{row['id']}: {row['reason']}" for row in result.problems]
    words = "\n".join([*lines, f"{result.imported:,} imported, {result.known:,} here already, {len(lines):,} refused"])
    if not lines:
        return Outcome(result.as_receipt(), words)
    sentence = ngettext("%(count)s content was not taken over.", "%(count)s contents were not taken over.", len(lines))
    told = sentence % {"count": f"{len(lines):,}"}
    return Outcome(result.as_receipt(), words, PARTLY, told, tuple(result.problems))
