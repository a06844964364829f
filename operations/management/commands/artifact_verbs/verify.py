from django.utils.translation import ngettext

from artifacts import handles
from artifacts.store import verifying
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import FAILED

from . import checked, db_of

HELP = "Read contents in full and compare them with their names; without handles, all of them."
EXAMPLES = ("artifact verify", "artifact verify ocm_artifact:v1:sha256:… --json")


def add_arguments(parser):
    parser.add_argument("handle", nargs="*")


def run(handle, agent, **options):
    wanted = [handles.parse(checked(name)) for name in handle] or verifying.everything(db_of(agent))
    result = verifying.verify(wanted)
    lines = [f"{row['id']}: {row['reason']}" for row in result.problems]
    words = "\n".join([*lines, f"{result.sound:,} sound ({result.bytes:,} bytes), {len(lines):,} not"])
    if not lines:
        return Outcome(result.as_receipt(), words)
    sentence = ngettext("%(count)s content is not sound.", "%(count)s contents are not sound.", len(lines))
    told = sentence % {"count": f"{len(lines):,}"}
    return Outcome(result.as_receipt(), words, FAILED, told, tuple(result.problems))
