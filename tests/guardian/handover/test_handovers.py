"""A change handed to the agent is done only when file and record agree.

The command is started as it is documented, and every other outcome is shown as it is.
"""

import io
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from guardian.handover import external_command, group_watch, handovers, job, outcomes
from guardian.models import GuardianStatus, Handover, WriteGuardianAudit
from guardian.rollbacks import rollback_plan
from guardian.rollbacks import service as performing
from guardian.rollbacks.apply import FileChanged
from guardian.rollbacks.service import RollbackRequest
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import CancelledJob, Progress, Terminal, open_listener
from openclaw_web.errors import Refused
from operations.models import Remediation, RemediationStep
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.factories import SessionFactory, TurnFactory
from tests.processes import wait_for

from .handover_rows import (
    AFTER,
    BEFORE,
    DB,
    NAME,
    create_recorded_write,
    get_write,
    hand_over,
    list_rollbacks,
    parse_data,
    read_file,
    run_handover,
)

pytestmark = pytest.mark.django_db


def test_a_plan_for_a_message_hands_its_lines_over(ada, home, command, as_operator):
    create_recorded_write(home)
    WriteGuardianAudit.objects.using(DB).update(turn_id="s1:u1")
    TurnFactory(session=SessionFactory(id="s1"), turn_number=1)
    page = as_operator.get("/agents/ada/remediation/of/s1:u1/").content.decode()
    assert "which cannot be undone from here" in page and not command.starts
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    as_operator.post("/agents/ada/remediation/start/s1:u1/", {"reason": "Not true.", "seen": seen})
    for _time in range(2):
        assert jobs.run_started(JobRun.objects.get(state="queued", kind="remediation")).state == "finished"
        plan = Remediation.objects.get().get_absolute_url()
        assert read_file(home) == BEFORE and get_write().status == "rolled_back"
        assert "have the agent put the lines back" in as_operator.get(plan).content.decode()
        as_operator.post(f"{plan}run/", {"undo": "1"})  # there is no button: it is refused, and says so
    assert RemediationStep.objects.get().state == "done" and len(command.starts) == 1


def test_an_agent_that_obeys(ada, home, command, monkeypatch):
    monkeypatch.setenv("OPENCLAW_GATEWAY_TOKEN", "a secret")
    monkeypatch.setenv("SECRET_KEY", "another")
    create_recorded_write(home)
    row, ended = hand_over(ada)
    assert (row.state, row.outcome, row.answer, ended.state) == ("ended", "done", "Done.", "finished")
    assert read_file(home) == BEFORE and get_write().status == "rolled_back"
    (rollback,) = list_rollbacks()
    own = get_write(row.own_audit_id)
    assert (rollback.audit_id, rollback.own_audit_id, rollback.way, rollback.effect) == ("w1", own.id, "exact", "")
    assert rollback.restored_snapshot_id == get_write().before_snapshot_id and rollback.reason == "Not true."
    assert (own.origin, own.sources, own.lines_removed, own.reason) == ("rollback", 16, 1, "Not true.")
    assert not WriteGuardianAudit.objects.using(DB).filter(origin="unattributed").exists()
    assert (row.before_zstd, row.wanted_zstd) == (None, None)
    statuses = [
        status_row.status
        for status_row in GuardianStatus.objects.using(DB).filter(audit__in=["w1", own.id]).order_by("id")
    ]
    assert statuses == ["written", "written", "rolled_back"]
    assert {"change_handed_over", "handover_done"} <= set(AuditEntry.objects.values_list("action", flat=True))

    (start,) = command.starts
    argv = start["argv"]
    assert argv[:5] == ["agent", "--agent", "ada", "--session-key", "agent:ada:openclaw-web"]
    assert argv[5] == "--message-file" and argv[7:] == ["--json", "--timeout", "300"]
    assert start["mode"] == "0o600" and not os.path.exists(argv[6])
    assert not any("coal" in word or "four" in word for word in argv)
    assert set(start["environment"]) <= {*external_command.PASSED_ON, "OPENCLAW_STATE_DIR", "LC_CTYPE"}
    assert start["environment"]["OPENCLAW_STATE_DIR"] == str(home.root)
    assert start["message"].startswith("[OpenClaw Web task] ")
    assert parse_data(start["message"])["file"] == NAME


