"""Every write and every page with content is in the audit log, with its actor.

A route that is in none of the tables fails a test, so that whoever adds a route decides about it.
"""

import pytest
from django.test import Client

from people.accounts import tokens
from people.audit.audited_routes import AUDITED_ROUTES
from people.models.bookkeeping import AuditEntry
from tests.conftest import ROLES
from tests.datasets.exports.export_helpers import FORM_FIELDS
from tests.factories import SampleFactory, SessionFactory, UserFactory
from tests.people import settings_page
from tests.people.site_surface import mounted_operations
from tests.whole.pages import GETS, POSTS

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"

# Every route that writes, with its action in the log. Pages and API call the same services.
WRITES = {
    "operations:artifact_store_clear": "artifact_gc_started",
    "collecting:collect_start": "collect_started",
    "datasets:export_create": "exported",
    "people:invitation_make": "invited",
    "people:invitation_revoke": "invitation_revoked",
    "people:password_change": "password_changed",
    "operations:retention_archive": "archive_started",
    "operations:retention_count": "retention_started",
    "operations:retention_remove": "retention_started",
    "people:sign_in_end": "sign_in_ended",
    "people:sign_ins_end_others": "sign_ins_ended",
    "people:settings_save": "setting_changed",
    "people:sign_out": "signed_out",
    "people:sign_out_everywhere": "sign_ins_ended",
    "people:token_make": "token_made",
    "people:token_revoke": "token_revoked",
    "people:user_activate": "activated",
    "people:user_add": "user_added",
    "people:user_deactivate": "deactivated",
    "people:user_link": "link_made",
    "people:user_role": "role_changed",
    "people:user_sign_out": "sign_ins_ended",
    "people:user_unlock": "unlocked",
}
# Routes that take a form and write nothing.
COUNTS = {"datasets:export_count", "gate:replay_plan", "guardian:rule_try"}
# Writes whose entries are checked by the tests of their own pages.
ELSEWHERE = {
    "artifacts": "artifact_remove artifact_verify",
    "collecting": "folder_import",
    "datasets": """
        decision_judge decisions_draw export_verify replay_queue review_discard review_draft review_keys_reset
        next_queue
        review_keys_save review_label review_reason review_skip review_undo sample_label samples_bulk_label samples_make
        write_judge write_opinion_save writes_queue finding_judge finding_undo findings_scan sample_finding
        dataset_create dataset_release version_verify version_check version_anew version_compare benchmark_add
        set_import_add export_again model_scores_run collection_start what_if_save approval_resume approval_undo
        queue_change queue_create queue_extend
    """,
    "episodes": "capture_set head_give_out policy_set redact_do retention_start verify_start",
    "gate": "own_gate_run own_gate_switch replay_continue replay_start",
    "guardian": """
        correct_save handover_check own_guardian_run own_guardian_switch proposal_approve proposal_decline
        proposal_hand_over rollback_do rollback_hand_over rollback_settle rule_switch session_rollback_do
        regression_start regression_store
    """,
    "jobs": "job_cancel",
    "operations": """
        backup_create backup_drill backup_verify checkpoint_make doctor_again doctor_compare doctor_fix doctor_look
        doctor_undo doctor_unignore notification_test remediation_run remediation_start
        trace_create
    """,
    "people": "language_set preferences_save rail_fold theme_set view_forget view_keep",
    "problems": "problem_close problem_mute problem_seen problem_unmute",
}
# Routes that show something that their address does not name: the view reports it to the log (`request.opened`).
SAY_THEMSELVES = {
    "api": """
        artifact_content artifact_fetch artifact_peek checkpoint_detail queue_conflicts queue_next review_next
        turn_context
    """,
    "artifacts": "artifact_detail artifact_download",
    "datasets": "review",
    "operations": "checkpoint_detail",
}
# Lists and sums, which show at most titles, states and beginnings of texts (docs/security.md).
NO_CONTENT = {
    "api": """
        agent_detail agent_list agent_savings artifact_list audit_list backup_list cron_list delivery_list
        doctor_ignored_list doctor_look_detail doctor_run_detail doctor_run_list doctor_source_list episode_head
        error_list
        episode_policy episode_scopes export_list file_list file_versions file_writes flow_list gate_call_list
        gate_plan gate_prompt_detail gate_replay_detail gate_replay_list gate_statistics guardian_chart guardian_plan
        guardian_proposal_list indexed_file_list invitation_list job_detail job_list me memory_list openapi-json
        openapi-view overview_agents overview_sums own_gate own_guardian problem_list removed_session_list
        retention_list review_progress session_list session_steps setting_list sign_in_list skipped_list subagent_list
        task_list token_list user_list vfs_entry_list finding_list finding_rules dataset_list dataset_detail
        version_detail member_list version_difference sample_uses benchmark_list dataset_statistics search
        chain reach remediation remediation_detail score_plan dataset_quality
        strategy_list run_list run_detail run_turns approval dataset_coverage
        queue_list queue_agreement dataset_quality_report
        trace_detail
    """,
    "artifacts": "artifact_list",
    "automation": "background_list cron_list subagent_list",
    "collecting": "folder_choose import_summary rejected_list skipped_list",
    "datasets": """
        decision_verdict decision_verdicts export_list replay_verdicts review_keys review_waiting sample_list
        samples_bulk session_samples write_verdict write_verdicts finding_lag finding_list finding_texts statistics
        dataset_list dataset_detail version_detail version_of member_list taint_list difference_list benchmark_list
        sample_uses write_uses model_scores collection_list collection_run collection_turns what_if turn_outcome
        dataset_coverage dataset_next set_import
        queue_agreement queue_detail queue_list score_evaluation
    """,
    "episodes": "event_list redaction_preview scope_list scope_retention scope_statistics",
    "gate": """
        call_list decision_list own_gate prompt_detail replay_detail replay_list replay_new session_decisions statistics
    """,
    "guardian": """
        audit_list blame chart decision_writes file_history file_list own_guardian proposal_list rule_new session_writes
        reach regression_list
    """,
    "jobs": "job_detail job_list job_notice",
    "ledger": "error_list event_list savings session_list step_detail stored_list turn_list",
    "operations": """
        artifact_store backup_list chain chain_find doctor remediation remediation_detail retention system system_needs
        trace_detail trace_export
    """,
    "overview": "agent_list healthz memory_list memory_list_before overview",
    "people": "account audit_list invitation_list join one_time_link settings sign_in token_list user_list",
    "search": "search",
}


