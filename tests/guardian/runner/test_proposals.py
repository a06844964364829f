"""Proposals that are approved or declined, and rolled back like any other write.

An approved proposal is written as it was previewed.
"""

import pytest

from guardian.models import GuardianStatus, RollbackIntent
from guardian.rollbacks import intent_store, recovery, rollback_plan, service, workspace_access
from guardian.rollbacks.apply import FileChanged
from guardian.rollbacks.intent_store import OwnWrite, Step
from guardian.runner import proposals
from guardian.services import read_version_bytes
from openclaw_web.errors import Refused

from .proposal_rows import DB, HELD, NEW, approve, audits, create_proposal, read, runs, write

pytestmark = pytest.mark.django_db


def test_it_works(ada, workspace, endpoint):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    assert proposals.read_counts() == {"ada": 1}
    result = approve(ada, proposal_run)
    assert (workspace / "USER.md").read_text() == NEW and len(list(workspace.iterdir())) == 1
    [audit] = audits()
    assert (result.audit_id, result.meanwhile) == (audit.id, [])
    assert (audit.status, audit.origin, audit.sources, audit.decision_id) == ("written", "own", 16, "d0")
    assert (audit.turn_id, audit.session_id, audit.session_key) == ("s0:u", "s0", runs()[0].session_key)
    assert (audit.llm_model, audit.agent_steps, audit.candidate_fact) == ("small", 2, "Likes tea.")
    assert audit.llm_latency_ms is not None and (audit.lines_added, audit.lines_removed) == (1, 0)
    assert (
        read_version_bytes(audit.before_snapshot) == HELD.encode()
        and read_version_bytes(audit.after_snapshot) == NEW.encode()
    )
    assert "+- Likes tea." in audit.diff
    [status] = GuardianStatus.objects.using(DB).all()
    assert (status.status, status.given_by) == ("written", "otto")
    [proposal_run] = runs()
    assert (proposal_run.state, proposal_run.audit_id, proposal_run.decided_by, proposal_run.after_zstd) == (
        "written",
        audit.id,
        "otto",
        None,
    )
    assert RollbackIntent.objects.using(DB).get().state == "done"
    assert proposals.read_counts() == {}


def test_a_write_of_ours_is_rolled_back(ada, workspace, endpoint):
    audit_id = approve(ada, create_proposal(ada, endpoint=endpoint)).audit_id
    seen = rollback_plan.plan_rollback(ada, audit_id).seen
    service.roll_back(ada, audit_id, service.RollbackRequest("otto", "no"), seen=seen)
    assert (workspace / "USER.md").read_text() == HELD
    assert [audit.origin for audit in audits()] == ["own", "rollback"]


def test_a_new_file(ada, workspace, endpoint):
    proposal_run = create_proposal(ada, write("# Tools\n", "TOOLS.md"), endpoint=endpoint, decision="UPDATE_TOOLS")
    approve(ada, proposal_run)
    assert (workspace / "TOOLS.md").read_text() == "# Tools\n"
    assert audits()[0].before_snapshot is None


def test_lines_that_came_meanwhile_stay(ada, workspace, endpoint):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    (workspace / "USER.md").write_text("# User\n\nNew here.\n\n- Lives in Bonn.\n")
    preview = proposals.preview(ada, proposal_run)
    assert preview.is_merged and not preview.conflicts
    approve(ada, proposal_run)
    assert (workspace / "USER.md").read_text() == "# User\n\nNew here.\n\n- Lives in Bonn.\n- Likes tea.\n"


def test_a_file_that_changed_since_the_preview_is_left_alone(ada, workspace, endpoint):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    seen = proposals.preview(ada, proposal_run).seen
    (workspace / "USER.md").write_text("other\n")
    with pytest.raises(FileChanged, match="new preview"):
        proposals.approve(ada, proposal_run.id, by="otto", seen=seen)
    assert (workspace / "USER.md").read_text() == "other\n" and runs()[0].state == "proposed"


def test_the_same_lines_changed_meanwhile(ada, workspace, endpoint):
    proposal_run = create_proposal(ada, read(), write("# User\n\n- Lives in Berlin.\n"), endpoint=endpoint)
    (workspace / "USER.md").write_text("# User\n\n- Lives in Cologne.\n")
    preview = proposals.preview(ada, proposal_run)
    assert [conflict.current for conflict in preview.conflicts] == [("- Lives in Cologne.\n",)]
    with pytest.raises(FileChanged, match="Out of date"):
        proposals.approve(ada, proposal_run.id, by="otto", seen=preview.seen)


def test_a_declined_proposal_is_a_refused_write(ada, workspace, endpoint):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    with pytest.raises(Refused, match="Say why"):
        proposals.decline(ada, proposal_run.id, by="otto", reason=" ")
    proposals.decline(ada, proposal_run.id, by="otto", reason="Too personal.")
    [audit] = audits()
    assert (audit.status, audit.reason, audit.origin) == ("refused", "Too personal.", "own")
    assert GuardianStatus.objects.using(DB).get().given_by == "otto"
    assert (runs()[0].state, proposals.read_counts()) == ("declined", {})
    for act in (
        lambda: approve(ada, proposal_run),
        lambda: proposals.decline(ada, proposal_run.id, by="otto", reason="again"),
    ):
        with pytest.raises(Refused, match="does not wait any more: declined"):
            act()
    assert (workspace / "USER.md").read_text() == HELD


def test_without_writes_into_workspaces_nothing_is_written(ada, workspace, endpoint, settings):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    settings.WORKSPACE_WRITES = False
    with pytest.raises(workspace_access.MayNotWrite, match="OPENCLAW_WEB_WORKSPACE_WRITES"):
        approve(ada, proposal_run)
    assert (workspace / "USER.md").read_text() == HELD
    assert proposals.preview(ada, proposal_run).change.added == 1  # for the patch


@pytest.mark.parametrize("is_exchanged", [True, False])
def test_a_write_that_was_killed_is_finished_or_undone(ada, workspace, endpoint, is_exchanged):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    own = OwnWrite(proposal_run.id, {"candidate_fact": "Likes tea.", "decision_id": "d0"})
    step = Step("USER.md", HELD.encode(), NEW.encode(), (), (), own)
    [intent] = intent_store.store_intents(DB, workspace, [step], "otto", "")
    (workspace / intent.draft_name).write_bytes(HELD.encode() if is_exchanged else NEW.encode())
    if is_exchanged:
        (workspace / "USER.md").write_bytes(NEW.encode())
    recovery.recover(ada)
    assert len(list(workspace.iterdir())) == 1
    assert (workspace / "USER.md").read_text() == (NEW if is_exchanged else HELD)
    assert [audit.origin for audit in audits()] == (["own"] if is_exchanged else [])
    assert runs()[0].state == ("written" if is_exchanged else "proposed")
    if not is_exchanged:
        approve(ada, proposal_run)
        assert (workspace / "USER.md").read_text() == NEW
