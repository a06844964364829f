"""Pages and API answers about one agent show no data of another.

Ada has one row of everything, Bob has no rows, Eve does not exist. A request for a row of Ada under Bob's address
answers 404; a list, or a part of a page, is empty.
"""

import re

import pytest
from django.test import Client, override_settings

from guardian.models import FileSnapshot
from tests.factories import AgentFactory, UserFactory
from tests.openclaw_web.test_api import operations
from tests.suite.browsers import BACKEND
from tests.suite.module_rows import keep_rows, roll_back_rows
from tests.whole.pages import GETS
from tests.whole.site_rows import fill_everything

PAGES = {route: page for route, page in GETS.items() if page.address and not page.address.startswith("/")}
OPERATIONS = [path for method, path, _operation in operations() if method == "GET" and "{agent}" in path]
# The fact that stands in an argument of the API, where that is not called so.
ARGUMENTS = {
    "session_id": "session", "decision_id": "decision", "call_id": "call", "replay_id": "replay", "prompt_id": "prompt",
    "audit_id": "write", "proposal_id": "proposal", "handover_id": "handover", "name": "file", "sha256": "artifact",
    "handle": "artifact", "step_id": "step", "job_id": "cron",
    "remediation_id": "remediation",
}  # fmt: skip
# Operations that need a query, and one that needs a certain artifact.
ASKED = {
    "/turns/context": "/turns/context?turn_id=s1:r1",
    "/files/versions": "/files/versions?name={file}",
    "/files/writes": "/files/writes?name={file}",
    "/files/version": "/files/version?id={version}",
    "/files/diff": "/files/diff?to={version}",
    "/remediation": "/remediation?turn={turn}",
    "/checkpoints/{artifact}": "/checkpoints/{checkpoint}",
    "/episodes": "/episodes?scope=global",
    "/episodes/policy": "/episodes/policy?scope=global",
    "/episodes/replay/{session}": "/episodes/replay/{session}?scope=global",
}
# Addresses of one row of Ada that also answer without it: parts of pages, and pages of files that any agent may have.
OPEN = re.compile(r"/of/|/live/|\{file\}|/left/|episodes/(?:redact|replay)/")
NOTHING = ("guardian:session_rollback", "/guardian/sessions/{session}/rollback")  # says so: 409
WORDS = ("question 1", "reply 1", "Likes tea", "error 1", "x{1}")


@pytest.fixture(scope="module")
def admin_site(django_db_setup, django_db_blocker, tmp_path_factory):
    """A function that fetches an address with Ada's facts as an admin; and these facts."""
    home = tmp_path_factory.mktemp("agents")
    (home / "state").mkdir()
    with keep_rows(django_db_blocker), override_settings(HOME_DIR=home):
        admin = UserFactory(username="admin", role="admin")
        facts = fill_everything(1, admin)
        facts["version"] = FileSnapshot.objects.using("agent_ada").filter(file_name="MEMORY.md").latest("created_at").id
        AgentFactory(agent_id="bob")
        client = Client()
        client.force_login(admin, backend=BACKEND)

        def ask(address, agent):
            with roll_back_rows():
                return client.get(address.format(**facts | {"agent": agent}))

        yield ask, facts


def check(admin_site, address, *nothing):
    """Check that Bob has none of Ada's data, and that Eve does not exist.

    `nothing` are further statuses, beside 404, that an agent without the row may get.
    """
    ask, facts = admin_site
    assert ask(address, "ada").status_code in (200, 286), address
    answer = ask(address, "bob")
    assert answer.status_code in (404, *nothing), address
    assert not [word for word in (*WORDS, facts["title"], facts["fact"]) if word in answer.text], address
    assert ask(address, "eve").status_code == 404, address


@pytest.mark.parametrize("route", PAGES)
def test_page(admin_site, route):
    address = PAGES[route].address
    is_open = "{" not in address or OPEN.search(address)
    check(
        admin_site,
        f"/agents/{{agent}}/{address}",
        *((200, 286) if is_open else ()),
        *((409,) if route in NOTHING else ()),
    )


@pytest.mark.parametrize("path", OPERATIONS)
def test_operation(admin_site, path):
    address = re.sub(r"{(\w+)}", lambda match: f"{{{ARGUMENTS.get(match[1], match[1])}}}", path)
    place = address.removeprefix("/api/v1/agents/{agent}")
    nothing = (
        (200,) if OPEN.search(place) or "{" not in place.replace("{file}", "") else (409,) if place in NOTHING else ()
    )
    check(admin_site, address.removesuffix(place) + ASKED.get(place, place), *nothing)
