"""Navigation: five rooms, their tabs, and the pages that belong to a tab. No queries.

The room and the tab of a page follow from its path alone: of all addresses declared here, the longest that the path
begins with. A path below `/agents/<agent>/` is that of the same page for all agents, and links keep its agent.
"""

import re
from functools import lru_cache, partial
from typing import NamedTuple

from django.conf import settings
from django.urls import NoReverseMatch, is_valid_path, reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from .. import capabilities

COOKIE = "openclaw_web_rail"  # “slim” when only icons are shown
AGENT = re.compile(r"/agents/[^/]+(?=/)")
SESSIONS = "/sessions/"  # of an agent that is chosen on a page without agents


class Page(NamedTuple):
    """A page that menus lead to. `name` is the part of its address besides the agent.

    `below` are beginnings of further addresses whose pages belong to it. `of_agent` is the page below it that its room
    opens with once an agent is chosen. An `is_view` shows the list of the tab in another way, and the list leads to it.
    `address` and `is_by_agent` (it has an address for each agent as well) follow from the route.
    """

    route: str
    label: str
    role: str = "viewer"
    name: str = ""
    below: tuple[str, ...] = ()
    of_agent: str = ""
    is_view: bool = False
    address: str = ""
    is_by_agent: bool = False


class Room(NamedTuple):
    """An entry of the rail. The first page of a tab names it, the others are related to it.

    Who may not open the first page gets the next one as the tab. `gear` are the settings of the room. `number` is a
    route that answers with a number for people of `number_role`; it is red where it `is_urgent`.
    """

    label: str
    icon: str
    tabs: tuple[tuple[Page, ...], ...]
    gear: tuple[Page, ...] = ()
    number: str = ""
    number_role: str = ""
    is_urgent: bool = False


OF_DECISIONS = ("/verdicts/", "/judge/", "/chain/", "/remediation/")
OF_WRITES = ("/corrections/", "/correct/", "/opinions/", "/opine/", "/write-verdicts/", "/judge-write/", "/write-uses/")
ROOMS = (
    Room(
        _("Today"),
        "home",
        (
            (Page("overview:overview", _("Today"), below=("/search/",)),),
            (Page("automation:cron_list", _("Scheduled tasks")),),
            (Page("automation:subagent_list", _("Sub-agents")),),
            (Page("automation:background_list", _("Background")),),
            (Page("overview:agent_list", _("Agents")),),
        ),
        number="operations:system_needs",
        number_role="operator",
        is_urgent=True,
    ),
    Room(
        _("Conversations"),
        "chat-bubble-left-right",
        (
            (Page("ledger:session_list", _("Sessions"), below=("/checkpoints/", "/traces/")),),
            (Page("ledger:turn_list", _("Turns")),),
            (Page("ledger:event_list", _("Transcript records")),),
            (Page("ledger:error_list", pgettext_lazy("entry of the menu", "Errors")),),
            (
                Page("artifacts:artifact_list", _("Tool outputs")),
                Page("ledger:savings", _("Avoidable tokens")),
                Page("operations:lint_list", _("Costly instructions")),
            ),
        ),
    ),
    Room(
        _("Memory"),
        "book-open",
        (
            (Page("overview:memory_list", _("Files"), of_agent="MEMORY.md/"),),
            (
                Page("gate:decision_list", _("Decisions and writes"), below=OF_DECISIONS),
                Page("guardian:audit_list", _("Writes"), below=OF_WRITES, is_view=True),
                Page("gate:statistics", _("Statistics")),
                Page("gate:call_list", _("Calls")),
                Page("gate:replay_list", _("Replays"), below=("/replays/",)),
                Page("guardian:regression_list", _("Regression sets")),
                Page("guardian:chart", _("Chart")),
                Page("guardian:proposal_list", _("Proposals"), "operator"),
            ),
            (Page("guardian:rule_list", _("Rules")),),
        ),
        gear=(
            Page("gate:own_gate", _("This site's gate")),
            Page("guardian:own_guardian", _("This site's guardian")),
            Page("guardian:opted_out", _("Lines of people who opted out")),
        ),
    ),
    Room(
        pgettext_lazy("entry of the menu", "Training"),
        "academic-cap",
        (
            (Page("datasets:review", _("Queue"), "labeller"), Page("datasets:queue_list", _("Queues"), "labeller")),
            (
                Page("datasets:sample_list", _("Samples")),
                Page("datasets:statistics", _("Statistics")),
                Page("datasets:collection_list", _("Collecting")),
                Page("datasets:what_if", _("What if")),
                Page("datasets:score_evaluation", _("Quality report")),
                Page("datasets:set_import", _("Import a set"), "operator"),
            ),
            (Page("datasets:dataset_list", _("Datasets")), Page("datasets:benchmark_list", _("Benchmarks"))),
            (Page("datasets:export_list", _("Exports")),),
            (Page("datasets:finding_list", _("Findings")),),
        ),
        gear=(Page("datasets:model_scores", _("Scores by a model")),),
        number="datasets:review_waiting",
        number_role="labeller",
    ),
    Room(
        _("System"),
        "cog-6-tooth",
        (
            (Page("operations:system", _("Problems"), "operator"),),
            (
                Page("collecting:import_summary", _("Imports")),
                Page("collecting:skipped_list", _("Skipped sources")),
                Page("collecting:rejected_list", _("Rejected records")),
                Page("collecting:folder_choose", _("Import a folder"), "admin"),
            ),
            (Page("jobs:job_list", _("Jobs")),),
            (Page("operations:doctor", _("Doctor"), "operator"),),
            (
                Page("operations:backup_list", _("Backups"), "operator"),
                Page("operations:retention", _("Retention"), "admin"),
                Page("operations:artifact_store", _("Artifact store"), "admin"),
            ),
            (
                Page("people:user_list", _("People"), "admin"),
                Page("people:invitation_list", _("Invitations"), "admin"),
                Page("people:token_list", _("API tokens")),
                Page("people:audit_list", _("Audit log"), "admin"),
                Page("people:account", _("Your account")),
            ),
            (Page("people:settings", _("Settings"), "admin"), Page("api:openapi-view", _("API"))),
            (Page("episodes:scope_list", _("Ledger")),),
            (Page("ledger:stored_list", _("OpenClaw databases")),),
        ),
    ),
)


