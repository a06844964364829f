"""Everything that stems from a message is taken back by one plan, step by step, and put back where that can be done."""

import pytest
from django.test import Client

from datasets.models import DatasetSample, SampleClaim, SampleLabel, VersionTaint
from datasets.review.undo import undo
from datasets.review.verdicts import give_reason, label_sample
from guardian.models import WriteGuardianAudit
from jobs import kinds
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web.clock import now_ms
from operations.models import Remediation, RemediationStep
from people.models import AuditEntry
from tests.factories import UserFactory
from tests.faults import before_statement
from tests.operations.poisonings import PAGE, START, list_states, poison, read_seen, run_job
from tests.suite.browsers import BACKEND

pytestmark = pytest.mark.django_db


@pytest.fixture
def poisoned(real_files, ada, settings, tmp_path, monkeypatch):
    return poison(real_files, ada, settings, tmp_path, monkeypatch)


def test_a_plan_takes_everything_back_and_is_undone(poisoned, as_operator):
    page = as_operator.get(PAGE).content.decode()
    assert "Later answers that repeat it" in page and "Whoever has the file keeps it." in page
    assert poisoned["file"].read_bytes() == poisoned["after"]
    answer = as_operator.post(START, {"reason": "Not true.", "seen": read_seen(page)})
    row = Remediation.objects.get()
    assert (answer.status_code, answer.url) == (302, row.get_absolute_url())
    assert run_job().state == "finished"
    done = [("reject", "done"), ("write", "done"), ("write", "done"), ("review", "done"), ("release", "done")]
    assert list_states() == [*done, ("download", "left")]
    assert poisoned["file"].read_bytes() == poisoned["before"]
    statuses = dict(DatasetSample.objects.values_list("id", "annotation_status"))
    assert statuses == {"x1": "rejected", "x2": "needs_review"}
    assert set(VersionTaint.objects.values_list("reason", flat=True)) == {"rejected", "rolled_back"}
    entries = AuditEntry.objects.filter(object_type="remediation", action="remediation_step_done")
    assert sorted(entry.detail["step"] for entry in entries) == sorted(kind for kind, _state in done)
    detail = as_operator.get(row.get_absolute_url()).content.decode()
    assert "Undo the plan" in detail and "Whoever has the file keeps it." in detail
    assert "An earlier plan" in as_operator.get(PAGE).content.decode()

    as_operator.post(f"{row.get_absolute_url()}run/", {"undo": "1"})
    assert run_job().state == "finished"
    assert list_states() == [*((kind, "undone") for kind, _state in done), ("download", "left")]
    assert poisoned["file"].read_bytes() == poisoned["after"]
    assert set(DatasetSample.objects.values_list("annotation_status", flat=True)) == {"approved"}
    assert not VersionTaint.objects.exists()
    again = as_operator.get(PAGE).content.decode()  # what was brought back can be taken back once more
    as_operator.post(START, {"reason": "Not true at all.", "seen": read_seen(again)})
    run_job()
    assert list_states()[-6:] == [*done, ("download", "left")]
    assert poisoned["file"].read_bytes() == poisoned["before"]
    assert set(VersionTaint.objects.values_list("reason", flat=True)) == {"rejected", "rolled_back"}
    as_operator.post(f"{Remediation.objects.latest('created_at').get_absolute_url()}run/", {"undo": "1"})
    run_job()
    assert poisoned["file"].read_bytes() == poisoned["after"] and not VersionTaint.objects.exists()


def stop():
    raise SystemExit


def test_a_run_that_was_killed_goes_on(poisoned, as_operator):
    as_operator.post(START, {"reason": "Not true.", "seen": read_seen(as_operator.get(PAGE).content.decode())})
    params = JobRun.objects.get(kind="remediation").params
    for done in range(5):  # each step once: carried out, and not stored
        earlier = [*"x" * (done > 0)]
        is_stored = lambda sql: sql.startswith('UPDATE "remediation_steps"') and not (earlier and earlier.pop())  # noqa: B023, E731
        with pytest.raises(SystemExit), before_statement("default", is_stored, stop):
            kinds.get_kind("remediation").run(params, Progress())
        assert RemediationStep.objects.filter(state="done").count() == done
    run_job()
    assert [state for _kind, state in list_states()] == ["done"] * 5 + ["left"]
    rolled_back = WriteGuardianAudit.objects.using("agent_ada").filter(origin="rollback")
    assert rolled_back.count() == 2 and AuditEntry.objects.filter(action="labelled", actor="otto").count() == 2


def start(browser):
    return browser.post(START, {"reason": "Not true.", "seen": read_seen(browser.get(PAGE).content.decode())})


def run_again(browser, **values):
    browser.post(f"{Remediation.objects.latest('created_at').get_absolute_url()}run/", values)
    return run_job()


