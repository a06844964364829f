"""Permissions of every form, file and operation for nobody, each role and its tokens.

They are decided by hand in these tables.

Forms and files are in tests/whole/pages.py; pages themselves are asked for by tests/whole/test_pages.py.
"""

import pytest
from django.conf import settings
from django.test import Client

from people.accounts import tokens
from tests.conftest import ROLES
from tests.factories import AgentFactory, UserFactory
from tests.people.site_surface import (
    ROOT,
    api_address,
    documented_operations,
    mounted_operations,
    page_address,
    send_request,
)
from tests.suite.module_rows import keep_rows, roll_back_rows
from tests.whole.pages import ANYBODY, TABLE

APART = [route for route, page in TABLE.items() if not page.address]  # routes that test_pages does not request
VERBS = ("close", "mute", "seen", "unmute")  # of problems

# Operations that read, and operations that write and need no body, by the lowest role that may use them.
READS = {
    "viewer": """
        /search /chain /agents/{agent}/guardian/writes/{audit_id}/reach
        /agents /agents/{agent} /agents/{agent}/artifacts /agents/{agent}/artifacts/{handle}
        /agents/{agent}/artifacts/{handle}/content /agents/{agent}/artifacts/{handle}/fetch
        /agents/{agent}/checkpoints/{sha256} /agents/{agent}/episodes /agents/{agent}/episodes/policy
        /agents/{agent}/episodes/replay/{session_id} /agents/{agent}/episodes/scopes
        /agents/{agent}/cron /agents/{agent}/cron/{job_id}
        /agents/{agent}/cron/{job_id}/runs /agents/{agent}/deliveries /agents/{agent}/events /agents/{agent}/files
        /agents/{agent}/files/diff /agents/{agent}/files/version /agents/{agent}/files/versions
        /agents/{agent}/files/writes /agents/{agent}/flows /agents/{agent}/gate/calls
        /agents/{agent}/gate/calls/{call_id} /agents/{agent}/gate/decisions /agents/{agent}/gate/decisions/{decision_id}
        /agents/{agent}/gate/own /agents/{agent}/gate/prompts/{prompt_id} /agents/{agent}/gate/replays
        /agents/{agent}/gate/replays/{replay_id} /agents/{agent}/gate/statistics /agents/{agent}/guardian/chart
        /agents/{agent}/guardian/files/{name}/blame /agents/{agent}/guardian/files/{name}/history
        /agents/{agent}/guardian/opted-out /agents/{agent}/guardian/own /agents/{agent}/guardian/rules
        /agents/{agent}/guardian/writes /agents/{agent}/guardian/writes/{audit_id} /agents/{agent}/lint
        /agents/{agent}/memory-index /agents/{agent}/rejected /agents/{agent}/savings /agents/{agent}/sessions
        /agents/{agent}/sessions/{session_id} /agents/{agent}/sessions/{session_id}/branches
        /agents/{agent}/sessions/{session_id}/events /agents/{agent}/sessions/{session_id}/savings
        /agents/{agent}/sessions/{session_id}/steps /agents/{agent}/sessions/{session_id}/tree
        /agents/{agent}/sessions/{session_id}/turns
        /agents/{agent}/subagents /agents/{agent}/tasks /agents/{agent}/turns /agents/{agent}/turns/context
        /agents/{agent}/vfs /errors /exports /exports/{export_id} /exports/{export_id}/files/{name}
        /exports/{export_id}/zip /me /me/sign-ins /operations/jobs /operations/jobs/{job_id}
        /operations/memory /operations/skipped
        /operations/tokens /overview /overview/agents /samples /samples/{sample_id}
        /findings /findings/rules /findings/{value_hash} /findings/{value_hash}/places /datasets /datasets/statistics
        /datasets/quality /datasets/coverage /datasets/quality/report /collection/approval
        /datasets/{dataset_id} /datasets/{dataset_id}/versions/{number}
        /datasets/{dataset_id}/versions/{number}/members /datasets/{dataset_id}/versions/{number}/difference
        /samples/{sample_id}/uses /benchmarks /collection/strategies /collection/runs /collection/runs/{run_id}
        /collection/runs/{run_id}/turns
    """,
    "labeller": """
        /review/next /review/progress /review/queues /review/queues/{queue_id}/conflicts
        /review/queues/{queue_id}/next /traces/{trace_id} /traces/{trace_id}/file
    """,
    "operator": """
        /agents/{agent}/samples/scores
        /agents/{agent}/episodes/head /agents/{agent}/gate/run /agents/{agent}/guardian/files/{name}/cure
        /agents/{agent}/guardian/handovers/{handover_id} /agents/{agent}/guardian/proposals
        /agents/{agent}/guardian/proposals/{proposal_id} /agents/{agent}/guardian/run
        /agents/{agent}/guardian/sessions/{session_id}/rollback /agents/{agent}/guardian/writes/{audit_id}/rollback
        /agents/{agent}/remediation /agents/{agent}/remediation/{remediation_id}
        /review/queues/{queue_id}/agreement
        /operations/backups /operations/doctor /operations/doctor/ignored /operations/doctor/runs
        /operations/doctor/runs/{run_id} /operations/doctor/runs/{run_id}/sources /problems
    """,
    "admin": """
        /agents/{agent}/removed-sessions /operations/audit /operations/invitations /operations/retention
        /operations/settings /operations/users
    """,
}
WRITES = {
    "viewer": "/me/sign-ins/{sign_in_id}/end /operations/tokens/{token_id}/revoke /mcp",
    "labeller": """
        /agents/{agent}/guardian/samples /agents/{agent}/sessions/{session_id}/checkpoints /exports/{export_id}/verify
        /operations/jobs/{job_id}/cancel /review/claims/{sample_id} /review/claims/{sample_id}/release /review/undo
        /datasets/{dataset_id}/versions/{number}/verify /datasets/{dataset_id}/versions/{number}/check
        /datasets/{dataset_id}/versions
    """,
    "operator": """
        /agents/{agent}/episodes/head /agents/{agent}/episodes/verify
        /agents/{agent}/gate/replays/{replay_id}/continue /agents/{agent}/guardian/handovers/{handover_id}/check
        /agents/{agent}/guardian/writes/{audit_id}/retry /operations/collect /operations/doctor/look
        /operations/notifications/test /agents/{agent}/remediation/{remediation_id}/continue
        /agents/{agent}/remediation/{remediation_id}/undo
    """,
    "admin": """
        /agents/{agent}/artifacts/{handle}/verify /datasets/{dataset_id}/versions/{number}/anew
        /operations/artifacts/gc /operations/backups
        /operations/backups/{backup_id}/drill /operations/backups/{backup_id}/verify /operations/doctor/again
        /operations/doctor/compare /operations/doctor/fix /operations/doctor/runs/{run_id}/undo
        /operations/invitations/{invitation_id}/revoke /operations/users/{username}/activate
        /operations/users/{username}/deactivate /operations/users/{username}/link /operations/users/{username}/sign-out
        /operations/users/{username}/unlock
    """,
}
# Every operation with the lowest role that may use it, and a valid body.
OPERATIONS = {
    **{f"GET {path}": (role, None) for role, paths in READS.items() for path in paths.split()},
    **{f"POST {path}": (role, {}) for role, paths in WRITES.items() for path in paths.split()},
    "DELETE /agents/{agent}/artifacts/{handle}": ("admin", None),
    "POST /agents/{agent}/artifacts": ("operator", {"text": "x"}),
    "POST /agents/{agent}/episodes": (
        "operator",
        {"type": "ops.alert", "scope": "x", "session_id": "s", "agent_id": "a", "summary": "x"},
    ),
    "POST /agents/{agent}/episodes/batch": ("operator", {"events": []}),
    "POST /agents/{agent}/episodes/gc": ("admin", {"scope": "x"}),
    "POST /agents/{agent}/episodes/policy": ("admin", {"scope": "x", "policy": {"ops.alert": 9}}),
    "POST /agents/{agent}/episodes/redact": ("operator", {"scope": "x", "event_id": "e"}),
    "POST /agents/{agent}/gate/decisions": ("operator", {"decisions": []}),
    "POST /agents/{agent}/sessions": ("operator", {"sessions": []}),
    "POST /agents/{agent}/turns": ("operator", {"turns": []}),
    "POST /agents/{agent}/gate/decisions/{decision_id}/sample": ("labeller", {"verdict": "right"}),
    "POST /agents/{agent}/gate/replays": ("operator", {"model": "other"}),
    "POST /agents/{agent}/gate/run": ("operator", {"limit": 1}),
    "POST /agents/{agent}/samples/scores": ("operator", {"limit": 1}),
    "POST /agents/{agent}/gate/switch": ("admin", {"is_on": False}),
    "POST /agents/{agent}/guardian/proposals/{proposal_id}/approve": ("operator", {"seen": "x"}),
    "POST /agents/{agent}/guardian/proposals/{proposal_id}/decline": ("operator", {"reason": "x"}),
    "POST /agents/{agent}/guardian/proposals/{proposal_id}/handover": ("operator", {"seen": "x"}),
    "POST /agents/{agent}/guardian/rules/check": ("operator", {"fact": "x", "file": "USER.md"}),
    "POST /agents/{agent}/guardian/rules/{rule_id}/switch": ("operator", {"is_on": False}),
    "POST /agents/{agent}/guardian/run": ("operator", {"limit": 1}),
    "POST /agents/{agent}/guardian/sessions/{session_id}/rollback": ("operator", {"reason": "x", "seen": {}}),
    "POST /agents/{agent}/guardian/unattended": ("admin", {"file": "USER.md", "is_on": False}),
    "POST /agents/{agent}/guardian/writes": ("operator", {"writes": []}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/correction": ("labeller", {"status": "refused", "reason": "x"}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/handover": ("operator", {"reason": "x", "seen": ""}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/opinion": ("labeller", {"opinion": "right"}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/rollback": ("operator", {"reason": "x", "seen": ""}),
    "POST /agents/{agent}/guardian/writes/{audit_id}/sample": ("labeller", {"verdict": "right"}),
    "POST /agents/{agent}/remediation": ("operator", {"turn": "x", "reason": "x", "seen": "x"}),
    "POST /agents/{agent}/sessions/{session_id}/samples": ("labeller", {"turns": [1]}),
    "POST /benchmarks": ("labeller", {"name": "x", "text": "x"}),
    "POST /benchmarks/{benchmark_id}/report": ("labeller", {}),
    "POST /collection/approval/resume": ("admin", {}),
    "POST /collection/approval/undo": ("admin", {}),
    "POST /collection/runs": ("labeller", {}),
    "POST /collection/strategies": ("admin", {"changes": {}}),
    "POST /collection/what-if": ("viewer", {"changes": {}}),
    "POST /datasets": ("labeller", {"name": "x"}),
    "POST /exports": ("labeller", {"name": "x", "format": "alpaca"}),
    "POST /exports/count": ("labeller", {"format": "alpaca"}),
    "POST /findings/undo": ("labeller", {}),
    "POST /findings/{value_hash}/verdict": ("labeller", {"verdict": "dismissed"}),
    "POST /operations/doctor/unignore": ("admin", {"what": "main/x"}),
    "POST /operations/invitations": ("admin", {"role": "viewer"}),
    "POST /operations/retention/archive": ("admin", {"days": 400}),
    "POST /operations/retention/count": ("admin", {"days": 400}),
    "POST /operations/retention/remove": ("admin", {"days": 400}),
    "POST /operations/settings/import": ("admin", {"settings": {"memoryGate.windowSize": 3}}),
    "POST /operations/settings/{key}": ("admin", {"value": 3}),
    "POST /operations/tokens": ("viewer", {"name": "x", "role": "viewer"}),
    "POST /operations/users": ("admin", {"username": "new"}),
    "POST /operations/users/{username}/role": ("admin", {"role": "labeller"}),
    **{f"POST /problems/{{problem_id}}/{verb}": ("operator", {"reason": "x"}) for verb in VERBS},
    "POST /review/queues": ("operator", {"name": "x"}),
    "POST /review/queues/{queue_id}/adjudicate": ("labeller", {"sample_id": "x", "chosen": "x"}),
    "POST /review/queues/{queue_id}/verdict": ("labeller", {"sample_id": "x", "status": "approved"}),
    "POST /review/skip": ("labeller", {"sample_id": "x"}),
    "POST /review/verdict": ("labeller", {"sample_id": "x", "status": "approved"}),
    "POST /traces": ("labeller", {"format": "atif"}),
    "POST /samples/import": ("operator", {"name": "x", "format": "messages", "text": "x"}),
    "POST /samples/bulk": ("labeller", {"status": "approved", "expected_count": 1}),
    "POST /samples/{sample_id}/label": ("labeller", {"status": "approved"}),
}


def expected_roles(lowest):
    """Returns {role: whether it is allowed}, where `lowest` is the lowest allowed role."""
    return {role: lowest == ANYBODY or ROLES.index(role) >= ROLES.index(lowest) for role in ROLES}


@pytest.fixture(scope="module")
def people(django_db_setup, django_db_blocker):
    """A person of each role, and an admin whom no test removes."""
    with keep_rows(django_db_blocker):
        AgentFactory(agent_id="ada")
        UserFactory(username="somebody")
        UserFactory(username="root", role="admin")
        yield {role: UserFactory(username=role, role=role) for role in ROLES}


@pytest.fixture(scope="module")
def sign_ins(people):
    """The session cookie of a signed-in person of each role."""
    return {role: sign_in_browser(user).cookies[settings.SESSION_COOKIE_NAME].value for role, user in people.items()}


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
    """A browser of each role; the writes of a test are rolled back."""
    with roll_back_rows():
        yield {
            role: Client(headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={key}"}) for role, key in sign_ins.items()
        }


def sign_in_browser(user):
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def is_allowed(response):
    """Whether an answer is anything but a refusal because of the role."""
    assert response.status_code < 500 and response.status_code != 429, response.content[:500]
    sent_away = response.status_code == 302 and response["Location"].startswith("/sign-in/?next=")
    return response.status_code not in (401, 403) and not sent_away


def test_every_operation_is_in_a_table():
    assert dict(mounted_operations()).keys() == documented_operations().keys() == OPERATIONS.keys()


@pytest.mark.parametrize("route", APART)
def test_form_or_file(route, browsers):
    page, address = TABLE[route], page_address(route)
    assert is_allowed(send_request(Client(), page.method, address)) == (page.role == ANYBODY)
    answers = {role: is_allowed(send_request(browser, page.method, address)) for role, browser in browsers.items()}
    assert answers == expected_roles(page.role)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation(operation, browsers, bearers):
    (lowest, body), method, address = OPERATIONS[operation], operation.partition(" ")[0], api_address(operation)
    anonymous = send_request(Client(), method, address, body)
    assert (anonymous.status_code, set(anonymous.json())) == (401, {"detail", "code"})
    for role, browser in browsers.items():
        own, lent = (send_request(Client(), method, address, body, **headers) for headers in bearers[role])
        answers = {
            "session": send_request(browser, method, address, body),
            "own token": own,
            "an admin's token with this role": lent,
        }
        assert {key: is_allowed(answer) for key, answer in answers.items()} == dict.fromkeys(
            answers, expected_roles(lowest)[role]
        )
        assert all(answer.status_code == 403 for answer in answers.values() if not is_allowed(answer))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_role_that_is_too_low_hears_so_whatever_it_sends(operation, browsers):
    lowest, method, address = OPERATIONS[operation][0], operation.partition(" ")[0], api_address(operation)
    for role in [role for role, is_enough in expected_roles(lowest).items() if not is_enough]:
        for body in ({}, {"nothing": "like this"}):
            answer = send_request(browsers[role], method, f"{address}?no-such=parameter", body)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), (role, body)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_parameters_are_those_of_the_document(operation, browsers):
    described, (lowest, body) = documented_operations()[operation], OPERATIONS[operation]
    assert described["x-role"] == lowest
    method, address = operation.partition(" ")[0], api_address(operation)
    query = "&".join(f"{parameter['name']}=1" for parameter in described["parameters"] if parameter["in"] == "query")
    answer = send_request(browsers["admin"], method, f"{address}?{query}", body)
    assert "there is no such parameter" not in answer.content.decode()
    if method != "DELETE":
        answer = send_request(browsers["admin"], method, f"{address}?uses=bogus", body)
        assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["query", "uses"])


def test_a_token_opens_no_page(bearers, browsers):
    needing = {route: page.method for route, page in TABLE.items() if page.role != ANYBODY}
    headers = bearers["admin"][0]
    opened = {
        route
        for route, method in needing.items()
        if is_allowed(send_request(Client(), method, page_address(route), **headers))
    }
    assert opened == {"api:openapi-json"}  # it is no page: clients are generated from it


@pytest.mark.parametrize("address", [f"{ROOT}/", f"{ROOT}/nothing"])
def test_what_is_no_operation_is_not_there(address, browsers):
    assert Client().get(address).status_code == 404
    assert browsers["admin"].get(address).status_code == 404
