"""What rows of several lists are made of."""

from urllib.parse import quote

from django.urls import reverse
from django.utils.safestring import SafeString

NOTHING = SafeString("")
BADGE = '<span class="badge badge--{tone}">{label}</span>'
LINK = '<a href="{}">{}</a>'
MUTED = '<span class="muted">{}</span>'
DETAIL = '<div class="muted small break">{}</div>'


def addresses(route):
    """A function from an agent to its page: the route is looked up once."""
    before, _name, after = reverse(route, args=["\0"]).partition("%00")
    return lambda agent: f"{before}{quote(agent)}{after}"


def joined(rows):
    """Rows of HTML as one safe text."""
    return SafeString("".join(rows))
