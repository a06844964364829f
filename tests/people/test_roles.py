"""Who may do what, decided by hand in tables: every page and operation, for nobody, each role and its tokens."""

import pytest
from django.test import Client
from django.urls import get_resolver

from people.accounts import tokens
from tests.conftest import ROLES
from tests.factories import UserFactory
from tests.people import roles_of_writes
from tests.people.surface import ROOT, ROUTES, api_address, ask, documented, mounted, page_address, routes

pytestmark = pytest.mark.django_db
ANYBODY = "anybody"

# Name of the route: the method that is tried, and the lowest role that may.
VERBS = ("close", "mute", "seen", "unmute")  # of problems
PAGES = {
    "api:openapi-json": ("GET", "viewer"),
    "api:openapi-view": ("GET", "viewer"),
    "artifacts:artifact_detail": ("GET", "viewer"),
    "artifacts:artifact_download": ("GET", "viewer"),
    "artifacts:artifact_list": ("GET", "viewer"),
    "artifacts:artifact_remove": ("POST", "admin"),
    "artifacts:artifact_verify": ("POST", "admin"),
    "datasets:decision_judge": ("POST", "labeller"),
    **dict.fromkeys(("datasets:decision_verdict", "datasets:decision_verdicts"), ("GET", "viewer")),
    "datasets:decisions_draw": ("POST", "labeller"),
    "datasets:replay_queue": ("POST", "labeller"),
    "datasets:replay_verdicts": ("GET", "viewer"),
    "datasets:review": ("GET", "labeller"),
    **dict.fromkeys(("datasets:review_discard", "datasets:review_draft"), ("POST", "labeller")),
    "datasets:review_keys": ("GET", "labeller"),
    "datasets:review_keys_reset": ("POST", "labeller"),
    "datasets:review_keys_save": ("POST", "labeller"),
    **dict.fromkeys(("datasets:review_label", "datasets:review_reason"), ("POST", "labeller")),
    **dict.fromkeys(("datasets:review_skip", "datasets:review_undo"), ("POST", "labeller")),
    "datasets:review_waiting": ("GET", "labeller"),
    "datasets:sample_detail": ("GET", "viewer"),
    "datasets:sample_label": ("POST", "labeller"),
    "datasets:sample_list": ("GET", "viewer"),
    "datasets:samples_bulk": ("GET", "labeller"),
    **dict.fromkeys(("datasets:samples_bulk_label", "datasets:samples_make"), ("POST", "labeller")),
    "datasets:session_samples": ("GET", "viewer"),
    "datasets:write_judge": ("POST", "labeller"),
    **dict.fromkeys(("datasets:write_verdict", "datasets:write_verdicts"), ("GET", "viewer")),
    "datasets:writes_queue": ("POST", "labeller"),
    "gate:call_detail": ("GET", "viewer"),
    "gate:call_list": ("GET", "viewer"),
    "gate:decision_detail": ("GET", "viewer"),
    "gate:decision_list": ("GET", "viewer"),
    "gate:own_gate": ("GET", "viewer"),
    "gate:own_gate_run": ("POST", "operator"),
    "gate:own_gate_switch": ("POST", "admin"),
    "gate:prompt_detail": ("GET", "viewer"),
    "gate:replay_continue": ("POST", "operator"),
    "gate:replay_detail": ("GET", "viewer"),
    "gate:replay_list": ("GET", "viewer"),
    "gate:replay_new": ("GET", "operator"),
    "gate:replay_plan": ("POST", "operator"),
    "gate:replay_start": ("POST", "operator"),
    "gate:session_decisions": ("GET", "viewer"),
    "gate:statistics": ("GET", "viewer"),
    "guardian:file_detail": ("GET", "viewer"),
    "guardian:file_list": ("GET", "viewer"),
    "ledger:record_detail": ("GET", "viewer"),
    "ledger:savings": ("GET", "viewer"),
    "ledger:session_branches": ("GET", "viewer"),
    "ledger:session_detail": ("GET", "viewer"),
    "ledger:session_list": ("GET", "viewer"),
    "ledger:session_live": ("GET", "viewer"),
    "ledger:session_savings": ("GET", "viewer"),
    "ledger:session_steps": ("GET", "viewer"),
    "ledger:session_turns": ("GET", "viewer"),
    "ledger:step_detail": ("GET", "viewer"),
    "ledger:event_list": ("GET", "viewer"),
    "ledger:turn_list": ("GET", "viewer"),
    "people:account": ("GET", "viewer"),
    "overview:agent_list": ("GET", "viewer"),
    "operations:artifact_store": ("GET", "admin"),
    "operations:artifact_store_clear": ("POST", "admin"),
    "people:audit_list": ("GET", "admin"),
    "operations:checkpoint_detail": ("GET", "viewer"),
    "operations:checkpoint_make": ("POST", "labeller"),
    **{f"operations:backup_{verb}": ("POST", "admin") for verb in ("create", "drill", "verify")},
    "operations:backup_file": ("GET", "admin"),
    "operations:backup_list": ("GET", "operator"),
    "collecting:collect_start": ("POST", "operator"),
    "automation:cron_detail": ("GET", "viewer"),
    "automation:cron_list": ("GET", "viewer"),
    "operations:doctor": ("GET", "operator"),
    "operations:doctor_again": ("POST", "admin"),
    "operations:doctor_compare": ("POST", "admin"),
    "operations:doctor_fix": ("POST", "admin"),
    "operations:doctor_look": ("POST", "operator"),
    "operations:doctor_undo": ("POST", "admin"),
    "operations:doctor_unignore": ("POST", "admin"),
    "datasets:export_count": ("POST", "labeller"),
    "datasets:export_create": ("POST", "labeller"),
    "datasets:export_detail": ("GET", "viewer"),
    "datasets:export_file": ("GET", "viewer"),
    "datasets:export_list": ("GET", "viewer"),
    "datasets:export_verify": ("POST", "labeller"),
    "datasets:export_zip": ("GET", "viewer"),
    "overview:healthz": ("GET", ANYBODY),
    "people:invitation_list": ("GET", "admin"),
    "people:invitation_make": ("POST", "admin"),
    "people:invitation_revoke": ("POST", "admin"),
    "jobs:job_cancel": ("POST", "labeller"),
    "jobs:job_detail": ("GET", "viewer"),
    "jobs:job_notice": ("GET", "viewer"),
    "jobs:job_list": ("GET", "viewer"),
    "people:join": ("GET", ANYBODY),
    "operations:lint_list": ("GET", "viewer"),
    "people:language_set": ("POST", ANYBODY),
    "people:one_time_link": ("GET", ANYBODY),
    "overview:overview": ("GET", "viewer"),
    "people:password_change": ("POST", "viewer"),
    "collecting:rejected_list": ("GET", "viewer"),
    "collecting:skipped_list": ("GET", "viewer"),
    "people:rail_fold": ("POST", "viewer"),
    **{f"problems:problem_{verb}": ("POST", "operator") for verb in VERBS},
    **dict.fromkeys(("operations:system", "operations:system_needs"), ("GET", "operator")),
    "operations:retention": ("GET", "admin"),
    **{f"operations:retention_{name}": ("POST", "admin") for name in ("archive", "count", "remove")},
    "people:preferences_save": ("POST", "viewer"),
    "people:settings_save": ("POST", "admin"),
    "people:settings": ("GET", "admin"),
    "people:sign_in": ("GET", ANYBODY),
    "people:sign_in_end": ("POST", "viewer"),
    "people:sign_ins_end_others": ("POST", "viewer"),
    "people:sign_out": ("POST", "viewer"),
    "people:sign_out_everywhere": ("POST", "viewer"),
    "automation:background_list": ("GET", "viewer"),
    "ledger:stored_list": ("GET", "viewer"),
    "automation:subagent_list": ("GET", "viewer"),
    "people:theme_set": ("POST", ANYBODY),
    "people:token_list": ("GET", "viewer"),
    "people:token_make": ("POST", "viewer"),
    "people:token_revoke": ("POST", "viewer"),
    "people:view_forget": ("POST", "viewer"),
    "people:view_keep": ("POST", "viewer"),
    "people:user_activate": ("POST", "admin"),
    "people:user_add": ("POST", "admin"),
    "people:user_deactivate": ("POST", "admin"),
    "people:user_link": ("POST", "admin"),
    "people:user_list": ("GET", "admin"),
    "people:user_role": ("POST", "admin"),
    "people:user_sign_out": ("POST", "admin"),
    "people:user_unlock": ("POST", "admin"),
}

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
}
PAGES |= roles_of_writes.PAGES
OPERATIONS |= roles_of_writes.OPERATIONS
# Addresses under the API that are no operation: both answer 404 to everybody.
NO_OPERATIONS = {"api:api-root", "api:None"}


