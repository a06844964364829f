"""The review queue through the API."""

import pytest

from datasets.models import DatasetSample, SampleLabel
from datasets.review import claims
from tests.datasets.test_sample_detail import content
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
ROOT = "/api/v1"
GATE = {"output": {"decision": "UPDATE_USER", "reason": "A habit.", "candidateFact": "travels early"}}


@pytest.fixture
def client(client, reviewer):
    client.force_login(reviewer)
    return client


@pytest.fixture
def queue(ada):
    for number, name in enumerate(("one", "two", "three")):
        SampleFactory(id=name, created_at=1000 - number)


def post(client, path, body=None):
    return client.post(f"{ROOT}{path}", body or {}, content_type="application/json")


def next_(client, query=""):
    return client.get(f"{ROOT}/review/next{query}").json()


def test_it_works(client, queue):
    first = next_(client)
    assert (first["sample"]["id"], first["claim"]["sample_id"]) == ("one", "one")
    assert next_(client)["sample"]["id"] == "one"
    assert next_(client, "?after=one")["sample"]["id"] == "two"
    assert post(client, "/samples/one/label", {"status": "approved"}).status_code == 200
    assert next_(client)["sample"]["id"] == "two"
    done = post(client, "/review/undo").json()
    assert (done["kind"], done["sample_id"]) == ("verdict", "one")
    assert next_(client)["sample"]["id"] == "one"
    answer = post(client, "/review/undo")
    assert answer.status_code == 409 and "nothing to undo" in answer.json()["detail"]
    claims.take("three", by="ann")
    assert client.get(f"{ROOT}/review/progress").json()["held_by_others"][0]["name"] == "ann"
    assert next_(client, "?agent=bob") == {"sample": None, "claim": None}


def test_a_verdict_answers_with_the_next_sample(client, queue):
    body = {"sample_id": "one", "status": "rejected", "notes": "No.", "expected_status": "pending"}
    result = post(client, "/review/verdict?agent=ada", body).json()
    assert (result["judged"]["annotation_status"], result["judged"]["annotation_notes"]) == ("rejected", "No.")
    assert (result["sample"]["id"], result["claim"]["sample_id"]) == ("two", "two")
    assert post(client, "/review/verdict", body).status_code == 409
    assert post(client, "/review/verdict", body | {"sample_id": "none"}).status_code == 404
    assert (
        post(client, "/review/verdict?agent=bob", {"sample_id": "two", "status": "approved"}).json()["sample"] is None
    )


@pytest.mark.parametrize(
    "query", ["?queue=approved", "?type=x", "?agent=" + "a" * 57, "?after=" + "x" * 201, "?session=%00"]
)
def test_what_cannot_be_is_invalid(client, queue, query):
    assert client.get(f"{ROOT}/review/next{query}").status_code == 422


def test_claims(client, queue):
    claims.take("two", by="ann")
    assert post(client, "/review/claims/one").json()["sample_id"] == "one"
    answer = post(client, "/review/claims/two")
    assert answer.status_code == 409
    assert "ann has this sample open" in answer.json()["detail"]
    assert post(client, "/review/claims/none").status_code == 404
    assert post(client, "/review/claims/two/release").json() == {"released": False}
    assert post(client, "/review/claims/one/release", {"since": 5}).json() == {"released": False}
    assert post(client, "/review/claims/one/release").json() == {"released": True}
    assert post(client, "/samples/two/label", {"status": "approved"}).status_code == 409


def test_skipping(client, queue):
    assert post(client, "/review/skip", {"sample_id": "one"}).json() == {"sample_id": "one"}
    assert next_(client)["sample"]["id"] == "two"
    assert next_(client, "?skipped=true")["sample"]["id"] == "one"
    assert post(client, "/review/skip", {"sample_id": "none"}).status_code == 409


def test_bulk(client, queue):
    body = {"status": "rejected", "expected_count": 3, "agent": "ada"}
    assert post(client, "/samples/bulk", body | {"expected_count": 2}).status_code == 409
    assert post(client, "/samples/bulk", body | {"status": "pending"}).status_code == 422
    done = post(client, "/samples/bulk", body).json()
    assert (done["count"], done["held"], done["status"]) == (3, 0, "rejected")
    assert post(client, "/review/undo").json()["sample_count"] == 3
    assert set(DatasetSample.objects.values_list("annotation_status", flat=True)) == {"pending"}


def test_bulk_approving_files_no_more_as_wrong_than_was_expected(client, queue):
    DatasetSample.objects.filter(id="one").update(guardian_label="incorrect")
    body = {"status": "approved", "expected_count": 3, "agent": "ada"}
    for expected in ({}, {"expected_wrong": 2}):
        refused = post(client, "/samples/bulk", body | expected)
        assert refused.status_code == 409 and "files 1 verdict “Wrong”" in refused.json()["detail"]
    assert set(DatasetSample.objects.values_list("annotation_status", flat=True)) == {"pending"}
    assert post(client, "/samples/bulk", body | {"expected_wrong": 1}).json()["count"] == 3
    assert post(client, "/review/undo").json()["sample_count"] == 3
    assert post(client, "/samples/bulk", body | {"status": "rejected"}).json()["count"] == 3  # which files nothing


class TestParts:
    @pytest.fixture
    def url(self, ada):
        SampleFactory(id="gate", content=content(memoryGate=GATE))
        return "/samples/gate/label"

    def test_labels_and_corrections(self, client, url):
        corrected = {"decision": "NO_WRITE", "candidateFact": "", "reason": "Once."}
        body = {"status": "approved", "gate_label": "corrected", "gate_corrected_output": corrected}
        assert post(client, url, body).json()["gate_corrected_output"] == corrected
        detail = client.get(f"{ROOT}/samples/gate").json()
        assert (detail["gate_label"], detail["guardian_label"]) == ("corrected", None)
        assert detail["labels"][0]["gate_corrected_output"] == corrected

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"gate_label": "corrected"}, 409),
            ({"gate_corrected_output": {"decision": "NO_WRITE"}}, 409),
            ({"gate_label": "fine"}, 422),
            ({"gate_label": "corrected", "gate_corrected_output": {"decision": "MAYBE"}}, 422),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, client, url, body, status):
        assert post(client, url, {"status": "approved", **body}).status_code == status
        assert not SampleLabel.objects.exists()
