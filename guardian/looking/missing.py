"""What an address of a memory file asks for, and the file does not have: said with the way to the page without it."""

from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from openclaw_web.errors import Refused

from .. import forms
from .blaming import Blame


class NotInFile(Refused):
    """The file has no such line, or had no such version."""

    status = 404


def check_line(name: str, found: Blame, line: int, page: str) -> None:
    """Raises NotInFile when the file ends before a line; `page` is its page without parameters."""
    count = len(found.lines)
    if line > max(count, 1):
        words = {"file": name, "count": f"{count:,}"}
        sentence = ngettext("%(file)s has %(count)s line.", "%(file)s has %(count)s lines.", count) % words
        raise NotInFile(sentence, ways=[(_("Who wrote %(file)s") % words, page)])


def versions_asked(agent: Agent, name: str, request: HttpRequest) -> forms.Asked:
    """The versions that an address of the history names. Raises NotInFile for one that there is not."""
    try:
        return forms.asked(agent, name, request.GET)
    except Http404 as exc:
        words = {"file": name}
        sentence = _("This version of %(file)s does not exist.") % words
        raise NotInFile(sentence, ways=[(_("History of %(file)s") % words, request.path)]) from exc
