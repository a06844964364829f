"""Approval by rules, checked by people: which samples are checks, when rules stop, and what happens then."""

import pytest

from datasets.models import ApprovalStop, DatasetSample, SpotCheck
from datasets.spot_checks import checks
from datasets.spot_checks.problems import APPROVAL_STOPPED
from openclaw_web import clock
from people.models.bookkeeping import AuditEntry
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
PAGE, API = "/collection/", "/api/v1/collection/approval"
AUTO = DatasetSample.Status.AUTO_APPROVED


def create(count):
    return [SampleFactory(annotation_status="pending") for _number in range(count)]


def approve(samples):
    """Do as collecting does with samples that a rule would approve."""
    ids = checks.choose_approved(samples)
    DatasetSample.objects.filter(id__in=ids).update(
        annotation_status=AUTO, annotated_by="rule", annotated_at=clock.now_ms()
    )
    return ids


def judge(client, sample_ids, status="approved", **fields):
    for sample_id in sample_ids:
        answer = client.post(
            f"/api/v1/samples/{sample_id}/label", {"status": status, **fields}, content_type="application/json"
        )
        assert answer.status_code == 200, answer.text


def waiting():
    judged = DatasetSample.objects.filter(label_id__isnull=False).values("id")
    return list(
        SpotCheck.objects.exclude(sample_id__in=judged).order_by("sample_id").values_list("sample_id", flat=True)
    )


def test_the_first_thirty_go_to_people_and_the_rest_waits_for_them(ada, as_admin):
    samples = create(40)
    assert approve(samples) == [] and len(waiting()) == 30
    assert set(DatasetSample.objects.values_list("annotation_status", flat=True)) == {"pending"}  # nobody can tell
    judge(as_admin, waiting())
    rest = [sample for sample in samples if not SpotCheck.objects.filter(sample_id=sample.id).exists()]
    approved = approve(rest)
    assert len(approved) + len(waiting()) == 10 and len(approved) >= 5
    assert approve(rest) == approved  # checks stay checks
    state = checks.read_state()
    assert (state.right, state.wrong, state.error) == (30, 0, 0.0)


def test_one_in_twenty_is_a_check(ada, as_admin):
    approve(create(30))
    judge(as_admin, waiting())
    approve(create(400))
    assert 8 <= len(waiting()) <= 35


def test_rules_stop_when_people_disagree(ada, as_admin):
    approve(create(30))
    judge(as_admin, waiting())
    approved = approve(create(100))
    while not waiting():
        approved += approve(create(20))
    judge(as_admin, waiting()[:1])  # right: what was approved before is confirmed
    later = []
    while not checks.is_stop_due():
        later += approve(create(60))
        judge(as_admin, waiting()[:3], "rejected")
    stop = checks.stop_if_due()
    assert (stop.reason, stop.right, stop.wrong) == ("wrong", 31, 9)
    assert set(stop.returned) == set(later)
    status = dict(DatasetSample.objects.values_list("id", "annotation_status"))
    assert {status[name] for name in approved} == {AUTO} and {status[name] for name in later} == {"needs_review"}
    assert approve(create(5)) == [] and checks.stop_if_due() is None
    (finding,) = APPROVAL_STOPPED.check()
    assert (finding.facts["wrong"], finding.facts["count"]) == (stop.wrong, len(later))


def test_an_edited_or_corrected_approval_is_no_right_one(ada, as_admin):
    approve(create(30))
    first, *_rest = waiting()
    judge(as_admin, [first], output="another reply")
    state = checks.read_state()
    assert (state.right, state.wrong) == (0, 1)


def test_fifty_checks_that_nobody_judges_stop_the_rules(ada, as_admin):
    approve(create(30))
    judge(as_admin, waiting())
    while len(waiting()) < checks.MOST_WAITING:
        approve(create(200))
    assert checks.stop_if_due().reason == "waiting"


def test_sixty_checks_with_an_error_that_may_be_above_the_limit_stop_the_rules(ada, as_admin):
    approve(create(30))
    judge(as_admin, waiting()[:4], "rejected")  # 4 of 60: up to 16 %
    judge(as_admin, waiting())
    while (missing := 60 - ApprovalStop.objects.count() - DatasetSample.objects.exclude(label_id=None).count()) > 0:
        approve(create(100))
        judge(as_admin, waiting()[:missing])
    assert checks.read_state().due == "uncertain"


def test_a_stop_is_undone_and_rules_begin_again(ada, as_admin):
    approve(create(30))
    judge(as_admin, waiting())
    approved = approve(create(100))
    judge(as_admin, waiting()[:20] + approved[:2], "rejected")
    judge(as_admin, approved[2:4])
    while not checks.is_stop_due():
        approve(create(60))
        judge(as_admin, waiting()[:5], "rejected")
    stop = checks.stop_if_due()
    judge(as_admin, stop.returned[:1], "rejected")
    page = as_admin.get(PAGE).text
    assert "People disagreed too often." in page and "Let rules approve again" in page
    answer = as_admin.post(f"{PAGE}approval/undo/", follow=True).text
    assert f"{len(stop.returned) - 1} samples are approved again." in answer
    assert "There is nothing to undo" in as_admin.post(f"{PAGE}approval/undo/", follow=True).text
    assert as_admin.get(API).json()["stopped"] == "wrong"
    state = as_admin.post(f"{API}/resume", {}, content_type="application/json").json()
    assert (state["stopped"], state["right"], state["wrong"], state["waiting"]) == ("", 0, 0, 0)
    assert as_admin.post(f"{API}/resume", {}, content_type="application/json").status_code == 409
    assert as_admin.post(f"{API}/undo", {}, content_type="application/json").status_code == 409
    as_admin.post(f"{PAGE}approval/resume/")
    actions = ["approval_stopped", "approval_stop_undone", "approval_resumed"]
    assert (
        list(AuditEntry.objects.filter(action__in=actions).order_by("id").values_list("action", flat=True)) == actions
    )
