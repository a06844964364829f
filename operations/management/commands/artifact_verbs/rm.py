from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from artifacts import receipts, services
from openclaw_web.commands.groups import Outcome

from . import get_alias, parse_handle

HELP = gettext_lazy(
    "Remove an agent's reference to an artifact; `gc` removes the content when no other reference is left."
)
EXAMPLES = ("artifact rm ocm_artifact:v1:sha256:…",)


def add_arguments(parser):
    parser.add_argument("handle")


def run(handle, agent, **options):
    handle = parse_handle(handle)
    count = services.remove(get_alias(agent), handle)
    words = ngettext("%(count)s reference was removed.", "%(count)s references were removed.", count)
    message = words % {"count": f"{count:,}"} + " " + _("The next gc removes the content when nobody else uses it.")
    return Outcome(receipts.build_remove_receipt(handle, count), message)
