"""OPENCLAW_WEB_DISABLED hides the pages and jobs of a capability; all others stay."""

import re
import sys

import pytest
from django.urls import get_resolver, reverse

from jobs import execution
from jobs import kinds as job_kinds
from openclaw_web import capabilities
from tests.factories import JobFactory
from tests.ledger.transcript_records import store_session, working_turns
from tests.openclaw_web.pages.menus import read_menus

NAMES = sorted(capabilities.CAPABILITIES)
pytestmark = pytest.mark.django_db


@pytest.fixture
def session(ada):
    return store_session(*working_turns(1))


def list_addresses(name):
    """The addresses of all pages of the app `name` that name an agent at most."""
    patterns = get_resolver().namespace_dict.get(name, ("", None))[1]
    if patterns is None:  # an app without pages
        return []
    routes = {
        route: entry[0][0][1]
        for route in patterns.reverse_dict
        if isinstance(route, str) and (entry := patterns.reverse_dict.getlist(route)[0])
    }
    names = [(route, parts) for route, parts in routes.items() if set(parts) <= {"agent"}]
    return [reverse(f"{name}:{route}", kwargs=dict.fromkeys(parts, "ada")) for route, parts in names]


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_missing_and_say_why(as_admin, session, settings, name):
    addresses = list_addresses(name)
    if name == "artifacts":
        addresses += ["/agents/ada/lint/", "/operations/artifacts/", "/operations/artifacts/clear/"]
    if name == "guardian":
        addresses.append("/files/")
    assert addresses or f"{name}.urls" not in sys.modules
    assert 404 not in {as_admin.get(address).status_code for address in addresses}
    settings.DISABLED = frozenset({name})
    for address in addresses:
        for answer in (as_admin.get(address), as_admin.post(address)):
            assert answer.status_code == 404
            assert f"{name} is disabled (OPENCLAW_WEB_DISABLED)." in answer.text


@pytest.mark.parametrize("name", NAMES)
def test_every_other_page_is_still_there(as_admin, session, settings, name):
    settings.DISABLED = frozenset({name})
    common = ("/", "/agents/ada/sessions/", "/agents/ada/sessions/s1/", "/agents/ada/stored/", "/operations/")
    assert {address: as_admin.get(address).status_code for address in common} == dict.fromkeys(common, 200)
    for other in {*NAMES} - {name}:
        assert 404 not in {as_admin.get(address).status_code for address in list_addresses(other)}


def test_pages_work_with_every_capability_disabled(as_admin, session, settings):
    settings.DISABLED = frozenset(NAMES)
    for address in ("/", "/agents/", "/agents/ada/sessions/", "/agents/ada/sessions/s1/"):
        page = as_admin.get(address)
        assert page.status_code == 200
        menus = read_menus(page.text)
        assert [link.label for link in menus.rooms] == ["Today", "Conversations", "System"]
        assert not {link.label for link in menus.tabs} & {"Scheduled tasks", "Tool outputs"}


def test_a_fragment_changes_nothing(as_admin, session, settings):
    fragments = re.findall(r'hx-get="([^"]+/of/[^"]*)"', as_admin.get("/agents/ada/sessions/s1/").text)
    assert len(fragments) == 3  # of samples, decisions and writes
    settings.DISABLED = frozenset({"gate", "guardian", "datasets"})
    for address in fragments:
        answer = as_admin.get(address.replace("&amp;", "&"), headers={"HX-Request": "true"})
        assert (answer.status_code, answer.content) == (204, b"")
    assert as_admin.post("/samples/bulk/", headers={"HX-Request": "true"}).status_code == 404


def test_a_visitor_is_sent_to_the_sign_in(client, settings):
    settings.DISABLED = frozenset({"gate"})
    assert client.get("/agents/ada/gate/").status_code == 302


# Jobs


def test_automatic_tasks_are_not_started(settings):
    def list_scheduled():
        return {kind for kind, _schedule in job_kinds.get_schedules()}

    before = list_scheduled()
    settings.DISABLED = frozenset({"gate"})
    assert before - list_scheduled() == {"gate_new_turns"}
    settings.DISABLED = frozenset({"guardian", "artifacts"})
    assert before - list_scheduled() == {"guardian_new_facts"}


@pytest.mark.parametrize(
    ("name", "kind"), [("artifacts", "artifact_gc"), ("gate", "gate"), ("guardian", "guardian"), ("datasets", "export")]
)
def test_a_job_that_waits_is_refused(settings, name, kind):
    settings.DISABLED = frozenset({name})
    JobFactory(kind=kind, state="queued", params_json="{}")
    job = execution.run_next()
    assert (job.state, job.message) == ("refused", f"{name} is disabled (OPENCLAW_WEB_DISABLED).")


def test_sums_of_imported_decisions_are_still_built(settings, ada):
    settings.DISABLED = frozenset({"gate"})
    JobFactory(kind="gate_statistics", state="queued", params_json='{"agent": "ada"}')
    assert execution.run_next().state == "finished"
