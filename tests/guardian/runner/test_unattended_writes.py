"""Unattended writing: only where an admin turned it on, and within limits.

What the limits refuse waits as a proposal.
"""

import pytest

from agents.runners import switches
from guardian.models import BehaviorCorrection
from guardian.runner import job, unattended_writes
from guardian.runner.llm.config import RUNNER
from jobs import automatic_tasks
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from people.models import AuditEntry
from tests.guardian.write_rows import create_write
from tests.llm_endpoint import fails

from .proposal_rows import DB, HELD, NEW, audits, create_decision, read, refuse, run, runs, write, writes

pytestmark = pytest.mark.django_db


@pytest.fixture
def on(ada, workspace, endpoint):
    """USER.md of ada is written unattended."""
    unattended_writes.turn_on(ada, "USER.md", by="root")


def new(number=0, **more):
    """A decision of this moment."""
    return create_decision(number, **({"created_at": clock.now_ms()} | more))


def go():
    return job.NEW_FACTS_JOB.run({}, Progress())


def test_it_works(ada, on, workspace, endpoint):
    new()
    assert job.NEW_FACTS_JOB.schedule.is_possible()
    assert go()["message"] == "ada: 1 fact handled. 1 change was written."
    assert (workspace / "USER.md").read_text() == NEW
    [audit] = audits()
    assert (audit.status, audit.origin, audit.agent_steps, audit.decision_id) == ("written", "own", 2, "d0")
    assert (runs()[0].decided_by, runs()[0].started_by, runs()[0].note) == ("guardian", "schedule", "")
    assert not job.NEW_FACTS_JOB.schedule.is_possible()


def test_what_was_written_is_in_the_audit_log(ada, on, workspace, endpoint, as_admin):
    new()
    go()
    entry = AuditEntry.objects.get(action="proposal_written")
    assert (entry.actor, entry.via, entry.object_id, entry.agent_id) == ("guardian", "job", runs()[0].id, "ada")
    assert "wrote unattended" in as_admin.get("/operations/audit/").content.decode()
    endpoint.then(*writes(NEW + "- 1\n" * 21))
    new(2)
    go()
    assert (runs()[-1].state, AuditEntry.objects.filter(action="proposal_written").count()) == ("proposed", 1)


@pytest.mark.parametrize("names", [[], ["mallory"]])
def test_a_file_that_nobody_may_touch_holds_up_nothing_else(ada, on, workspace, endpoint, tmp_path, names):
    unattended_writes.turn_on(ada, "TOOLS.md", by="root")
    configuration.put("collector.optedOutSenders", names)
    (workspace / "USER.md").rename(tmp_path / "elsewhere")
    (workspace / "USER.md").symlink_to(tmp_path / "elsewhere")
    new()
    assert not job.NEW_FACTS_JOB.schedule.is_possible()
    assert "guardian_new_facts" not in [started.kind for started in automatic_tasks.start_due()]
    assert (go()["agents"], endpoint.requests) == ([], [])
    configuration.put("collector.optedOutSenders", [])
    endpoint.then(*writes("- Likes tea.\n", "TOOLS.md"))
    new(2, decision="UPDATE_TOOLS")
    assert job.NEW_FACTS_JOB.schedule.is_possible()
    go()
    assert [(guardian_run.target_file, guardian_run.state) for guardian_run in runs()] == [("TOOLS.md", "written")]


def test_only_new_facts_for_files_that_are_on(ada, on, workspace, endpoint):
    create_decision(1)  # before the switch
    new(2, decision="UPDATE_MEMORY")
    assert not job.NEW_FACTS_JOB.schedule.is_possible()
    assert go()["agents"] == []
    assert not endpoint.requests


def test_a_run_by_hand_only_proposes(ada, on, workspace, endpoint):
    new()
    run(ada)
    assert (runs()[0].state, (workspace / "USER.md").read_text()) == ("proposed", HELD)


@pytest.mark.parametrize("name", ["SOUL.md", "IDENTITY.md", "AGENTS.md", "../USER.md"])
def test_what_is_never_written_unattended(ada, workspace, endpoint, name):
    with pytest.raises(Refused, match="never written unattended"):
        unattended_writes.turn_on(ada, name, by="root")
    assert switches.read_all_switches(RUNNER) == {}


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        ([f"- {number}" for number in range(21)], "More than 20 added lines."),
        (["- api_key: x"], "The added lines may hold a secret."),
        (["- AKIAZ7QX3B9KLM2NP4RT"], "The added lines may hold a secret."),
        (["- tea\u200b"], "characters that are not seen"),
        (["- \u202eaet"], "characters that are not seen"),
        (["- \u2066tea\u2069"], "characters that are not seen"),
        (["- te\U000e0061a"], "characters that are not seen"),
        (["- te\u3164a"], "characters that are not seen"),
        (["- te\u200da"], "characters that are not seen"),
        (["- te\u180ba"], "characters that are not seen"),
        (["- te\u180fa"], "characters that are not seen"),
        (["- green\u2003tea"], "characters that are not seen"),
        (["- green\u202ftea"], "characters that are not seen"),
    ],
)
def test_what_the_limits_refuse_is_a_proposal(ada, on, workspace, endpoint, lines, note):
    endpoint.then(*writes(HELD + "\n".join(lines) + "\n"))
    new()
    assert "1 proposal waits for review." in go()["message"]
    assert note in runs()[0].note
    assert (runs()[0].state, (workspace / "USER.md").read_text(), audits()) == ("proposed", HELD, [])