def test_of_two_who_press_at_once_one_is_refused(poisoned, as_operator):
    seen = read_seen(as_operator.get(PAGE).content.decode())
    answers = [as_operator.post(START, {"reason": "Not true.", "seen": seen}) for _press in range(2)]
    assert [answer.status_code for answer in answers] == [302, 409]
    assert Remediation.objects.count() == 1


def test_verdicts_given_meanwhile_stay(poisoned, as_operator):
    start(as_operator)
    label_sample("x2", "rejected", by="ann")
    label_sample("x1", "rejected", by="ann", reason="wrong_fact")
    run_job()
    run_again(as_operator, undo="1")
    rows = DatasetSample.objects.values_list("id", "annotation_status", "annotated_by", "reject_reason")
    assert set(rows) == {("x1", "rejected", "ann", "wrong_fact"), ("x2", "rejected", "ann", None)}
    detail = as_operator.get(Remediation.objects.get().get_absolute_url()).content.decode()
    assert detail.count("The plan gave no verdict here") == 2


def test_a_verdict_that_was_overtaken_can_be_undone_once_it_is_in_force_again(poisoned, as_operator):
    start(as_operator)
    run_job()
    label_sample("x1", "approved", by="ann")
    run_again(as_operator, undo="1")
    assert "Somebody has judged or removed the sample since" in RemediationStep.objects.get(kind="reject").problem
    undo("ann")
    run_again(as_operator, undo="1")
    assert DatasetSample.objects.get(id="x1").annotation_status == "approved"
    assert SampleLabel.objects.get(undoes=RemediationStep.objects.get(kind="reject").label_id).labelled_by == "otto"


def test_a_verdict_with_a_reason_given_later_is_undone_by_whoever_presses(poisoned, as_operator):
    start(as_operator)
    run_job()
    give_reason(DatasetSample.objects.get(id="x1").label_id, "wrong_fact", by="otto")
    olga = Client()
    olga.force_login(UserFactory(username="olga", role="operator"), backend=BACKEND)
    run_again(olga, undo="1")
    assert DatasetSample.objects.get(id="x1").annotation_status == "approved"
    undone = AuditEntry.objects.filter(action__in=["label_undone", "remediation_step_undone"])
    assert set(undone.values_list("actor", flat=True)) == {"olga"}


def test_steps_that_failed_are_tried_again(poisoned, as_operator):
    start(as_operator)
    poisoned["file"].write_bytes(poisoned["after"] + b"- else\n")
    run_job()
    assert [kind for kind, state in list_states() if state == "failed"] == ["write", "write"]
    poisoned["file"].write_bytes(poisoned["after"])
    assert "Continue" in as_operator.get(Remediation.objects.get().get_absolute_url()).content.decode()
    run_again(as_operator)
    assert [state for _kind, state in list_states()] == ["done"] * 5 + ["left"]
    assert poisoned["file"].read_bytes() == poisoned["before"]


def test_a_plan_that_was_undone_does_not_go_on(poisoned, as_operator):
    start(as_operator)
    run_job()
    RemediationStep.objects.filter(kind="release").update(state="waiting")  # as a killed run leaves it
    run_again(as_operator, undo="1")
    assert {state for _kind, state in list_states()} == {"undone", "left"}
    row = Remediation.objects.get()
    answer = as_operator.post(f"/api/v1/agents/ada/remediation/{row.id}/continue", content_type="application/json")
    assert answer.status_code == 409 and "was undone" in answer.json()["detail"]


def test_a_write_whose_sample_is_held_waits_for_it(poisoned, as_operator):
    DatasetSample.objects.filter(id="x1").update(audit_id="w2")
    start(as_operator)
    claim = SampleClaim.objects.create(
        sample_id="x1", claimed_by="ann", claimed_at=now_ms(), expires_at=now_ms() + 60_000
    )
    run_job()
    assert [kind for kind, state in list_states() if state == "failed"][:2] == ["reject", "write"]
    assert DatasetSample.objects.get(id="x1").annotation_status == "approved"
    claim.delete()
    run_again(as_operator)
    run_again(as_operator, undo="1")
    assert DatasetSample.objects.get(id="x1").annotation_status == "approved"
    assert poisoned["file"].read_bytes() == poisoned["after"]


def test_undone_three_times_nothing_counts_as_rolled_back(poisoned, as_operator):
    for _time in range(3):
        start(as_operator)
        run_job()
        run_again(as_operator, undo="1")
    assert not VersionTaint.objects.exists()
    DatasetSample.objects.filter(id="x1").update(audit_id="w2")
    kinds.get_kind("rolled_back_samples").run({}, Progress())
    assert DatasetSample.objects.get(id="x1").annotation_status == "approved"
