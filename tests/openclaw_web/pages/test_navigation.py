"""The five rooms, their tabs, the related pages and the chooser of agents, by HTTP."""

import pytest
from django.test import Client

from agents.models import Agent
from tests.factories import UserFactory
from tests.openclaw_web.pages.menus import find_current, read_menus
from tests.suite.browsers import BACKEND

pytestmark = pytest.mark.django_db

# Of each room: the tabs of an admin on a page of ada's, and after each tab the pages related to it.
ADA = "/agents/ada"
ROOMS = {
    "Today": {
        "Today": (f"{ADA}/", {}),
        "Scheduled tasks": (f"{ADA}/cron/", {}),
        "Sub-agents": (f"{ADA}/subagents/", {}),
        "Background": (f"{ADA}/background/", {}),
        "Agents": ("/agents/", {}),
    },
    "Conversations": {
        "Sessions": (f"{ADA}/sessions/", {}),
        "Turns": (f"{ADA}/turns/", {}),
        "Transcript records": (f"{ADA}/events/", {}),
        "Errors": (f"{ADA}/errors/", {}),
        "Tool outputs": (
            f"{ADA}/artifacts/",
            {"Avoidable tokens": f"{ADA}/savings/", "Costly instructions": f"{ADA}/lint/"},
        ),
    },
    "Memory": {
        "Files": (f"{ADA}/files/", {}),
        "Decisions and writes": (
            f"{ADA}/gate/",
            {
                "Statistics": f"{ADA}/gate/statistics/",
                "Calls": f"{ADA}/gate/calls/",
                "Replays": f"{ADA}/gate/replays/",
                "Regression sets": f"{ADA}/writes/regressions/",
                "Chart": f"{ADA}/writes/chart/",
                "Proposals": f"{ADA}/writes/own/proposals/",
            },
        ),
        "Rules": (f"{ADA}/writes/rules/", {}),
    },
    "Training": {
        "Queue": ("/review/", {"Queues": "/review/queues/"}),
        "Samples": (
            "/samples/",
            {
                "Statistics": "/datasets/statistics/",
                "Collecting": "/collection/",
                "What if": "/collection/what-if/",
                "Quality report": "/datasets/statistics/quality/",
                "Import a set": "/samples/import/",
            },
        ),
        "Datasets": ("/datasets/", {"Benchmarks": "/benchmarks/"}),
        "Exports": ("/exports/", {}),
        "Findings": ("/findings/", {}),
    },
    "System": {
        "Problems": ("/operations/", {}),
        "Imports": (
            "/operations/imports/",
            {
                "Skipped sources": "/operations/skipped/",
                "Rejected records": "/operations/rejected/",
                "Import a folder": "/operations/folder/",
            },
        ),
        "Jobs": ("/operations/jobs/", {}),
        "Doctor": ("/operations/doctor/", {}),
        "Backups": (
            "/operations/backups/",
            {"Retention": "/operations/retention/", "Artifact store": "/operations/artifacts/"},
        ),
        "People": (
            "/operations/users/",
            {
                "Invitations": "/operations/invitations/",
                "API tokens": "/operations/tokens/",
                "Audit log": "/operations/audit/",
                "Your account": "/account/",
            },
        ),
        "Settings": ("/operations/settings/", {"API": "/api/v1/docs"}),
        "Ledger": (f"{ADA}/episodes/", {}),
        "OpenClaw databases": (f"{ADA}/stored/", {}),
    },
}
GEAR = {
    "This site's gate": f"{ADA}/gate/own/",
    "This site's guardian": f"{ADA}/writes/own/",
    "Lines of people who opted out": f"{ADA}/writes/opted-out/",
}
TABS = [(room, tab) for room, tabs in ROOMS.items() for tab in tabs]
OF_ADA = [(room, tab) for room, tab in TABS if ROOMS[room][tab][0].startswith(ADA)]
# Pages below tabs, some with an address of their own: their room, their tab, and the related page that is current.
BELOW = {
    "/agents/ada/files/USER.md/": ("Memory", "Files", None),
    "/agents/ada/writes/": ("Memory", "Decisions and writes", None),
    "/agents/ada/writes/own/proposals/": ("Memory", "Decisions and writes", "Proposals"),
    "/agents/ada/gate/calls/": ("Memory", "Decisions and writes", "Calls"),
    "/agents/ada/lint/": ("Conversations", "Tool outputs", "Costly instructions"),
    "/review/keys/": ("Training", "Queue", None),
    "/datasets/statistics/": ("Training", "Samples", "Statistics"),
    "/benchmarks/": ("Training", "Datasets", "Benchmarks"),
    "/operations/skipped/": ("System", "Imports", "Skipped sources"),
    "/operations/rejected/": ("System", "Imports", "Rejected records"),
    "/operations/audit/": ("System", "People", "Audit log"),
    "/account/": ("System", "People", "Your account"),
}
SYSTEM = {
    "viewer": ["Imports", "Jobs", "API tokens", "API", "Ledger", "OpenClaw databases"],
    "operator": [
        "Problems",
        "Imports",
        "Jobs",
        "Doctor",
        "Backups",
        "API tokens",
        "API",
        "Ledger",
        "OpenClaw databases",
    ],
    "admin": list(ROOMS["System"]),
}
# Of each capability: the tabs that go with it.
DISABLED = {
    "artifacts": {"Tool outputs"},
    "automation": {"Scheduled tasks", "Sub-agents", "Background"},
    "gate": {"Decisions and writes"},
    "guardian": {"Files", "Rules"},
    "episodes": {"Ledger"},
    "datasets": {"Queue", "Samples", "Datasets", "Exports", "Findings"},
}


