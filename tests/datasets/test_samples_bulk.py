"""One verdict on every sample that fits the filters of the list."""

import pytest

from datasets.models import DatasetSample, SampleLabel
from datasets.review import bulk, claims
from people.models.bookkeeping import AuditEntry
from tests.factories import T0, SampleFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def samples(ada, bob):
    """Six samples that wait, and two that are judged.

    Two of the six are bob's, and one of those is in need of review.
    """
    for number in range(4):
        SampleFactory(id=f"a{number}", created_at=T0 + number)
    SampleFactory(id="b0", agent_id="bob", annotation_status="needs_review")
    SampleFactory(id="b1", agent_id="bob", session_id="other")
    SampleFactory(id="done", annotation_status="approved", annotated_by="root")
    SampleFactory(id="bad", annotation_status="rejected")


def statuses():
    return dict(DatasetSample.objects.values_list("id", "annotation_status"))


def press(client, query="", status="approved", count=6):
    return client.post(f"/samples/bulk/label/{query}", {"status": status, "expected_count": count}, follow=True)


def test_it_works(as_reviewer, as_stranger, samples):
    page = as_reviewer.get("/samples/bulk/?verdict=approved")
    assert page.status_code == 200
    assert "/samples/bulk/" not in as_stranger.get("/samples/").text
    for words in ("Approve 6 samples", "Pending, Needs review", "First five samples"):
        assert words in page.text
    assert page.text.count('href="/samples/a') == 3  # and two of bob's
    answer = press(as_reviewer)
    assert "Approved: 6 samples. A single “Undo” in Review undoes all of them." in answer.text
    assert {name for name, status in statuses().items() if status == "approved"} == statuses().keys() - {"bad"}
    assert SampleLabel.objects.count() == 6
    assert SampleLabel.objects.values("bulk_id").distinct().count() == 1
    assert DatasetSample.objects.get(id="done").annotated_by == "root"
    entry = AuditEntry.objects.get(action="bulk_labelled")
    assert '"samples":6' in entry.detail_json


def test_both_ways_back_lead_to_the_list_as_it_was(as_reviewer, samples):
    page = as_reviewer.get("/samples/bulk/?agent=bob&verdict=approved").text
    assert page.count('href="/samples/?agent=bob"') == 2


@pytest.mark.parametrize(
    ("query", "count", "changed"),
    [
        ("?agent=bob", 2, {"b0", "b1"}),
        ("?agent=bob&status=needs_review", 1, {"b0"}),
        ("?session=other", 1, {"b1"}),
        ("?status=rejected", 1, {"bad"}),
        ("?from=2026-01-05&to=2026-01-05&agent=ada&type=annotated_turn", 4, {"a0", "a1", "a2", "a3"}),
    ],
)
def test_the_filter_of_the_list_is_the_filter_of_the_action(as_reviewer, samples, query, count, changed):
    before = statuses()
    listed = as_reviewer.get(f"/samples/{query}").text
    assert f"/samples/bulk/{query}&verdict=approved".replace("&", "&amp;") in listed
    page = as_reviewer.get(f"/samples/bulk/{query}&verdict=approved").text
    assert f'name="expected_count" value="{count}"' in page
    press(as_reviewer, query, count=count)
    assert statuses() == before | dict.fromkeys(changed, "approved")


def test_filters_on_who_and_what_are_heeded_as_well(as_reviewer, samples):
    DatasetSample.objects.filter(id="a1").update(output="edited")
    DatasetSample.objects.filter(id="a2").update(annotated_by="ann")
    press(as_reviewer, "?edited=on", count=1)
    press(as_reviewer, "?by=ann", count=1)
    assert [name for name, status in sorted(statuses().items()) if status == "approved"] == ["a1", "a2", "done"]


def test_when_the_number_changed_nothing_is_done(as_reviewer, samples):
    SampleFactory(id="new")
    answer = press(as_reviewer)
    assert "The number of matching samples has changed to 7. Nothing was changed." in answer.text
    assert 'name="expected_count" value="7"' in answer.text
    assert not SampleLabel.objects.exists()


def test_what_somebody_has_open_is_left_out(as_reviewer, samples):
    claims.take("a0", by="ann")
    claims.take("a1", by="reviewer")
    assert "1 of these samples is open with another reviewer" in as_reviewer.get("/samples/bulk/?verdict=rejected").text
    answer = press(as_reviewer, status="rejected")
    assert "Rejected: 5 samples. 1 was skipped because somebody has it open." in answer.text
    assert statuses()["a0"] == "pending"


def test_too_many_are_refused_with_what_to_do(as_reviewer, samples, monkeypatch):
    monkeypatch.setattr(bulk, "MOST", 5)
    page = as_reviewer.get("/samples/bulk/?verdict=approved").text
    assert "At most 5 samples can be reviewed at once. Narrow the filter" in page
    assert "expected_count" not in page
    assert "More than 5 samples match. Narrow the filter" in press(as_reviewer).text
    assert not SampleLabel.objects.exists()