class Link(NamedTuple):
    """A link of a menu. `current` is its `aria-current`: “page”, “true” when a page below it is open, or empty."""

    label: str
    address: str
    current: str


class Entry(NamedTuple):
    """An entry of the rail. `number` is an address that answers with a number, shown beside the entry."""

    link: Link
    icon: str
    number: str
    is_urgent: bool


class Menus(NamedTuple):
    """The menus of a page: the rail, the tabs of its room with the gear, the pages related to its tab, and its agent.

    A slim rail shows only icons; its button leads back to `back`. `of_all` is the address of this page for all agents;
    `of_one` that for one agent, with `{}` in place of its id.
    """

    entries: list[Entry]
    is_slim: bool
    back: str
    tabs: list[Link]
    gear: Link | None
    related: list[Link]
    agent: str
    of_all: str
    of_one: str


def build_menus(request, path=""):
    """Build the `Menus` of a page, with what the person may see. `path` replaces the path of the request."""
    full = (path or request.get_full_path()).partition("?")[0]
    # The agent of an address counts once a view has found it.
    match = AGENT.match(full) if path or hasattr(request, "agent_problem") else None
    prefix = match[0] if match else ""
    rooms = _list_rooms(settings.DISABLED)
    open_page = _find_page(rooms, AGENT.sub("", full, count=1))

    def link(page, label, is_open):
        address = f"{prefix if page.is_by_agent else ''}{page.address}"
        return Link(label, address, "" if not is_open else "page" if address == full else "true")

    entries, open_tabs = [], [[]]
    for room in rooms:
        tabs = [[page for page in tab if request.user.has_role(page.role)] for tab in (*room.tabs, room.gear)]
        if not any(tabs):
            continue
        is_open = any(open_page in tab for tab in (*room.tabs, room.gear))
        number = reverse(room.number) if room.number and request.user.has_role(room.number_role) else ""
        first = next(filter(None, tabs))[0]
        first = first._replace(address=first.address + first.of_agent) if prefix else first
        entries.append(Entry(link(first, room.label, is_open), room.icon, number, room.is_urgent))
        if is_open:
            open_tabs = tabs
    *tabs, gear = [link(tab[0], tab[0].label, open_page in tab) if tab else None for tab in open_tabs]
    related = next((tab for tab in open_tabs if open_page in tab), [])
    # The first page is the tab itself; the gear is an icon, so all of its pages are named.
    related = related if gear and gear.current else [page for page in related[1:] if not page.is_view]
    agent, of_one = prefix.removeprefix("/agents/"), f"/agents/{{}}{SESSIONS}"
    if open_page and open_page.is_by_agent:
        of_one = f"/agents/{{}}{open_page.address}"
    elif getattr(request.resolver_match and request.resolver_match.func, "takes_agent", False):
        agent, of_one = request.GET.get("agent", ""), f"{full}?agent={{}}"
    of_get = request.get_full_path() if request.method in ("GET", "HEAD") else ""
    return Menus(
        entries,
        request.COOKIES.get(COOKIE) == "slim",
        path or of_get or next((entry.link.address for entry in entries if entry.link.current), "/"),
        list(filter(None, tabs)),
        gear,
        [link(page, page.label, page == open_page) for page in related],
        agent,
        open_page.address if open_page else SESSIONS,
        of_one,
    )


