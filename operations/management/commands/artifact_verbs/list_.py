import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from artifacts import receipts
from artifacts.models import Artifact
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of

from . import get_alias

HELP = gettext_lazy("List artifacts, newest first.")
EXAMPLES = ("artifact list --limit 10", "artifact list --json | jq -r '.artifacts[].handle'")
ORDER = ("-created_at", "-id")


def add_arguments(parser):
    parser.add_argument("--limit", type=int, default=50, metavar="N", help=_("how many, 1 to 1000 (%(default)s)"))
    parser.add_argument("--after", metavar="CURSOR", help=_("continue a list: its `next` value"))
    parser.add_argument("--session", metavar="ID", help=_("only artifacts that this session used"))


def run(limit, after, session, agent, json, **options):
    if not 1 <= limit <= 1000:
        raise WrongUse(_("--limit must be 1 to 1000."))
    rows = Artifact.objects.using(get_alias(agent)).defer("preview")
    rows = rows.filter(session_id=session) if session else rows
    page = _read_page(rows, after, limit)
    if page.next and not json:
        sys.stderr.write(_("More: --after %(cursor)s") % {"cursor": page.next} + "\n")
    words = "\n".join(f"{row.handle}  {row.summary}" for row in page)
    return Outcome(receipts.build_list_receipt(page), words)


def _read_page(rows, after, limit):
    try:
        return page_of(rows, order=ORDER, after=after, size=limit)
    except Refused as exc:  # its sentence is about the address of a page
        raise Refused(_("--after must be the `next` value of an earlier list of artifacts.")) from exc
