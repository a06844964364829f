"""What stems from a message is taken back by one plan, step by step, and put back where that can be done."""

import pytest

from datasets.models import DatasetSample, VersionTaint
from guardian.models import WriteGuardianAudit
from jobs import kinds
from jobs.models import JobRun
from jobs.progress import Progress
from operations.models import Remediation, RemediationStep
from people.models import AuditEntry
from tests.faults import before_statement
from tests.operations.poisonings import PAGE, START, list_states, poison, read_seen, run_job

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
        left = [*"x" * (done > 0)]
        is_stored = lambda sql: sql.startswith('UPDATE "remediation_steps"') and not (left and left.pop())  # noqa: B023, E731
        with pytest.raises(SystemExit), before_statement("default", is_stored, stop):
            kinds.get_kind("remediation").run(params, Progress())
        assert RemediationStep.objects.filter(state="done").count() == done
    run_job()
    assert [state for _kind, state in list_states()] == ["done"] * 5 + ["left"]
    rolled_back = WriteGuardianAudit.objects.using("agent_ada").filter(origin="rollback")
    assert rolled_back.count() == 2 and AuditEntry.objects.filter(action="labelled", actor="otto").count() == 2