@pytest.mark.parametrize(
    ("does", "outcome", "sentence"),
    [
        ("other", "other", "other content"),
        ("untrusted", "untrusted", "leaves it out"),
        ("shell", "unrecorded", "does not name it"),
        ("nothing", "unchanged", "is as it was"),
        ("fails", "failed", "command of OpenClaw failed"),
    ],
)
def test_whatever_else_happens_is_told_as_it_is(ada, home, command, does, outcome, sentence):
    create_recorded_write(home)
    command.does(does)
    row, ended = hand_over(ada)
    now = read_file(home)
    assert (row.outcome, ended.state) == (outcome, "finished")
    assert sentence in outcomes.sentence_of(row) and sentence in ended.message
    is_there = does in ("untrusted", "shell")  # the file holds what was asked for
    assert get_write().status == ("rolled_back" if is_there else "written") and len(list_rollbacks()) == is_there
    assert now == {"other": BEFORE + b"And more.\n", "nothing": AFTER, "fails": AFTER}.get(does, BEFORE)
    assert does != "fails" or "gateway is not there" in row.answer


def test_one_that_is_slow_may_still_finish_and_is_recorded_then(ada, home, command, monkeypatch):
    create_recorded_write(home)
    command.does("deaf", pause=600)
    monkeypatch.setattr(job, "LATE", -299)
    monkeypatch.setattr(external_command, "GRACE", 0.1)
    row, _job = hand_over(ada)
    assert row.outcome == "timed_out" and "may still" in outcomes.sentence_of(row) and read_file(home) == AFTER
    wait_for(lambda: not os.path.exists(f"/proc/{command.starts[0]['pid']}"))
    assert outcomes.check_again(ada, row, by="otto").outcome == "timed_out"
    home.file(NAME, BEFORE, "ada")
    home.record(NAME, BEFORE, agent="ada", session="openclaw-web")
    assert outcomes.check_again(ada, row, by="otto").outcome == "done"
    assert get_write().status == "rolled_back" and len(list_rollbacks()) == 1
    with pytest.raises(Refused, match="nothing to check"):
        outcomes.check_again(ada, row, by="otto")


def test_an_import_records_what_the_agent_did_later(ada, home, command):
    create_recorded_write(home)
    command.does("fails")
    row, _job = hand_over(ada)
    assert outcomes.store_late_changes(ada) == 0
    home.file(NAME, BEFORE, "ada")
    assert (outcomes.store_late_changes(ada), outcomes.store_late_changes(ada)) == (1, 0)
    assert handovers.find(DB, row.id).outcome == "unrecorded" and get_write().status == "rolled_back"
    home.record(NAME, BEFORE, agent="ada", session="openclaw-web")
    assert (outcomes.store_late_changes(ada), outcomes.store_late_changes(ada)) == (1, 0)
    assert handovers.find(DB, row.id).outcome == "done" and len(list_rollbacks()) == 1
    assert get_write().status == "rolled_back" and get_write(row.own_audit_id).origin == "rollback"


def test_a_job_that_is_canceled_ends_the_command(ada, home, command):
    create_recorded_write(home)
    command.does("slow", pause=600)

    seen = rollback_plan.plan_rollback(ada, "w1").seen
    row = handovers.hand_over_rollback(ada, "w1", RollbackRequest("otto", "Not true."), seen=seen)
    progress = Progress(lambda *progress_values: setattr(progress, "is_cancelled", bool(command.starts)))
    with pytest.raises(CancelledJob):
        job.run(handovers.build_params(ada, row), progress)
    row = Handover.objects.using(DB).get(id=row.id)
    assert row.outcome == "canceled" and "may still" in outcomes.sentence_of(row) and read_file(home) == AFTER
    assert not list((django_settings.HOME_DIR / "state").glob("handover-*.txt"))
    wait_for(lambda: not os.path.exists(f"/proc/{command.starts[0]['pid']}"))


def is_gone(pid):
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_what_the_command_leaves_running_ends_with_it(ada, home, command, monkeypatch):
    create_recorded_write(home)
    command.does("leaves")
    monkeypatch.setattr(external_command, "GRACE", 0.3)
    assert hand_over(ada)[0].outcome == "unchanged"
    wait_for(lambda: is_gone(command.starts[1]["pid"]))