def browser_of(role):
    client = Client()
    client.force_login(UserFactory(username=role, role=role), backend=BACKEND)
    return client


@pytest.mark.parametrize(("room", "tab"), TABS)
def test_it_works(as_admin, ada, room, tab):
    """The page of a tab, opened for ada where it can be: its room, its bar and the pages related to it."""
    address, related = ROOMS[room][tab]
    menus = read_menus(as_admin.get(address).text)
    of_all = {link.label: link.address.replace(f"{ADA}/", "/", 1) for link in menus.tabs}
    assert of_all == {name: href.replace(f"{ADA}/", "/", 1) for name, (href, _related) in ROOMS[room].items()}
    assert [(link.label, link.current) for link in menus.tabs if link.current] == [(tab, "page")]
    assert find_current(menus.rooms) == [room] and [link.label for link in menus.rooms] == list(ROOMS)
    assert {link.label: link.address for link in menus.related} == related and find_current(menus.related) == []
    assert bool(menus.gear) == (room == "Memory") and menus.bars == 1


@pytest.mark.parametrize(("room", "tab"), OF_ADA)
def test_the_agent_is_kept_where_there_is_a_page_of_it(as_admin, ada, room, tab):
    menus = read_menus(as_admin.get(ROOMS[room][tab][0]).text)
    assert {link.label: link.address for link in menus.tabs} == {
        name: address for name, (address, _related) in ROOMS[room].items()
    }
    places = {link.label: link.address for link in menus.rooms}
    assert places["Conversations"] == f"{ADA}/sessions/" and places["Memory"] == f"{ADA}/files/MEMORY.md/"
    assert (places["Today"], places["Training"], places["System"]) == (f"{ADA}/", "/review/", "/operations/")


@pytest.mark.parametrize("address", BELOW)
def test_a_page_below_is_in_its_tab(as_admin, ada, address):
    menus = read_menus(as_admin.get(address).text)
    room, tab, related = BELOW[address]
    assert find_current(menus.rooms) == [room]
    assert [(link.label, link.current) for link in menus.tabs if link.current] == [(tab, "true")]
    assert find_current(menus.related) == ([related] if related else [])


@pytest.mark.parametrize("name", GEAR)
def test_the_gear_of_memory_leads_to_its_settings(as_admin, ada, name):
    menus = read_menus(as_admin.get(GEAR[name]).text)
    assert {link.label: link.address for link in menus.related} == GEAR and find_current(menus.related) == [name]
    assert find_current(menus.rooms) == ["Memory"] and find_current(menus.tabs) == []
    assert [(link.address, bool(link.current)) for link in menus.gear] == [(f"{ADA}/gate/own/", True)]


def test_the_chooser_keeps_the_page_and_not_its_query(as_admin, ada):
    Agent.objects.create(agent_id="bert", created_at=1, updated_at=1, agent_db_path="nowhere")
    links = read_menus(as_admin.get(f"{ADA}/turns/?model=x&q=y").text).agents
    assert links == [
        ("All agents", "/turns/", ""),
        ("ada", f"{ADA}/turns/", "true"),
        ("bert", "/agents/bert/turns/", ""),
    ]
    for address, of_all in ((f"{ADA}/savings/", "/savings/"), (f"{ADA}/gate/own/", "/gate/own/")):
        assert [link.address for link in read_menus(as_admin.get(address).text).agents] == [
            of_all,
            f"{ADA}{of_all}",
            f"/agents/bert{of_all}",
        ]


