"""Navigation between the pages of an agent: groups, and pages of the open group."""

import re

import pytest

PAGES = {
    "Conversations": {"Sessions": "sessions/", "Turns": "turns/", "Records": "events/", "Episodes": "episodes/"},
    "Outputs": {"Artifacts": "artifacts/", "Savings": "savings/", "Lint": "lint/"},
    "Memory": {"Memory gate": "gate/", "Writes": "writes/", "Files": "files/", "Databases": "stored/"},
    "Automation": {"Scheduled tasks": "cron/", "Sub-agents": "subagents/", "Background": "background/"},
}
EVERY = [(group, page, path) for group, pages in PAGES.items() for page, path in pages.items()]
LINK = re.compile(r'<a href="([^"]+)"(?: aria-current="(\w+)")?>([^<]+)</a>')
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("group", "page", "path"), EVERY)
def test_it_works(as_stranger, ada, group, page, path):
    """The two lists of links on a page of ada's, and its crumbs.

    The crumbs end with the page and lead to the agent.
    """
    text = as_stranger.get(f"/agents/ada/{path}").text
    nav = re.search(r'<nav class="agent-nav".*?</nav>', text, re.DOTALL)[0]
    groups, pages = (
        [(label, address, current) for address, current, label in LINK.findall(part)] for part in nav.split("</ul>")[:2]
    )
    assert groups == [
        (name, f"/agents/ada/{next(iter(pages.values()))}", "true" if name == group else "")
        for name, pages in PAGES.items()
    ]
    assert pages == [
        (name, f"/agents/ada/{address}", "page" if name == page else "") for name, address in PAGES[group].items()
    ]
    crumbs = re.search(r'<nav class="crumbs".*?</nav>', text, re.DOTALL)[0]
    *_, agent, last = re.findall(r"<li>(.*?)</li>", crumbs, re.DOTALL)
    assert LINK.fullmatch(agent.strip())[3] == "ada"
    assert last.strip().startswith(page)
