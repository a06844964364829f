"""Samples that are not checked yet, or whose texts are over their budget: no export has them."""

import json

import pytest

from datasets.finding_values import sample_privacy
from datasets.models import DatasetSample
from datasets.review.verdicts import label_sample
from findings.models import Finding
from findings.scan import scan_agent
from jobs import services as jobs
from tests.datasets.exports.export_helpers import add_approved_samples, build_export, excluded_counts, make_export
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session

pytestmark = pytest.mark.django_db
DENSE = "password=edA_KEY=" * 4_000  # over its budget
LONG = "plain words " * 25_000  # more than one request may search


@pytest.fixture(autouse=True)
def home(own_home):
    """Two turns, each with an approved sample."""
    store_session(user("question 1"), assistant("answer 1"), user("question 2"), assistant("answer 2"))
    add_approved_samples(2)
    sample_privacy.run_check({}, None)
    return own_home


def change_first(reply):
    """Give the first sample another reply, as an edit by the site does."""
    sample = DatasetSample.objects.order_by("turn_number").first()
    sample.content = json.dumps(json.loads(sample.content) | {"agentReply": reply})
    sample.save()
    sample_privacy.refresh([sample.id])
    sample.refresh_from_db()
    return sample


def test_a_long_sample_is_not_checked_until_the_job_has_been(as_reviewer):
    sample = change_first(LONG)
    assert (sample.privacy_checked, sample.contains_pii) == (None, None)
    assert "is not checked yet" in as_reviewer.get(f"/samples/{sample.id}/").content.decode()
    assert "1 sample is not checked yet" in as_reviewer.get("/findings/lag/").content.decode()
    assert [row["id"] for row in as_reviewer.get("/api/v1/samples?not_checked=true").json()["items"]] == [sample.id]
    assert excluded_counts(build_export())["not_checked"] == 1
    assert sample_privacy.is_check_needed()
    assert jobs.run_now("sample_privacy", {}, by="root").state == "finished"
    sample.refresh_from_db()
    assert sample.privacy_checked is True
    assert "not_checked" not in excluded_counts(build_export(name="two"))


def test_a_text_over_its_budget_is_in_no_export_of_anybody(as_admin):
    sample = change_first(DENSE)
    assert (sample.privacy_checked, sample.contains_pii) == (False, None)
    assert "was not fully scanned" in as_admin.get(f"/samples/{sample.id}/").content.decode()
    rows = as_admin.get("/api/v1/samples?not_fully_scanned=true").json()["items"]
    assert [row["id"] for row in rows] == [sample.id]
    export = make_export(as_admin, include=["flagged"])
    assert excluded_counts(export) == {"not_fully_scanned": 1}
    assert export.manifest["redactions"]["left_out"] == {"not_fully_scanned": 1}


@pytest.mark.parametrize(("reply", "is_checked"), [(LONG, None), (DENSE, False)])
def test_an_edited_reply_counts_too(as_reviewer, reply, is_checked):
    sample = DatasetSample.objects.order_by("turn_number").first()
    label_sample(sample.id, "approved", by="ann", output=reply)
    sample.refresh_from_db()
    assert sample.privacy_checked is is_checked
    reason = "not_checked" if is_checked is None else "not_fully_scanned"
    assert excluded_counts(build_export())[reason] == 1


def test_a_scan_lists_the_text_and_nobody_can_dismiss_it(as_reviewer):
    store_session(user(DENSE), assistant("answer"), session_id="dense")
    scan_agent("agent_ada")
    finding = Finding.objects.using("agent_ada").get(session_id="dense")
    assert (finding.kind, finding.start, finding.end) == ("not_fully_scanned", 0, len(DENSE))
    assert "1 text was not fully scanned" in as_reviewer.get("/findings/lag/").content.decode()
    answer = as_reviewer.post(
        f"/api/v1/findings/{finding.value_hash}/verdict", {"verdict": "dismissed"}, content_type="application/json"
    )
    assert answer.status_code == 409
    assert "cannot be dismissed" in answer.content.decode()
