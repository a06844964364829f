from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from artifacts import receipts, services
from openclaw_web.commands.groups import Outcome

from . import checked, db_of

HELP = gettext_lazy(
    "Remove an agent's reference to an artifact; `gc` removes the content when no other reference is left."
)
EXAMPLES = ("artifact rm ocm_artifact:v1:sha256:…",)


def add_arguments(parser):
    parser.add_argument("handle")


def run(handle, agent, **options):
    handle = checked(handle)
    count = services.remove(db_of(agent), handle)
    words = ngettext("%(count)s reference was removed.", "%(count)s references were removed.", count)
    told = words % {"count": f"{count:,}"} + " " + _("The next gc removes the content when nobody else uses it.")
    return Outcome(receipts.removed(handle, count), told)
