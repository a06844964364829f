from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Failed

from . import add_scope

HELP = gettext_lazy("Exists for scripts of openclaw-mem, and fails: events have no embeddings.")
EXAMPLES = ("episodes embed --global",)


def add_arguments(parser):
    add_scope(parser)
    parser.add_argument("--limit", type=int, default=200, metavar="N", help=_("ignored"))
    parser.add_argument("--batch", type=int, default=32, metavar="N", help=_("ignored"))
    add_model(parser)


def add_model(parser):
    """Add the options that name a model of embeddings."""
    parser.add_argument("--model", default="text-embedding-3-small", help=_("ignored"))
    parser.add_argument("--base-url", metavar="URL", help=_("ignored"))


def run(**options):
    raise Failed(_("Events have no embeddings here: episodes search finds the words themselves."))