@pytest.mark.parametrize("query", ["", "?verdict=fine", "?verdict=pending", "?status=approved&verdict=approved"])
def test_other_verdicts_are_refused(as_reviewer, samples, query):
    assert as_reviewer.get(f"/samples/bulk/{query}").status_code == 409


@pytest.mark.parametrize("data", [{}, {"status": "pending", "expected_count": 1}, {"status": "approved"},
                                  {"status": "approved", "expected_count": "9" * 30}])  # fmt: skip
def test_a_bad_form_changes_nothing(as_reviewer, samples, data):
    assert as_reviewer.post("/samples/bulk/label/", data).status_code == 302
    assert not SampleLabel.objects.exists()


def test_a_filter_that_cannot_be_is_no_filter_on_everything(as_reviewer, samples):
    answer = as_reviewer.post("/samples/bulk/label/?status=fine", {"status": "approved", "expected_count": 6})
    assert answer.status_code == 409
    assert not SampleLabel.objects.exists()


def test_nothing_fits(as_reviewer, ada):
    assert "No samples match this filter." in as_reviewer.get("/samples/bulk/?verdict=approved").text


def test_a_wrong_decision_without_a_reason_is_not_approved_at_once(as_reviewer, ada):
    outputs = ('{"decision":"NO_WRITE","reason":""}', None, '{"reason":"Said once."}')
    for number, (label, output) in enumerate(zip(("corrected", "incorrect", "incorrect"), outputs, strict=True)):
        SampleFactory(id=f"g{number}", gate_label=label, gate_corrected_output=output)
    page = as_reviewer.get("/samples/bulk/?verdict=approved")
    assert "Nobody said why 2 decisions are wrong. They will be skipped" in page.text
    sent = {"status": "approved", "expected_count": 3, "expected_wrong": 3}
    answer = as_reviewer.post("/samples/bulk/label/", sent, follow=True)
    assert "2 were skipped because nobody said why their decisions are wrong." in answer.text
    assert statuses() == {"g0": "pending", "g1": "pending", "g2": "approved"}
    body = {"status": "approved", "expected_count": 2, "expected_wrong": 2}
    answer = as_reviewer.post("/api/v1/samples/bulk", body, "application/json")
    assert answer.status_code == 409 and "Nobody said why" in answer.json()["detail"]


def test_a_reject_of_many_may_have_a_reason(as_reviewer, samples):
    assert "Wrong fact" in as_reviewer.get("/samples/bulk/?verdict=rejected").text
    sent = {"status": "rejected", "expected_count": 6, "reason": "wrong_fact"}
    assert (
        "There is no reason odd" in as_reviewer.post("/samples/bulk/label/", sent | {"reason": "odd"}, follow=True).text
    )
    approve = {"status": "approved", "expected_count": 6, "reason": "wrong_fact"}
    answer = as_reviewer.post("/api/v1/samples/bulk", approve, "application/json")
    assert answer.status_code == 409 and "Only rejected samples take a reason" in answer.json()["detail"]
    as_reviewer.post("/samples/bulk/label/", sent)
    assert {(row.status, row.reason) for row in SampleLabel.objects.all()} == {("rejected", "wrong_fact")}
    assert DatasetSample.objects.filter(reject_reason="wrong_fact").count() == 6


def test_approving_says_what_it_files_as_wrong(as_reviewer, ada):
    absent, other = '{"status":"refused","reason":""}', '{"status":"written","reason":"","content":"x"}'
    kinds = [("corrected", absent)] * 2 + [("corrected", other), ("correct", None), ("incorrect", None)]
    for number, (label, output) in enumerate(kinds):
        about = {"guardian_label": label, "guardian_corrected_output": output}
        SampleFactory(id=f"w{number}", sample_type="write_guardian_decision", **about)
    page = " ".join(as_reviewer.get("/samples/bulk/?verdict=approved").text.split())
    for sentence in (
        "Approving files 2 writes as “Wrong: should not be there”.",
        "Approving files 1 write as “Wrong: should say …”.",
        "Approving files 1 sample as “Wrong”.",
        "1 is filed as “Right”.",
    ):
        assert sentence in page
    assert 'name="expected_wrong" value="4"' in page
    assert "Approving files" not in as_reviewer.get("/samples/bulk/?verdict=rejected").text
    DatasetSample.objects.filter(id="w3").update(guardian_label="incorrect")  # somebody else, meanwhile
    sent = {"status": "approved", "expected_count": 5, "expected_wrong": 4}
    assert (
        "Approving files 5 verdicts “Wrong”, not 4" in as_reviewer.post("/samples/bulk/label/", sent, follow=True).text
    )
    as_reviewer.post(
        "/samples/bulk/label/", {"status": "approved", "expected_count": 5}
    )  # a page without an expected number
    assert set(statuses().values()) == {"pending"}
    as_reviewer.post("/samples/bulk/label/", sent | {"expected_wrong": 5})
    assert set(statuses().values()) == {"approved"}
