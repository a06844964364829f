"""Every page with one row of everything and with thirty: roles, headings, queries.

Users of each role, and a client that is not signed in, request each page of the smaller site: a role that is too low is
refused before it learns whether the row exists. A page fails if it runs more queries than its budget, of all databases
together, or more for thirty rows than for one; the repeated queries are listed.
"""

import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from html import unescape

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import get_resolver

from openclaw_web import clock
from tests.conftest import ALL, ROLES
from tests.factories import T0, UserFactory
from tests.openclaw_web.pages.menus import find_current, read_menus
from tests.people.site_surface import ROUTES, mounted_operations, page_address, routes
from tests.suite.browsers import BACKEND
from tests.suite.module_rows import keep_rows, roll_back_rows
from tests.suite.sources import fail_for
from tests.whole.pages import ANYBODY, GETS, LISTS, PAGES, ROWS, TABLE
from tests.whole.site_rows import fill_everything

MANY = 30
NOBODY = "nobody"
DAY_MS = 86_400_000
ASKED = {route: page for route, page in (GETS | PAGES).items() if page.address or page.heading}
# Addresses under the API that are no operation: both answer 404 to everybody.
NO_OPERATIONS = {"api:api-root", "api:None"}
VALUE = re.compile(r"'(?:[^']|'')*'|\b\d+\b")
TAG = re.compile(r"<[^>]+>")
HEADING = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.DOTALL)
COUNT = re.compile(r"<small class=\"list-count\">[^<]*</small>")  # of a list, beside its title
TITLE = re.compile(r"<title>(.*?) · OpenClaw Web</title>")


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, and its database queries without their values."""

    status: int
    may: bool
    text: str
    queries: list


def fetch_answer(client, address, *, is_part=False):
    """Fetch an address with a client; database changes are rolled back."""
    with roll_back_rows(), ExitStack() as stack:
        captured = [stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in ALL]
        response = client.get(address, headers={"HX-Request": "true"} if is_part else {})
    queries = [VALUE.sub("…", query["sql"]) for each in captured for query in each.captured_queries]
    is_sent_away = response.status_code == 302 and response["Location"].startswith("/sign-in/?next=")
    may = response.status_code not in (401, 403) and not is_sent_away
    return Answer(response.status_code, may, response.text, queries)


def may_see(page, role):
    """Whether the table lets a role, or nobody, see a page."""
    return page.role == ANYBODY or (role != NOBODY and ROLES.index(role) >= ROLES.index(page.role))


def sign_in_client(role):
    """A browser of a user with this role; server errors become responses."""
    client = Client(raise_request_exception=False)
    if role != NOBODY:
        client.force_login(UserFactory(username=role, role=role), backend=BACKEND)
    return client


def fetch_pages(count, roles):
    """{route: (page, answers by role)} on a site with `count` rows of everything."""
    with roll_back_rows():
        clients = {role: sign_in_client(role) for role in roles}
        facts = fill_everything(count, UserFactory(username="admin", role="admin"))
        pages = {route: page.filled(facts) for route, page in ASKED.items()}
        # Whether a file is current is asked once a process, the map of a session once until it changes.
        for route in ("ledger:session_list", "ledger:session_detail"):
            clients["admin"].get(pages[route].address)
        return {route: (page, fetch_answers(page, clients)) for route, page in pages.items()}


def fetch_answers(page, clients):
    """{role: answer} of a page.

    A role that may not see it requests a row that does not exist. For a list, `part` is the answer with its swapped
    part.
    """
    addresses = {role: page.address if may_see(page, role) else page_address(page.route) for role in clients}
    answers = {
        role: fetch_answer(clients[role], address, is_part=not page.heading) for role, address in addresses.items()
    }
    return answers | ({"part": fetch_answer(clients["admin"], page.address, is_part=True)} if page.on else {})


@pytest.fixture(scope="module")
def walks(django_db_setup, django_db_blocker, tmp_path_factory):
    """The answers of the site with one row, and of the site with thirty."""
    home = tmp_path_factory.mktemp("pages")
    (home / "state").mkdir()
    with keep_rows(django_db_blocker), pytest.MonkeyPatch.context() as patch, override_settings(HOME_DIR=home):
        patch.setattr(clock, "now_ms", lambda: T0 + DAY_MS)  # the day after what the rows tell of
        return fetch_pages(1, (NOBODY, *ROLES)), fetch_pages(MANY, (NOBODY, "admin"))


def find_role_problems(page, answers):
    """Yield a problem for each role that sees the page wrongly, or wrongly does not."""
    for role in (NOBODY, *ROLES):
        if answers[role].may != may_see(page, role) or answers[role].status >= 500:
            yield f"{page.route}  answers {answers[role].status} to {role}; the lowest role is {page.role}"


def find_heading_problems(page, answer):
    """Yield problems of the status, the heading, the title or the language of an answer."""
    if answer.status not in ((200,) if page.heading else (200, 286)):
        yield f"{page.route}  answers {answer.status}: {answer.text[:300]}"
    elif page.heading:
        headings = [
            " ".join(unescape(TAG.sub("", heading)).split()) for heading in HEADING.findall(COUNT.sub("", answer.text))
        ]
        if len(headings) != 1 or not headings[0].startswith(page.heading):
            yield f"{page.route}  has the headings {headings}, not {page.heading!r}"
        titles = [unescape(title) for title in TITLE.findall(answer.text)]
        if len(titles) != 1 or (page.on and titles != headings):
            yield f"{page.route}  has the titles {titles} and the headings {headings}"
        if '<html lang="en"' not in answer.text:
            yield f"{page.route}  is not in English"


def format_repeated(queries):
    """The repeated queries, as lines."""
    return "".join(f"\n    {count} x {sql[:300]}" for sql, count in Counter(queries).most_common(5) if count > 1)


def find_query_problems(page, few, many):
    """Yield problems of the number of queries, for one row and for many."""
    if len(many) > len(few) + page.is_counted + page.searches:
        yield f"{page.route}  asks {len(few)} queries for one row and {len(many)} for {MANY}:{format_repeated(many)}"
    chooser = bool(page.heading) and page.role != ANYBODY  # it asks for the names of agents
    if (most := max(len(few), len(many)) - chooser) > page.budget:
        yield f"{page.route}  asks {most} queries, {page.budget} at most:{format_repeated(many)}"


def test_every_route_is_in_the_table():
    names = [name for name, _entry in routes(get_resolver()) if not name.startswith("api:")]
    # A page of one agent has an address without an agent as well (agents.routes).
    assert max(Counter(names).values()) == 2 and len(ROWS) == len(TABLE)
    assert ROUTES.keys() - dict(mounted_operations()).values() - NO_OPERATIONS == TABLE.keys()


def test_what_is_no_page_says_why():
    assert all(page.heading or page.why for page in GETS.values())
    assert all(page.budget for page in ASKED.values())


@pytest.mark.parametrize("route", ASKED)
def test_page(walks, route):
    (page, answers), (page_of_many, of_many) = (pages[route] for pages in walks)
    seers = [NOBODY] if page.role == ANYBODY else [role for role in ROLES if may_see(page, role)]
    few = max((answers[role].queries for role in seers), key=len)  # the first request fills the caches of the process
    answer, many = answers[seers[-1]], of_many[seers[-1]]  # of the highest role
    heads = [*find_heading_problems(page, answer), *find_heading_problems(page_of_many, many)]
    fail_for([*find_role_problems(page, answers), *heads, *find_query_problems(page, few, many.queries)])


def find_menu_problems(page, answer):
    """Yield problems of the menus: not one room, two tabs or bars, crumbs that repeat them, another agent."""
    menus = read_menus(answer.text)
    rooms, tabs = find_current(menus.rooms), find_current([*menus.tabs, *menus.gear])
    if len(rooms) != 1 or len(tabs) != 1 or menus.bars != 1:
        yield f"{page.route}  is in the rooms {rooms} and the tabs {tabs} of {menus.bars} bars"
    if len(find_current(menus.related)) > 1 or len(find_current(menus.agents)) != 1:
        yield f"{page.route}  has the related pages {menus.related} and the agents {menus.agents}"


@pytest.mark.parametrize("route", [route for route, page in ASKED.items() if page.heading and page.role != ANYBODY])
def test_each_page_is_in_one_room_and_one_tab(walks, route):
    page, answers = walks[0][route]
    fail_for([problem for role in ROLES if may_see(page, role) for problem in find_menu_problems(page, answers[role])])


@pytest.mark.parametrize("route", [page.route for page in LISTS.values()])
def test_the_part_that_is_swapped_keeps_the_title(walks, route):
    _page, answers = walks[0][route]
    assert TITLE.findall(answers["part"].text) == TITLE.findall(answers["admin"].text) != []