def expected(lowest):
    """Which roles may, as {role: True or False}."""
    return {role: lowest == ANYBODY or ROLES.index(role) >= ROLES.index(lowest) for role in ROLES}


@pytest.fixture
def people(ada):
    """A person of each role, and an admin who stays whatever a test does."""
    UserFactory(username="somebody")
    UserFactory(username="root", role="admin")
    return {role: UserFactory(username=role, role=role) for role in ROLES}


def browser_of(user):
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def may(response):
    """Whether an answer is anything but “not you”."""
    assert response.status_code < 500, response.content[:500]
    sent_away = response.status_code == 302 and response["Location"].startswith("/sign-in/?next=")
    return response.status_code not in (401, 403) and not sent_away


def test_every_route_is_in_a_table():
    names = [name for name, _entry in routes(get_resolver()) if not name.startswith("api:")]
    assert len(names) == len(set(names))
    assert ROUTES.keys() - dict(mounted()).values() - NO_OPERATIONS == PAGES.keys()


def test_every_operation_is_in_a_table():
    assert dict(mounted()).keys() == documented().keys() == OPERATIONS.keys()


@pytest.mark.parametrize("name", PAGES)
def test_page(name, people):
    method, lowest = PAGES[name]
    address = page_address(name)
    assert may(ask(Client(), method, address)) == (lowest == ANYBODY)
    answers = {role: may(ask(browser_of(user), method, address)) for role, user in people.items()}
    assert answers == expected(lowest)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation(operation, people):
    (lowest, body), method, address = OPERATIONS[operation], operation.partition(" ")[0], api_address(operation)
    anonymous = ask(Client(), method, address, body)
    assert (anonymous.status_code, set(anonymous.json())) == (401, {"detail", "code"})
    for role, user in people.items():
        _, own = tokens.make_token(user, name="own", role=role)
        _, lent = tokens.make_token(people["admin"], name="lent", role=role)
        answers = {
            "session": ask(browser_of(user), method, address, body),
            "own token": ask(Client(), method, address, body, Authorization=f"Bearer {own}"),
            "an admin's token with this role": ask(Client(), method, address, body, Authorization=f"Bearer {lent}"),
        }
        assert {key: may(answer) for key, answer in answers.items()} == dict.fromkeys(answers, expected(lowest)[role])
        assert all(answer.status_code == 403 for answer in answers.values() if not may(answer))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_role_that_is_too_low_hears_so_whatever_it_sends(operation, people):
    lowest, method, address = OPERATIONS[operation][0], operation.partition(" ")[0], api_address(operation)
    for role in [role for role, is_enough in expected(lowest).items() if not is_enough]:
        for body in ({}, {"nothing": "like this"}):
            answer = ask(browser_of(people[role]), method, f"{address}?no-such=parameter", body)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), (role, body)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if not name.startswith("DELETE")])
