from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from artifacts.excerpts import content_fetch
from artifacts.excerpts.selectors import MOST_PEEK_CHARS, PEEK_CHARS
from openclaw_web.commands.groups import Outcome

from . import get_alias, parse_handle

HELP = gettext_lazy("Print a short preview of an artifact and its details.")
EXAMPLES = ("artifact peek ocm_artifact:v1:sha256:… --preview-chars 300",)


def add_arguments(parser):
    parser.add_argument("handle")
    limits = _("characters to show, 1 to %(most)s (%(usual)s)") % {"most": MOST_PEEK_CHARS, "usual": PEEK_CHARS}
    parser.add_argument("--preview-chars", type=int, default=PEEK_CHARS, metavar="N", help=limits)


def run(handle, preview_chars, agent, **options):
    handle = parse_handle(handle)
    receipt = content_fetch.peek(get_alias(agent), handle, chars=preview_chars)
    return Outcome(receipt, f"{receipt['summary']}\n\n{receipt['preview']}")