def test_too_many_removed_lines(ada, on, workspace, endpoint):
    (workspace / "USER.md").write_text("".join(f"- {number}\n" for number in range(9)))
    endpoint.then(*writes("- 0\n- 1\n- 2\n"))
    new()
    go()
    assert runs()[0].note == "More than 5 removed lines."


def test_words_that_were_there_are_not_looked_at(ada, on, workspace, endpoint):
    (workspace / "USER.md").write_text(HELD + "- password\u200b\n")
    endpoint.then(*writes(HELD + "- password\u200b\n- Likes tea.\n"))
    new()
    go()
    assert runs()[0].state == "written"


def test_so_many_writes_a_day(ada, on, workspace, endpoint, later):
    configuration.put("writeGuardian.unattendedWritesPerDay", 1)
    for number in (1, 2):
        endpoint.then(*writes(HELD + f"- {number}\n"))
        new(number)
        go()
    assert [(guardian_run.state, guardian_run.note) for guardian_run in runs()] == [
        ("written", ""),
        ("proposed", "The limit of unattended writes of today is reached."),
    ]


@pytest.mark.parametrize("origin", ["recorded", "imported"])
def test_while_the_plugin_writes_nothing_is_written(ada, on, workspace, endpoint, origin):
    create_write(DB, 1, None, b"x\n", target_file="TOOLS.md", origin=origin)
    (row,) = audits()
    type(row).objects.using(DB).filter(id=row.id).update(created_at=clock.now_ms() - 6 * 86_400_000)
    new()
    go()
    assert runs()[0].note == "The plugin wrote here in the last 7 days."
    type(row).objects.using(DB).filter(id=row.id).update(created_at=clock.now_ms() - 8 * 86_400_000)
    endpoint.then(*writes())
    new(2)
    go()
    assert runs()[-1].state == "written"


def test_a_write_of_the_plugin_that_was_rolled_back_counts(ada, on, workspace, endpoint):
    row = create_write(DB, 1, None, b"x\n", target_file="TOOLS.md", status="rolled_back")
    type(row).objects.using(DB).filter(id=row.id).update(created_at=clock.now_ms())
    new()
    go()
    assert runs()[0].note == "The plugin wrote here in the last 7 days."


def test_another_endpoint_needs_another_yes(ada, on, workspace, endpoint, settings):
    settings.LLM_API_URL = endpoint.url.replace("127.0.0.1", "localhost")
    new()
    go()
    assert "The endpoint is another one" in runs()[0].note
    assert unattended_writes.turn_on(ada, "USER.md", by="ruth").host.startswith("localhost")


def test_without_writes_into_workspaces(ada, on, workspace, endpoint, settings):
    settings.WORKSPACE_WRITES = False
    new()
    go()
    assert runs()[0].note == "This site does not write into workspaces."


def test_an_endpoint_that_is_down_is_left_alone_for_a_while(ada, on, workspace, endpoint):
    endpoint.then(fails(500))
    new()
    with pytest.raises(Refused, match="Stopped after 1 fact"):
        go()
    for _number in range(2):
        with pytest.raises(Refused):
            go()
    assert not job.NEW_FACTS_JOB.schedule.is_possible()  # three runs in vain
    endpoint.then(*writes())
    assert "1 proposal waits" in run(ada).message  # by hand


def rule(**columns):
    create_write(DB, 7, None, b"x\n")
    defaults = {"id": "rule", "original_status": "written", "corrected_status": "refused", "corrected_by": "otto",
            "correction_reason": "Never drinks.", "apply_to_future": True, "correction_pattern": "tea",
            "corrected_at": 1}  # fmt: skip
    BehaviorCorrection.objects.using(DB).create(audit_id="w7", **(defaults | columns))


def test_a_rule_refuses_before_anything_is_sent(ada, on, workspace, endpoint):
    rule()
    new()
    run(ada)
    audit = audits()[-1]
    assert (audit.status, audit.rule_id, audit.reason, audit.llm_model) == ("refused", "rule", "Never drinks.", None)
    assert not endpoint.requests


def test_a_rule_changes_fact_and_file(ada, on, workspace, endpoint):
    rule(corrected_status="written", original_candidate_fact="Tea.", corrected_candidate_fact="Likes green tea.",
         original_target_file="USER.md", corrected_target_file="TOOLS.md")  # fmt: skip
    endpoint.then(write("- green tea\n", "TOOLS.md"))
    new()
    run(ada)
    [guardian_run] = runs()
    assert (guardian_run.candidate_fact, guardian_run.target_file, guardian_run.rule_id) == (
        "Likes green tea.",
        "TOOLS.md",
        "rule",
    )
    assert endpoint.requests[0].words == '{"candidateFact":"Likes green tea.","targetFile":"TOOLS.md"}'


def test_a_rule_that_leads_to_a_soul_is_a_proposal(ada, on, workspace, endpoint):
    rule(corrected_status="written", original_target_file="USER.md", corrected_target_file="SOUL.md")
    endpoint.then(write("# Soul\n", "SOUL.md"))
    new()
    go()
    assert (runs()[0].state, runs()[0].note) == ("proposed", "SOUL.md is never written unattended.")


def test_a_refusal_is_no_proposal(ada, on, workspace, endpoint):
    endpoint.then(read(), refuse())
    new()
    assert go()["message"] == "ada: 1 fact handled. 1 fact was refused."