@pytest.mark.parametrize("address", ["/samples/", "/review/", "/findings/"])
def test_the_chooser_is_the_filter_of_a_page_with_one(as_admin, ada, address):
    for query, of_all, of_ada in (("", "true", ""), ("?agent=ada", "", "true")):
        links = read_menus(as_admin.get(address + query).text).agents
        assert links == [("All agents", address, of_all), ("ada", f"{address}?agent=ada", of_ada)]


@pytest.mark.parametrize("address", ["/exports/", "/operations/jobs/", "/agents/"])
def test_on_pages_of_no_agent_the_chooser_leads_to_sessions(as_admin, ada, address):
    links = read_menus(as_admin.get(address).text).agents
    assert links == [("All agents", address, "true"), ("ada", f"{ADA}/sessions/", "")]


def test_the_chooser_of_many_agents_has_a_field_and_an_end(as_admin):
    numbers = range(1, 202)
    Agent.objects.bulk_create(
        Agent(agent_id=f"a{n:03}", created_at=1, updated_at=1, agent_db_path="-") for n in numbers
    )
    text = as_admin.get("/samples/").text
    links = read_menus(text).agents
    assert [link.label for link in links] == ["All agents", *(f"a{n:03}" for n in range(1, 201)), "More agents"]
    assert "data-narrows" in text
    Agent.objects.filter(agent_id__gt="a012").delete()
    text = as_admin.get("/samples/").text
    assert len(read_menus(text).agents) == 13 and "data-narrows" not in text


def test_an_agent_that_is_missing_is_in_no_link(as_admin, ada):
    answer = as_admin.get("/agents/nobody/turns/")
    assert answer.status_code == 404 and 'href="/agents/nobody/' not in answer.text
    assert find_current(read_menus(answer.text).rooms) == ["Conversations"]


@pytest.mark.parametrize("role", SYSTEM)
def test_tabs_are_those_a_role_may_open(ada, role):
    client = browser_of(role)
    tabs = read_menus(client.get("/operations/jobs/").text).tabs
    assert [link.label for link in tabs] == SYSTEM[role]
    assert {client.get(link.address).status_code for link in tabs} <= {200, 302}
    training = [link.label for link in read_menus(client.get("/samples/").text).tabs]
    assert training == list(ROOMS["Training"])[role == "viewer" :]


def test_a_page_that_is_refused_has_its_room_and_no_tab(as_stranger):
    menus = read_menus(as_stranger.get("/operations/doctor/").text)
    assert find_current(menus.rooms) == ["System"] and find_current(menus.tabs) == []


@pytest.mark.parametrize("name", DISABLED)
def test_tabs_of_disabled_capabilities_are_left_out(as_admin, ada, settings, name):
    settings.DISABLED = frozenset({name})
    pages = ["/", f"{ADA}/sessions/", "/files/", "/gate/", "/samples/", "/operations/jobs/"]
    answers = [as_admin.get(page) for page in pages]
    menus = [read_menus(answer.text) for answer in answers if answer.status_code == 200]
    labels = {link.label for menu in menus for link in menu.tabs}
    # Savings need no artifacts; the writes are the tab without a gate.
    others = {"gate": {"Writes"}, "artifacts": {"Avoidable tokens"}}.get(name, set())
    assert labels == {tab for _room, tab in TABS} - DISABLED[name] | others
    rooms = {link.label for menu in menus for link in menu.rooms}
    assert rooms == ROOMS.keys() - ({"Training"} if name == "datasets" else set())
    gear = {link.address.partition("/own/")[0] for menu in menus for link in menu.gear}
    assert gear == ({"/writes"} if name == "gate" else {"/gate"})


def test_crumbs_name_only_what_lies_between_the_tab_and_the_page(as_admin, ada):
    assert '<nav class="crumbs" aria-label="Breadcrumbs" hidden>' in as_admin.get(f"{ADA}/sessions/").text
    assert ">Scheduled tasks<" in as_admin.get(f"{ADA}/cron/").text
