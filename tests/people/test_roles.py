"""Who may do what, decided by hand: every form, file and operation, for nobody, each role and its tokens.

Forms and files are in tests/whole/pages.py; pages themselves are asked for by tests/whole/test_pages.py.
"""

import pytest
from django.conf import settings
from django.test import Client

from people.accounts import tokens
from tests.conftest import ROLES
from tests.factories import AgentFactory, UserFactory
from tests.people.surface import ROOT, api_address, ask, documented, mounted, page_address
from tests.suite.standing import standing, undone
from tests.whole.pages import ANYBODY, TABLE

APART = [route for route, page in TABLE.items() if not page.address]  # what test_pages does not ask for
VERBS = ("close", "mute", "seen", "unmute")  # of problems

# Operation of the API: the lowest role that may, and a body that fits.
OPERATIONS = {
    "DELETE /agents/{agent}/artifacts/{handle}": ("admin", None),
    "GET /agents": ("viewer", None),
    "GET /agents/{agent}": ("viewer", None),
    "GET /agents/{agent}/checkpoints/{sha256}": ("viewer", None),
    "GET /agents/{agent}/artifacts": ("viewer", None),
    "GET /agents/{agent}/artifacts/{handle}": ("viewer", None),
    "GET /agents/{agent}/artifacts/{handle}/content": ("viewer", None),
    "GET /agents/{agent}/artifacts/{handle}/fetch": ("viewer", None),
    "GET /agents/{agent}/cron": ("viewer", None),
    "GET /agents/{agent}/cron/{job_id}": ("viewer", None),
    "GET /agents/{agent}/cron/{job_id}/runs": ("viewer", None),
    "GET /agents/{agent}/files": ("viewer", None),
    "GET /agents/{agent}/files/diff": ("viewer", None),
    "GET /agents/{agent}/files/writes": ("viewer", None),
    "GET /agents/{agent}/files/version": ("viewer", None),
    "GET /agents/{agent}/files/versions": ("viewer", None),
    "GET /agents/{agent}/events": ("viewer", None),
    "GET /agents/{agent}/gate/calls": ("viewer", None),
    "GET /agents/{agent}/gate/calls/{call_id}": ("viewer", None),
    "GET /agents/{agent}/gate/decisions": ("viewer", None),
    "GET /agents/{agent}/gate/decisions/{decision_id}": ("viewer", None),
    "GET /agents/{agent}/gate/prompts/{prompt_id}": ("viewer", None),
    "GET /agents/{agent}/gate/statistics": ("viewer", None),
    "GET /agents/{agent}/lint": ("viewer", None),
    "GET /agents/{agent}/rejected": ("viewer", None),
    "GET /agents/{agent}/savings": ("viewer", None),
    "GET /agents/{agent}/sessions/{session_id}/savings": ("viewer", None),
    "GET /agents/{agent}/sessions": ("viewer", None),
    "GET /agents/{agent}/sessions/{session_id}": ("viewer", None),
    "GET /agents/{agent}/sessions/{session_id}/branches": ("viewer", None),
    "GET /agents/{agent}/sessions/{session_id}/events": ("viewer", None),
    "GET /agents/{agent}/sessions/{session_id}/steps": ("viewer", None),
    "GET /agents/{agent}/sessions/{session_id}/turns": ("viewer", None),
    "GET /agents/{agent}/deliveries": ("viewer", None),
    "GET /agents/{agent}/flows": ("viewer", None),
    "GET /agents/{agent}/memory-index": ("viewer", None),
    "GET /agents/{agent}/tasks": ("viewer", None),
    "GET /agents/{agent}/vfs": ("viewer", None),
    "GET /agents/{agent}/subagents": ("viewer", None),
    "GET /agents/{agent}/turns": ("viewer", None),
    "GET /agents/{agent}/turns/context": ("viewer", None),
    "GET /exports": ("viewer", None),
    "GET /exports/{export_id}": ("viewer", None),
    "GET /exports/{export_id}/files/{name}": ("viewer", None),
    "GET /exports/{export_id}/zip": ("viewer", None),
    "GET /operations/audit": ("admin", None),
    "GET /operations/backups": ("operator", None),
    "GET /operations/doctor": ("operator", None),
    "GET /operations/doctor/ignored": ("operator", None),
    "GET /operations/doctor/runs": ("operator", None),
    "GET /operations/doctor/runs/{run_id}": ("operator", None),
    "GET /operations/doctor/runs/{run_id}/sources": ("operator", None),
    "GET /me": ("viewer", None),
    "GET /me/sign-ins": ("viewer", None),
    "GET /operations/invitations": ("admin", None),
    "GET /operations/jobs": ("viewer", None),
    "GET /operations/jobs/{job_id}": ("viewer", None),
    "GET /operations/retention": ("admin", None),
    "GET /agents/{agent}/removed-sessions": ("admin", None),
    "GET /operations/settings": ("admin", None),
    "GET /operations/skipped": ("viewer", None),
    "GET /operations/tokens": ("viewer", None),
    "GET /operations/users": ("admin", None),
    "GET /problems": ("operator", None),
    "GET /overview": ("viewer", None),
    "GET /overview/agents": ("viewer", None),
    "GET /review/next": ("labeller", None),
    "GET /review/progress": ("labeller", None),
    "GET /samples": ("viewer", None),
    "GET /samples/{sample_id}": ("viewer", None),
    "POST /agents/{agent}/gate/decisions": ("operator", {"decisions": []}),
    "GET /agents/{agent}/gate/own": ("viewer", None),
    "GET /agents/{agent}/gate/run": ("operator", None),
    "POST /agents/{agent}/gate/run": ("operator", {"limit": 1}),
    "GET /agents/{agent}/gate/replays": ("viewer", None),
    "GET /agents/{agent}/gate/replays/{replay_id}": ("viewer", None),
    "POST /agents/{agent}/gate/replays": ("operator", {"model": "other"}),
    "POST /agents/{agent}/gate/replays/{replay_id}/continue": ("operator", {}),
    "POST /agents/{agent}/gate/switch": ("admin", {"is_on": False}),
    "POST /agents/{agent}/sessions/{session_id}/checkpoints": ("labeller", {}),
    "POST /agents/{agent}/artifacts": ("operator", {"text": "x"}),
    "POST /agents/{agent}/artifacts/{handle}/verify": ("admin", {}),
    "POST /agents/{agent}/gate/decisions/{decision_id}/sample": ("labeller", {"verdict": "right"}),
    "POST /agents/{agent}/sessions/{session_id}/samples": ("labeller", {"turns": [1]}),
    "POST /exports": ("labeller", {"name": "x", "format": "alpaca"}),
    "POST /exports/count": ("labeller", {"format": "alpaca"}),
    "POST /exports/{export_id}/verify": ("labeller", {}),
    "POST /me/sign-ins/{sign_in_id}/end": ("viewer", {}),
    "POST /operations/artifacts/gc": ("admin", {}),
    "POST /operations/backups": ("admin", {}),
    "POST /operations/backups/{backup_id}/drill": ("admin", {}),
    "POST /operations/backups/{backup_id}/verify": ("admin", {}),
    "POST /operations/collect": ("operator", {}),
    "POST /operations/jobs/{job_id}/cancel": ("labeller", None),
    "POST /operations/retention/archive": ("admin", {"days": 400}),
    "POST /operations/retention/count": ("admin", {"days": 400}),
    "POST /operations/retention/remove": ("admin", {"days": 400}),
    "POST /operations/doctor/again": ("admin", {}),
    "POST /operations/doctor/compare": ("admin", {}),
    "POST /operations/doctor/fix": ("admin", {}),
    "POST /operations/doctor/look": ("operator", {}),
    "POST /operations/doctor/runs/{run_id}/undo": ("admin", {}),
    "POST /operations/doctor/unignore": ("admin", {"what": "main/x"}),
    "POST /operations/invitations": ("admin", {"role": "viewer"}),
    "POST /operations/invitations/{invitation_id}/revoke": ("admin", {}),
    "POST /operations/settings/import": ("admin", {"settings": {"memoryGate.windowSize": 3}}),
    "POST /operations/settings/{key}": ("admin", {"value": 3}),
    "POST /operations/tokens": ("viewer", {"name": "x", "role": "viewer"}),
    "POST /operations/tokens/{token_id}/revoke": ("viewer", {}),
    "POST /operations/users": ("admin", {"username": "new"}),
    **{f"POST /problems/{{problem_id}}/{verb}": ("operator", {"reason": "x"}) for verb in VERBS},
    "POST /operations/users/{username}/activate": ("admin", {}),
    "POST /operations/users/{username}/deactivate": ("admin", {}),
    "POST /operations/users/{username}/link": ("admin", {}),
    "POST /operations/users/{username}/role": ("admin", {"role": "labeller"}),
    "POST /operations/users/{username}/sign-out": ("admin", {}),
    "POST /operations/users/{username}/unlock": ("admin", {}),
    "POST /review/claims/{sample_id}": ("labeller", {}),
    "POST /review/claims/{sample_id}/release": ("labeller", {}),
    "POST /review/skip": ("labeller", {"sample_id": "x"}),
    "POST /review/verdict": ("labeller", {"sample_id": "x", "status": "approved"}),
    "POST /review/undo": ("labeller", {}),
    "POST /samples/bulk": ("labeller", {"status": "approved", "expected_count": 1}),
    "POST /samples/{sample_id}/label": ("labeller", {"status": "approved"}),
    "POST /agents/{agent}/guardian/writes": ("operator", {"writes": []}),
    "GET /operations/memory": ("viewer", None),
    "GET /agents/{agent}/guardian/own": ("viewer", None),
    "GET /agents/{agent}/guardian/run": ("operator", None),
    "POST /agents/{agent}/guardian/run": ("operator", {"limit": 1}),
    "POST /agents/{agent}/guardian/unattended": ("admin", {"file": "USER.md", "is_on": False}),
    "GET /agents/{agent}/guardian/proposals": ("operator", None),
    "GET /agents/{agent}/guardian/proposals/{proposal_id}": ("operator", None),
    "POST /agents/{agent}/guardian/proposals/{proposal_id}/approve": ("operator", {"seen": "x"}),
    "POST /agents/{agent}/guardian/proposals/{proposal_id}/decline": ("operator", {"reason": "x"}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/retry": ("operator", {}),
    "GET /agents/{agent}/guardian/rules": ("viewer", None),
    "POST /agents/{agent}/guardian/samples": ("labeller", {}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/sample": ("labeller", {"verdict": "right"}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/opinion": ("labeller", {"opinion": "right"}),
    "POST /agents/{agent}/guardian/rules/check": ("operator", {"fact": "x", "file": "USER.md"}),
    "POST /agents/{agent}/guardian/rules/{rule_id}/switch": ("operator", {"is_on": False}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/correction": ("labeller", {"status": "refused", "reason": "x"}),
    "GET /agents/{agent}/guardian/files/{name}/blame": ("viewer", None),
    "GET /agents/{agent}/guardian/files/{name}/history": ("viewer", None),
    "GET /agents/{agent}/guardian/writes": ("viewer", None),
    "GET /agents/{agent}/guardian/writes/{audit_id}": ("viewer", None),
    "GET /agents/{agent}/guardian/chart": ("viewer", None),
    "GET /agents/{agent}/guardian/opted-out": ("viewer", None),
    "GET /agents/{agent}/guardian/writes/{audit_id}/rollback": ("operator", None),
    "POST /agents/{agent}/guardian/writes/{audit_id}/rollback": ("operator", {"reason": "x", "seen": ""}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/handover": ("operator", {"reason": "x", "seen": ""}),
    "POST /agents/{agent}/guardian/proposals/{proposal_id}/handover": ("operator", {"seen": "x"}),
    "GET /agents/{agent}/guardian/handovers/{handover_id}": ("operator", None),
    "POST /agents/{agent}/guardian/handovers/{handover_id}/check": ("operator", None),
    "GET /agents/{agent}/guardian/files/{name}/cure": ("operator", None),
    "GET /agents/{agent}/guardian/sessions/{session_id}/rollback": ("operator", None),
    "POST /agents/{agent}/guardian/sessions/{session_id}/rollback": ("operator", {"reason": "x", "seen": {}}),
}


def expected(lowest):
    """Which roles may, as {role: True or False}."""
    return {role: lowest == ANYBODY or ROLES.index(role) >= ROLES.index(lowest) for role in ROLES}


@pytest.fixture(scope="module")
def people(django_db_setup, django_db_blocker):
    """A person of each role, and an admin who stays whatever a test does."""
    with standing(django_db_blocker):
        AgentFactory(agent_id="ada")
        UserFactory(username="somebody")
        UserFactory(username="root", role="admin")
        yield {role: UserFactory(username=role, role=role) for role in ROLES}


@pytest.fixture(scope="module")
def sign_ins(people):
    """The cookie of somebody of each role who is signed in."""
    return {role: browser_of(user).cookies[settings.SESSION_COOKIE_NAME].value for role, user in people.items()}


@pytest.fixture(scope="module")
def bearers(people):
    """{role: the header of an own token, and that of an admin's token with this role}."""
    texts = {
        role: [tokens.make_token(somebody, name="x", role=role)[1] for somebody in (user, people["admin"])]
        for role, user in people.items()
    }
    return {role: [{"Authorization": f"Bearer {text}"} for text in both] for role, both in texts.items()}


@pytest.fixture
def browsers(sign_ins, bearers):
    """A browser of each role; what a test writes is taken back."""
    with undone():
        yield {
            role: Client(headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={key}"}) for role, key in sign_ins.items()
        }


def browser_of(user):
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def may(response):
    """Whether an answer is anything but “not you”."""
    assert response.status_code < 500 and response.status_code != 429, response.content[:500]
    sent_away = response.status_code == 302 and response["Location"].startswith("/sign-in/?next=")
    return response.status_code not in (401, 403) and not sent_away


def test_every_operation_is_in_a_table():
    assert dict(mounted()).keys() == documented().keys() == OPERATIONS.keys()


@pytest.mark.parametrize("route", APART)
def test_form_or_file(route, browsers):
    page, address = TABLE[route], page_address(route)
    assert may(ask(Client(), page.method, address)) == (page.role == ANYBODY)
    answers = {role: may(ask(browser, page.method, address)) for role, browser in browsers.items()}
    assert answers == expected(page.role)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation(operation, browsers, bearers):
    (lowest, body), method, address = OPERATIONS[operation], operation.partition(" ")[0], api_address(operation)
    anonymous = ask(Client(), method, address, body)
    assert (anonymous.status_code, set(anonymous.json())) == (401, {"detail", "code"})
    for role, browser in browsers.items():
        own, lent = (ask(Client(), method, address, body, **headers) for headers in bearers[role])
        answers = {
            "session": ask(browser, method, address, body),
            "own token": own,
            "an admin's token with this role": lent,
        }
        assert {key: may(answer) for key, answer in answers.items()} == dict.fromkeys(answers, expected(lowest)[role])
        assert all(answer.status_code == 403 for answer in answers.values() if not may(answer))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_role_that_is_too_low_hears_so_whatever_it_sends(operation, browsers):
    lowest, method, address = OPERATIONS[operation][0], operation.partition(" ")[0], api_address(operation)
    for role in [role for role, is_enough in expected(lowest).items() if not is_enough]:
        for body in ({}, {"nothing": "like this"}):
            answer = ask(browsers[role], method, f"{address}?no-such=parameter", body)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), (role, body)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_parameters_are_those_of_the_document(operation, browsers):
    described, (lowest, body) = documented()[operation], OPERATIONS[operation]
    assert described["x-role"] == lowest
    method, address = operation.partition(" ")[0], api_address(operation)
    query = "&".join(f"{one['name']}=1" for one in described["parameters"] if one["in"] == "query")
    answer = ask(browsers["admin"], method, f"{address}?{query}", body)
    assert "there is no such parameter" not in answer.content.decode()
    if method != "DELETE":
        answer = ask(browsers["admin"], method, f"{address}?uses=bogus", body)
        assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["query", "uses"])


def test_a_token_opens_no_page(bearers, browsers):
    needing = {route: page.method for route, page in TABLE.items() if page.role != ANYBODY}
    headers = bearers["admin"][0]
    opened = {route for route, method in needing.items() if may(ask(Client(), method, page_address(route), **headers))}
    assert opened == {"api:openapi-json"}  # no page: what a client is generated from


@pytest.mark.parametrize("address", [f"{ROOT}/", f"{ROOT}/nothing"])
def test_what_is_no_operation_is_not_there(address, browsers):
    assert Client().get(address).status_code == 404
    assert browsers["admin"].get(address).status_code == 404
