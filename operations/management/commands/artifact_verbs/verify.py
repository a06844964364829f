from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from artifacts import handles
from artifacts.store import verification
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import FAILED
from openclaw_web.pages.formatting import size

from . import get_alias, parse_handle

HELP = gettext_lazy("Read artifacts in full and compare them with their hashes; without handles, all artifacts.")
EXAMPLES = ("artifact verify", "artifact verify ocm_artifact:v1:sha256:… --json")


def add_arguments(parser):
    parser.add_argument("handle", nargs="*")


def run(handle, agent, **options):
    hashes = [handles.parse(parse_handle(name)) for name in handle] or verification.list_all_contents(get_alias(agent))
    result = verification.verify(hashes)
    lines = [f"{row['id']}: {row['reason']}" for row in result.problems]
    counts = {"sound": f"{result.sound:,}", "bytes": size(result.bytes), "damaged": f"{len(lines):,}"}
    words = "\n".join([*lines, _("%(sound)s intact (%(bytes)s), %(damaged)s not") % counts])
    if not lines:
        return Outcome(result.as_receipt(), words)
    sentence = ngettext(
        "%(count)s artifact failed verification.", "%(count)s artifacts failed verification.", len(lines)
    )
    message = sentence % {"count": f"{len(lines):,}"}
    return Outcome(result.as_receipt(), words, FAILED, message, tuple(result.problems))
