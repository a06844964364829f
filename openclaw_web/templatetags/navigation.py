"""The entries of the rail. Formatting only: no queries."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

# The pages of one agent in four groups; the link of a group leads to its first page.
AGENT_GROUPS = (
    (
        _("Conversations"),
        (
            ("sessions", "ledger:session_list", _("Sessions")),
            ("turns", "ledger:turn_list", _("Turns")),
            ("events", "ledger:event_list", _("Records")),
        ),
    ),
    (
        _("Outputs"),
        (
            ("artifacts", "artifacts:artifact_list", _("Artifacts")),
            ("savings", "ledger:savings", _("Savings")),
            ("lint", "operations:lint_list", _("Lint")),
        ),
    ),
    (
        _("Memory"),
        (
            ("files", "guardian:file_list", _("Files")),
            ("stored", "ledger:stored_list", _("Databases")),
        ),
    ),
    (
        _("Automation"),
        (
            ("cron", "automation:cron_list", _("Scheduled jobs")),
            ("subagents", "automation:subagent_list", _("Sub-agents")),
            ("background", "automation:background_list", _("Background")),
        ),
    ),
)

register = template.Library()


@register.simple_tag(takes_context=True)
def nav_item(context, route, label, icon, role="viewer", number=""):
    """One entry of the rail; nothing for a person below `role`, or where the route is not mounted.

    `number` is a route that answers with a number to show beside it, asked for once the page is there.
    """
    request = context["request"]
    address = _address(route)
    if not address or not request.user.has_role(role):
        return ""
    is_inside = address != "/" and request.path.startswith(address)
    return _drawn(address, str(label), icon, number, request.path == address, is_inside)


@register.simple_tag
def agent_groups(agent, here):
    """The groups of an agent's pages as (label, address, is open, pages); `here` is the word of the page that is shown.

    Only the open group has pages, as (label, address, is here): the second line of the navigation.
    """
    groups = []
    for label, pages in AGENT_GROUPS:
        is_open = any(word == here for word, _route, _label in pages)
        shown = [(name, reverse(route, args=(agent.agent_id,)), word == here) for word, route, name in pages if is_open]
        first = shown[0][1] if shown else reverse(pages[0][1], args=(agent.agent_id,))
        groups.append((label, first, is_open, shown))
    return groups


@lru_cache(maxsize=500)
def _address(route):
    try:
        return reverse(route)
    except NoReverseMatch:  # a capability that is switched off has no routes
        return ""


@lru_cache(maxsize=500)
def _drawn(address, label, icon, number, is_here, is_inside):
    """Each entry looks one of three ways, on every page."""
    entry = {"address": address, "label": label, "icon": icon, "number": number}
    return render_to_string("components/nav_item.html", entry | {"is_here": is_here, "is_inside": is_inside})
