"""Navigation: entries of the rail, pages of an agent, pages of System. No queries."""

from functools import lru_cache
from typing import NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from .. import capabilities

# The pages of one agent in four groups; the link of a group leads to its first page.
AGENT_GROUPS = (
    (
        _("Conversations"),
        (
            ("sessions", "ledger:session_list", _("Sessions")),
            ("turns", "ledger:turn_list", _("Turns")),
            ("events", "ledger:event_list", _("Records")),
            ("episodes", "episodes:scope_list", _("Episodes")),
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
            ("gate", "gate:decision_list", _("Memory gate")),
            ("writes", "guardian:audit_list", _("Writes")),
            ("files", "guardian:file_list", _("Files")),
            ("stored", "ledger:stored_list", _("Databases")),
        ),
    ),
    (
        _("Automation"),
        (
            ("cron", "automation:cron_list", _("Scheduled tasks")),
            ("subagents", "automation:subagent_list", _("Sub-agents")),
            ("background", "automation:background_list", _("Background")),
        ),
    ),
)


# The pages of System in groups: route, label, required role. System leads to the person's first page.
SYSTEM_GROUPS = (
    (_("Problems"), (("operations:system", _("Problems"), "operator"),)),
    (
        _("Data"),
        (
            ("jobs:job_list", _("Jobs"), "viewer"),
            ("operations:doctor", _("Doctor"), "operator"),
            ("collecting:rejected_list", _("Rejected records"), "viewer"),
            ("collecting:skipped_list", _("Skipped sources"), "viewer"),
            ("overview:memory_list", _("Memory in prompts"), "viewer"),
            ("operations:artifact_store", _("Artifact store"), "admin"),
        ),
    ),
    (
        _("Safety"),
        (
            ("operations:backup_list", _("Backups"), "operator"),
            ("operations:retention", _("Retention"), "admin"),
        ),
    ),
    (
        _("People"),
        (
            ("people:user_list", _("Users"), "admin"),
            ("people:invitation_list", _("Invitations"), "admin"),
            ("people:token_list", _("API tokens"), "viewer"),
            ("people:audit_list", _("Audit log"), "admin"),
        ),
    ),
    (
        _("Settings"),
        (
            ("people:settings", _("Settings"), "admin"),
            ("api:openapi-view", _("API"), "viewer"),
        ),
    ),
)


class Entry(NamedTuple):
    """An entry of the rail. `number` is an address that answers with a number.

    The number is shown beside the entry.
    """

    label: str
    address: str
    icon: str
    number: str = ""
    is_here: bool = False
    is_inside: bool = False
    is_urgent: bool = False  # the number counts problems that need attention


class Rail(NamedTuple):
    """The rail of a page: its entries, whether it is slim, and its return address.

    A slim rail shows only icons. `back` is the page that its button leads back to.
    """

    entries: list[Entry]
    is_slim: bool
    back: str


class Group(NamedTuple):
    """A group of pages, shown as a tab.

    `pages` are (label, address, is current), a second line that only the open group has.
    """

    label: str
    address: str
    is_open: bool
    pages: list[tuple[str, str, bool]]


# Route, label, icon, required role, the route that answers with a number.
PLACES = (
    ("overview:overview", _("Overview"), "home", "viewer", ""),
    ("overview:agent_list", _("Agents"), "cpu-chip", "viewer", ""),
    ("datasets:review", _("Review"), "inbox-stack", "labeller", "datasets:review_waiting"),
    ("datasets:sample_list", _("Samples"), "check-badge", "viewer", ""),
    ("datasets:finding_list", _("Findings"), "finger-print", "viewer", ""),
    ("datasets:dataset_list", _("Datasets"), "rectangle-stack", "viewer", ""),
    ("datasets:export_list", _("Exports"), "arrow-down-tray", "viewer", ""),
)
SYSTEM_NEEDS = ("operations:system_needs", "operator")  # the number of problems, beside System
# Pages that belong to an entry other than the one whose address theirs begins with.
ELSEWHERE = {"datasets:statistics": "datasets:sample_list"}
ROOTS = ("/", "/operations/")  # other entries lie below these addresses
COOKIE = "openclaw_web_rail"  # “slim” when only icons are shown


def build_rail(request, path=""):
    """Build the `Rail` of a page, with the entries that the person may see.

    Entries of disabled capabilities are left out.

    `path` replaces the path of the request.
    """
    current = path.partition("?")[0] or request.path
    entries = [*_iterate_entries(current, request.user), *_build_system_entry(current, request.user)]
    back = path or (request.get_full_path() if request.method in ("GET", "HEAD") else _find_nearest(entries))
    return Rail(entries, request.COOKIES.get(COOKIE) == "slim", back)


def build_system_groups(request):
    """Build the groups of System's pages that the person may open; none on other pages."""
    if not _is_system(request.path):
        return []
    groups = []
    for label, places in _iterate_allowed(request.user):
        inside = [_is_inside(request.path, address) for _label, address in places]
        pages = [(*page, is_inside) for page, is_inside in zip(places, inside, strict=True)]
        # A group with one page for this person is shown as that page.
        open_pages = pages if any(inside) and len(pages) > 1 else []
        groups.append(Group(label if len(pages) > 1 else pages[0][0], pages[0][1], any(inside), open_pages))
    return groups


def build_agent_groups(agent, current):
    """Build the groups of an agent's pages, without those of disabled capabilities.

    `current` is the word of this page.
    """
    groups = []
    for label, group_pages in AGENT_GROUPS:
        pages = [page for page in group_pages if not _is_disabled(page[1])]
        if not pages:
            continue
        is_open = any(word == current for word, _route, _label in pages)
        open_pages = [
            (name, reverse(route, args=(agent.agent_id,)), word == current) for word, route, name in pages if is_open
        ]
        first = open_pages[0][1] if open_pages else reverse(pages[0][1], args=(agent.agent_id,))
        groups.append(Group(label, first, is_open, open_pages))
    return groups


def _iterate_entries(current, user):
    elsewhere = next((place for page, place in ELSEWHERE.items() if current == _get_address(page)), None)
    for route, label, icon, role, number in PLACES:
        address = _get_address(route)
        if address and user.has_role(role):
            is_inside = route == elsewhere if elsewhere else _is_inside(current, address)
            yield Entry(label, address, icon, _get_address(number), current == address, is_inside)


def _build_system_entry(current, user):
    first = next((places[0] for _label, places in _iterate_allowed(user)), None)
    if first:
        route, role = SYSTEM_NEEDS
        number = _get_address(route) if user.has_role(role) else ""
        yield Entry(
            _("System"), first[1], "cog-6-tooth", number, current == first[1], _is_system(current), is_urgent=True
        )


def _iterate_allowed(user):
    for label, pages in SYSTEM_GROUPS:
        places = [(name, _get_address(route)) for route, name, role in pages if user.has_role(role)]
        if places := [place for place in places if place[1]]:
            yield label, places


def _is_system(path):
    routes = [route for _label, pages in SYSTEM_GROUPS for route, *_rest in pages]
    return any(_is_inside(path, _get_address(route)) for route in routes)


def _is_inside(path, address):
    return path == address or (bool(address) and address not in ROOTS and path.startswith(address))


def _find_nearest(entries):
    return next((entry.address for entry in entries if entry.is_here or entry.is_inside), "/")


def _is_disabled(route):
    return capabilities.find_route_owner(route) in settings.DISABLED


def _get_address(route):
    return "" if not route or _is_disabled(route) else _reverse(route)


@lru_cache(maxsize=500)
def _reverse(route):
    return reverse(route)
