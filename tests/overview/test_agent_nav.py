"""The way between the pages of one agent: groups, and the pages of the open one."""

import re

import pytest

PAGES = {
    "Conversations": {"Sessions": "sessions/", "Turns": "turns/", "Records": "events/"},
    "Outputs": {"Artifacts": "artifacts/", "Savings": "savings/", "Lint": "lint/"},
    "Memory": {"Memory gate": "gate/", "Writes": "writes/", "Files": "files/", "Databases": "stored/"},
    "Automation": {"Scheduled tasks": "cron/", "Sub-agents": "subagents/", "Background": "background/"},
}
EVERY = [(group, page, path) for group, pages in PAGES.items() for page, path in pages.items()]
LINK = re.compile(r'<a href="([^"]+)"(?: aria-current="(\w+)")?>([^<]+)</a>')
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, stranger, ada):
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    return client


def lists_of(client, path):
    """The two lists of links on a page of ada's: (label, address, aria-current) each."""
    nav = re.search(r'<nav class="agent-nav".*?</nav>', client.get(f"/agents/ada/{path}").text, re.DOTALL)[0]
    return [
        [(label, address, current) for address, current, label in LINK.findall(part)] for part in nav.split("</ul>")[:2]
    ]


@pytest.mark.parametrize(("group", "page", "path"), EVERY)
def test_it_works(client, group, page, path):
    groups, pages = lists_of(client, path)
    assert groups == [
        (name, f"/agents/ada/{next(iter(pages.values()))}", "true" if name == group else "")
        for name, pages in PAGES.items()
    ]
    assert pages == [
        (name, f"/agents/ada/{address}", "page" if name == page else "") for name, address in PAGES[group].items()
    ]


@pytest.mark.parametrize(("group", "page", "path"), EVERY)
def test_crumbs_end_with_the_page_and_lead_to_the_agent(client, group, page, path):
    crumbs = re.search(r'<nav class="crumbs".*?</nav>', client.get(f"/agents/ada/{path}").text, re.DOTALL)[0]
    *_, agent, last = re.findall(r"<li>(.*?)</li>", crumbs, re.DOTALL)
    assert LINK.fullmatch(agent.strip())[3] == "ada"
    assert last.strip().startswith(page)