# What people want to do, with the page where it is done.
ACTIONS = (
    (_("Judge the next sample"), Page("datasets:review", "", "labeller")),
    (_("Undo a write to a memory file"), Page("guardian:audit_list", "")),
    (_("Export training files"), Page("datasets:export_list", "")),
    (_("Create a dataset or a release"), Page("datasets:dataset_list", "")),
    (_("Import an OpenClaw folder"), Page("collecting:folder_choose", "", "admin")),
    (_("Create a backup"), Page("operations:backup_list", "", "operator")),
    (_("Compare the store with its sources"), Page("operations:doctor", "", "operator")),
    (_("Invite a person"), Page("people:invitation_list", "", "admin")),
    (_("Create an API token"), Page("people:token_list", "")),
)
MOST_FOUND = 6


def find_pages(user, text):
    """Find pages and actions by words of their names, as `Link`; without words, all actions."""
    rooms = _list_rooms(settings.DISABLED)
    pages = [(page.label, page) for room in rooms for tab in (*room.tabs, room.gear) for page in tab]
    actions = [(label, page) for label, known in ACTIONS for page in _list_pages(settings.DISABLED, (known,))]
    terms = text.casefold().split()
    links = [
        Link(str(label), page.address, "")
        for label, page in ([*pages, *actions] if terms else actions)
        if user.has_role(page.role) and all(word in str(label).casefold() for word in terms)
    ]
    return links[:MOST_FOUND]


def _find_page(rooms, path):
    """Return the page that a path belongs to, without the agent of the path; None for addresses that no page has."""
    best, length = None, 0
    for page in (page for room in rooms for tab in (*room.tabs, room.gear) for page in tab):
        for start in (page.address.removesuffix(page.name and f"{page.name}/"), *page.below):
            if len(start) > length and (path == start or (start != "/" and path.startswith(start))):
                best, length = page, len(start)
    return best


@lru_cache(maxsize=8)
def _list_rooms(disabled):
    """Return the rooms with the addresses of their pages, without pages that are disabled or have no route."""
    return tuple(
        room._replace(tabs=tuple(map(partial(_list_pages, disabled), room.tabs)), gear=_list_pages(disabled, room.gear))
        for room in ROOMS
    )


def _list_pages(disabled, pages):
    allowed = (page for page in pages if capabilities.find_route_owner(page.route) not in disabled)
    return tuple(filter(None, map(_add_address, allowed)))


def _add_address(page):
    try:
        address = reverse(page.route, args=(page.name,) if page.name else ())
    except NoReverseMatch:
        return page if page.address else None
    return page._replace(address=address, is_by_agent=is_valid_path(f"/agents/a{address}"))