def routes_of(table):
    """Returns the names of the routes of a table by app."""
    return {f"{app}:{name}" for app, names in table.items() for name in names.split()}


def entries(action):
    return list(AuditEntry.objects.filter(action=action).order_by("id"))


def read_last_entry(action):
    return AuditEntry.objects.filter(action=action).latest("id")


def sign_in(name="root", password=PASSWORD):
    client = Client()
    client.post("/sign-in/", {"username": name, "password": password})
    return client


@pytest.fixture
def root(admin):
    """An admin who signed in on the page."""
    return sign_in()


@pytest.fixture
def session(ada):
    return SessionFactory(id="s1")


def test_every_route_that_writes_is_in_a_table():
    unknown = set(POSTS) - WRITES.keys() - routes_of(ELSEWHERE) - COUNTS
    assert not unknown, "what does the log say of each?"


def test_every_route_that_reads_is_in_a_table():
    reading = GETS.keys() | {name for operation, name in mounted_operations() if operation.startswith("GET")}
    assert not AUDITED_ROUTES.keys() & routes_of(NO_CONTENT)
    unknown = reading - AUDITED_ROUTES.keys() - routes_of(NO_CONTENT) - routes_of(SAY_THEMSELVES)
    assert not unknown, "decide about each: does it show what somebody said?"


def writes(root, admin, stranger):
    """Yields every write in turn as (route, address, form)."""
    user_address, passwords = (
        "/operations/users/stranger",
        {"current": PASSWORD, "password": "quite a new one", "again": "quite a new one"},
    )
    yield "collecting:collect_start", "/operations/collect/", {}
    yield "operations:artifact_store_clear", "/operations/artifacts/clear/", {"older_than": "7d"}
    for name in ("archive", "count", "remove"):
        yield f"operations:retention_{name}", f"/operations/retention/{name}/", {"days": "9"}
    yield "people:invitation_make", "/operations/invitations/make/", {"role": "viewer", "days": "7"}
    invitation = read_last_entry("invited").object_id
    yield "people:invitation_revoke", f"/operations/invitations/{invitation}/revoke/", {}
    yield "people:settings_save", settings_page.SAVE, settings_page.read_form(root) | {"memoryGate.windowSize": "3"}
    yield "people:token_make", "/operations/tokens/make/", {"name": "x", "role": "viewer", "days": "30"}
    yield "people:token_revoke", f"/operations/tokens/{admin.tokens.get().id}/revoke/", {}
    yield "people:user_add", "/operations/users/add/", {"username": "lena", "role": "viewer"}
    yield "people:user_link", f"{user_address}/link/", {}
    yield "people:user_role", f"{user_address}/role/", {"role": "labeller"}
    for _ in range(5):
        sign_in("stranger", "wrong")
    yield "people:user_unlock", f"{user_address}/unlock/", {}
    sign_in("stranger")
    yield "people:user_sign_out", f"{user_address}/sign-out/", {}
    yield "people:user_deactivate", f"{user_address}/deactivate/", {}
    yield "people:user_activate", f"{user_address}/activate/", {}
    sign_in()
    yield "people:sign_ins_end_others", "/account/end-others/", {}
    sign_in()
    other = admin.sign_ins.filter(ended_at=None).latest("id").id
    yield "people:sign_in_end", f"/account/sign-ins/{other}/end/", {}
    yield "people:password_change", "/account/password/", passwords
    yield "people:sign_out_everywhere", "/account/sign-out-everywhere/", {}
    root.post("/sign-in/", {"username": "root", "password": "quite a new one"})
    yield "people:sign_out", "/sign-out/", {}