def test_the_group_ends_when_this_site_is_killed(tmp_path, command):
    command.does("leaves", pause=600)
    (tmp_path / "message").write_text("")
    arguments = [
        "-I",
        "-S",
        group_watch.__file__,
        "0.3",
        str(command.path),
        "--message-file",
        str(tmp_path / "message"),
    ]
    site = "import subprocess, sys; subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE).wait()"
    process = subprocess.Popen([sys.executable, "-c", site, *arguments])
    wait_for(lambda: len(command.starts) == 2)
    process.kill()
    process.wait()
    wait_for(lambda: all(is_gone(start["pid"]) for start in command.starts))


def test_a_pipe_gets_one_line_for_the_whole_wait(ada, home, command, monkeypatch):
    create_recorded_write(home)
    command.does("obeys", pause=1.5)
    monkeypatch.setattr(Terminal, "LINE_SECONDS", 0.0)
    stream = io.StringIO()
    with open_listener(stream) as listener:
        hand_over(ada, listener=listener)
    assert stream.getvalue().splitlines() == ["Asking ada to change MEMORY.md"]


def test_outputs_are_bounded(ada, home, command):
    create_recorded_write(home)
    command.does("floods")
    row, _job = hand_over(ada)
    assert row.outcome == "unchanged" and len(row.answer) == job.MOST_ANSWER


@pytest.mark.parametrize("missing", ["command", "setting", "both", "relative", "no program"])
def test_with_the_switch_off_nothing_is_started(ada, home, command, settings, tmp_path, missing):
    create_recorded_write(home)
    if missing in ("setting", "both"):
        configuration.put("writeGuardian.handOver", False)
    if missing in ("command", "both"):
        settings.OPENCLAW_COMMAND = ""
    if missing == "relative":
        settings.OPENCLAW_COMMAND = "openclaw"
    if missing == "no program":
        settings.OPENCLAW_COMMAND = str(tmp_path)
    with pytest.raises(Refused, match="not handed to agents"):
        hand_over(ada)
    assert not command.starts and not Handover.objects.using(DB).exists() and not JobRun.objects.exists()


def test_a_switch_that_is_turned_off_before_the_job_begins_counts(ada, home, command):
    create_recorded_write(home)
    row = handovers.hand_over_rollback(
        ada, "w1", RollbackRequest("otto", "Not true."), seen=rollback_plan.plan_rollback(ada, "w1").seen
    )
    configuration.put("writeGuardian.handOver", False)
    row, ended = run_handover(ada, row)
    assert (row.outcome, ended.state) == ("not_started", "refused") and not command.starts


def test_a_file_that_changes_before_the_command_starts_is_left_alone(ada, home, command):
    create_recorded_write(home)
    row = handovers.hand_over_rollback(
        ada, "w1", RollbackRequest("otto", "Not true."), seen=rollback_plan.plan_rollback(ada, "w1").seen
    )
    home.file(NAME, b"other\n", "ada")
    row, ended = run_handover(ada, row)
    assert (row.outcome, ended.state, read_file(home)) == ("not_started", "refused", b"other\n") and not command.starts


def test_a_command_that_was_started_once_is_not_started_again(ada, home, command):
    """After a kill the job runs again, and only looks what became of it."""
    create_recorded_write(home)
    row = handovers.hand_over_rollback(
        ada, "w1", RollbackRequest("otto", "Not true."), seen=rollback_plan.plan_rollback(ada, "w1").seen
    )
    Handover.objects.using(DB).filter(id=row.id).update(state="running", started_at=1)
    row, _job = run_handover(ada, row)
    assert row.outcome == "interrupted" and not command.starts and "may still" in outcomes.sentence_of(row)
    Handover.objects.using(DB).filter(id=row.id).update(state="running")
    home.file(NAME, BEFORE, "ada")
    home.record(NAME, BEFORE, agent="ada", session="openclaw-web")
    row, _job = run_handover(ada, row)
    assert row.outcome == "done" and get_write().status == "rolled_back"


@pytest.mark.parametrize(("state", "outcome"), [("queued", "not_started"), ("running", "interrupted")])
def test_a_job_that_nobody_goes_on_with_leaves_no_task_behind(ada, home, command, state, outcome):
    create_recorded_write(home)
    row = handovers.hand_over_rollback(
        ada, "w1", RollbackRequest("otto", "Not true."), seen=rollback_plan.plan_rollback(ada, "w1").seen
    )
    Handover.objects.using(DB).filter(id=row.id).update(state=state)
    task = django_settings.HOME_DIR / "state" / f"handover-{row.id}.txt"
    task.write_text("a task")
    job.undo(handovers.build_params(ada, row))
    row = Handover.objects.using(DB).get(id=row.id)
    assert (row.state, row.outcome, task.exists()) == ("ended", outcome, False) and not command.starts


