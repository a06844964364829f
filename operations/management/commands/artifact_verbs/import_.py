from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from artifacts.store import folder_import
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import PARTLY

from . import get_alias

HELP = gettext_lazy("Import an artifacts folder of openclaw-mem. The folder is only read.")
EXAMPLES = ("artifact import ~/.openclaw/memory/openclaw-mem/artifacts",)


def add_arguments(parser):
    parser.add_argument("folder", type=Path, help=_("the artifacts folder, or an OpenClaw folder that contains it"))


def run(folder, agent, **options):
    result = folder_import.import_folder(get_alias(agent, make=True), folder)
    lines = [f"{row['id']}: {row['reason']}" for row in result.problems]
    counts = {"imported": f"{result.imported:,}", "known": f"{result.known:,}", "refused": f"{len(lines):,}"}
    words = "\n".join([*lines, _("%(imported)s imported, %(known)s already stored, %(refused)s refused") % counts])
    if not lines:
        return Outcome(result.as_receipt(), words)
    sentence = ngettext("%(count)s artifact was not imported.", "%(count)s artifacts were not imported.", len(lines))
    message = sentence % {"count": f"{len(lines):,}"}
    return Outcome(result.as_receipt(), words, PARTLY, message, tuple(result.problems))
