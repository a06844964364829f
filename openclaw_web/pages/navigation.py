"""Where the pages are: the entries of the rail, and the pages of an agent. No queries."""

from functools import lru_cache
from typing import NamedTuple

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


class Entry(NamedTuple):
    """An entry of the rail; `number` is an address that answers with a number to show beside it."""

    label: str
    address: str
    icon: str
    number: str = ""
    is_here: bool = False
    is_inside: bool = False


# Route, label, icon, the role that is needed, the route that answers with a number.
PLACES = (
    ("overview:overview", _("Overview"), "home", "viewer", ""),
    ("overview:agent_list", _("Agents"), "cpu-chip", "viewer", ""),
    ("datasets:review", _("Review"), "inbox-stack", "labeller", "datasets:review_waiting"),
    ("datasets:sample_list", _("Samples"), "check-badge", "viewer", ""),
    ("datasets:export_list", _("Exports"), "arrow-down-tray", "viewer", ""),
)
OPERATIONS = (
    ("jobs:job_list", _("Jobs"), "queue-list", "viewer", ""),
    ("collecting:rejected_list", _("Rejected records"), "exclamation-triangle", "viewer", ""),
    ("operations:artifact_store", _("Artifact store"), "archive-box", "admin", ""),
    ("operations:backup_list", _("Backups"), "circle-stack", "operator", ""),
    ("operations:retention", _("Retention"), "clock", "admin", ""),
    ("operations:doctor", _("Doctor"), "wrench-screwdriver", "operator", ""),
    ("people:user_list", _("Users"), "users", "admin", ""),
    ("people:token_list", _("Tokens"), "key", "viewer", ""),
    ("people:audit_list", _("Audit log"), "clipboard-document-list", "admin", ""),
    ("people:settings", _("Settings"), "cog-6-tooth", "admin", ""),
)


def rail(request):
    """The two lists of the rail, with the entries that the person may see and whose routes are mounted."""
    return _entries(PLACES, request), _entries(OPERATIONS, request)


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


def _entries(places, request):
    found = []
    for route, label, icon, role, number in places:
        address = _address(route)
        if address and request.user.has_role(role):
            is_inside = address != "/" and request.path.startswith(address)
            counted = _address(number) if number else ""
            found.append(Entry(label, address, icon, counted, request.path == address, is_inside))
    return found


@lru_cache(maxsize=500)
def _address(route):
    try:
        return reverse(route)
    except NoReverseMatch:  # a capability that is switched off has no routes
        return ""