def test_every_write_leaves_an_entry(root, admin, stranger):
    written_routes = set()
    for route, address, data in writes(root, admin, stranger):
        before = len(entries(WRITES[route]))
        assert root.post(address, data).status_code in (200, 302), route
        new_entries = entries(WRITES[route])[before:]
        assert [(entry.actor, entry.via) for entry in new_entries] == [("root", "page")], route
        written_routes.add(route)
    assert written_routes == WRITES.keys() - {"datasets:export_create"}


def test_an_export_leaves_an_entry(root, ada):
    SampleFactory(annotation_status="approved")
    root.post("/exports/create/", FORM_FIELDS)
    assert [entry.actor for entry in entries("exported")] == ["root"]


def test_what_is_refused_leaves_none(root, admin):
    before = AuditEntry.objects.count()
    root.post("/operations/users/root/role/", {"role": "viewer"})
    root.post("/operations/users/add/", {"username": "root", "role": "viewer"})
    assert AuditEntry.objects.count() == before


class TestSigningIn:
    def test_it_works(self, root):
        entry = read_last_entry("signed_in")
        assert (entry.actor, entry.object_id, entry.detail_json) == ("root", "root", '{"how":"password"}')

    def test_failures_are_noted_once_a_minute(self, stranger, later):
        sign_in("stranger", "wrong")
        sign_in("stranger", "wrong")
        assert [(entry.actor, entry.object_id) for entry in entries("sign_in_failed")] == [("", "stranger")]
        later(seconds=61)
        sign_in("stranger", "wrong")
        assert len(entries("sign_in_failed")) == 2

    def test_what_was_typed_for_a_name_is_not_written_down(self, db):
        sign_in("my secret password", "x")
        assert entries("sign_in_failed")[0].object_id == ""
        assert "my secret password" not in str(AuditEntry.objects.values())

    def test_a_lockout_is_noted(self, stranger):
        for _ in range(7):
            sign_in("stranger", "wrong")
        assert [entry.object_id for entry in entries("locked_out")] == ["stranger"]


class TestReading:
    ADDRESS = "/agents/ada/sessions/s1/"

    def test_it_works(self, root, session):
        root.get(self.ADDRESS)
        entry = read_last_entry("read")
        columns = (entry.actor, entry.via, entry.object_type, entry.object_id, entry.agent_id)
        assert columns == ("root", "page", "session", "s1", "ada")

    def test_once_in_ten_minutes_for_each_person(self, root, session, stranger, later):
        for _ in range(3):
            root.get(self.ADDRESS)
            root.get(self.ADDRESS, {"turn": 1}, headers={"HX-Request": "true"})
        sign_in("stranger").get(self.ADDRESS)
        assert [entry.actor for entry in entries("read")] == ["root", "stranger"]
        later(seconds=601)
        root.get(self.ADDRESS)
        assert len(entries("read")) == 3

    def test_what_was_not_shown_was_not_read(self, root, ada):
        root.get(self.ADDRESS)
        Client().get(self.ADDRESS)
        root.head(self.ADDRESS)
        assert entries("read") == []

    def test_what_the_address_does_not_name(self, root, ada):
        SampleFactory(id="waiting", annotation_status="pending")
        assert root.get("/api/v1/review/next").status_code == 200
        assert (read_last_entry("read").object_type, read_last_entry("read").object_id) == ("sample", "waiting")

    def test_lists_are_not_recorded(self, root, session):
        root.get("/agents/")
        assert entries("read") == []

    def test_a_token_is_named(self, admin, session):
        token, text = tokens.make_token(admin, name="x", role="viewer")
        Client().get("/api/v1/agents/ada/sessions/s1/events", headers={"Authorization": f"Bearer {text}"})
        assert (read_last_entry("read").actor, read_last_entry("read").via) == ("root", f"token oc_{token.prefix}")

    def test_it_costs_one_query(self, root, session, django_assert_num_queries):
        root.get(self.ADDRESS)
        with django_assert_num_queries(5), django_assert_num_queries(3, using="agent_ada"):
            root.get(self.ADDRESS)  # queries: session, user, agent, agents to choose; and the last entry of the log


def test_every_role_is_recorded_alike(session):
    for role in ROLES:
        UserFactory(username=role, role=role)
        sign_in(role).get("/agents/ada/sessions/s1/")
    assert [entry.actor for entry in entries("read")] == list(ROLES)