def test_a_parameter_that_there_is_not_is_named(operation, people):
    (_lowest, body), method, address = OPERATIONS[operation], operation.partition(" ")[0], api_address(operation)
    answer = ask(browser_of(people["admin"]), method, f"{address}?uses=bogus", body)
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["query", "uses"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_parameter_of_the_document_is_known(operation, people):
    names = [one["name"] for one in documented()[operation]["parameters"] if one["in"] == "query"]
    query = "&".join(f"{name}=1" for name in names)
    method, address = operation.partition(" ")[0], api_address(operation)
    answer = ask(browser_of(people["admin"]), method, f"{address}?{query}", OPERATIONS[operation][1])
    assert "there is no such parameter" not in answer.content.decode()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_document_names_the_role(operation):
    assert documented()[operation]["x-role"] == OPERATIONS[operation][0]


def test_a_token_opens_no_page(people):
    _, text = tokens.make_token(people["admin"], name="x", role="admin")
    headers = {"Authorization": f"Bearer {text}"}
    opened = {
        name
        for name, (method, lowest) in PAGES.items()
        if lowest != ANYBODY and may(ask(Client(), method, page_address(name), **headers))
    }
    assert opened == {"api:openapi-json"}  # no page: what a client is generated from


@pytest.mark.parametrize("address", [f"{ROOT}/", f"{ROOT}/nothing"])
def test_what_is_no_operation_is_not_there(address, people):
    assert Client().get(address).status_code == 404
    assert browser_of(people["admin"]).get(address).status_code == 404