def test_nothing_else_of_ours_writes_meanwhile(ada, home, command):
    create_recorded_write(home)
    seen = rollback_plan.plan_rollback(ada, "w1").seen
    handovers.hand_over_rollback(ada, "w1", RollbackRequest("otto", "Not true."), seen=seen)
    for act in (
        lambda: handovers.hand_over_rollback(ada, "w1", RollbackRequest("otto", "Again."), seen=seen),
        lambda: performing.roll_back(ada, "w1", RollbackRequest("otto", "Now.", accepts_effect=True), seen=seen),
    ):
        with pytest.raises(FileChanged, match="being asked to change"):
            act()
    Handover.objects.using(DB).update(created_at=1)  # its process died before it queued a job
    performing.roll_back(ada, "w1", RollbackRequest("otto", "Now.", accepts_effect=True), seen=seen)
    assert read_file(home) == BEFORE


def test_what_the_record_names_is_put_back_first_and_later_lines_stay(ada, home, command):
    create_recorded_write(home)
    home.file(NAME, AFTER + b"- By hand.\n", "ada")
    with pytest.raises(FileChanged, match="put back first"):
        hand_over(ada)
    assert not command.starts
    row, _job = hand_over(ada, puts_back=True)
    assert row.outcome == "done" and read_file(home) == BEFORE + b"- By hand.\n"
    writes = WriteGuardianAudit.objects.using(DB).filter(origin="rollback").order_by("created_at")
    assert [write.id == row.own_audit_id for write in writes] == [False, True] and "put back" in writes[0].reason
    assert get_write().status == "rolled_back" and list_rollbacks()[0].way == "merged"


def test_a_recorded_version_that_is_not_stored_is_not_put_back(ada, home, command):
    create_recorded_write(home)
    home.record(NAME, b"never seen\n", agent="ada")
    with pytest.raises(Refused, match="not stored here"):
        hand_over(ada, puts_back=True)
    assert not command.starts


def test_one_change_and_a_chosen_content(ada, home, command):
    create_recorded_write(home, before=b"a\nb\nc\nd\ne\n", after=b"A\nb\nc\nd\nE\n")
    row, _job = hand_over(ada, hunk=1)
    assert row.outcome == "done" and read_file(home) == b"A\nb\nc\nd\ne\n"
    assert get_write().status == "written" and not list_rollbacks()
    home.file(NAME, b"AA\nb\nc\nd\nE\n", "ada")
    home.record(NAME, b"AA\nb\nc\nd\nE\n", agent="ada")
    with pytest.raises(FileChanged, match="Choose"):
        hand_over(ada)
    row, _job = hand_over(ada, chosen=b"mine\n")
    assert row.outcome == "done" and read_file(home) == b"mine\n" and list_rollbacks()[0].way == "chosen"


def test_a_file_cannot_be_removed_by_the_agent(ada, home, command):
    create_recorded_write(home, before=None)
    with pytest.raises(Refused, match="asked to remove"):
        hand_over(ada)


@pytest.mark.parametrize("origin", ["none", "untrusted", "same"])
def test_where_a_write_does_no_harm_nothing_is_handed_over(ada, home, command, origin):
    create_recorded_write(home)
    if origin == "none":
        home.forget(NAME, "ada")
    elif origin == "untrusted":
        home.record(NAME, AFTER, "untrusted", agent="ada")
    else:
        home.record(NAME, BEFORE, agent="ada")
    with pytest.raises(Refused, match="Nothing to hand over"):
        hand_over(ada)
    performing.roll_back(ada, "w1", RollbackRequest("otto", "Now."), seen=None)
    assert read_file(home) == BEFORE and list_rollbacks()[0].effect == ""


def test_words_of_somebody_who_has_opted_out_are_not_handed_over(ada, home, command):
    create_recorded_write(home)
    configuration.put("collector.optedOutSenders", ["mallory"])
    with pytest.raises(Refused, match="opted out"):
        hand_over(ada)
    assert not command.starts
