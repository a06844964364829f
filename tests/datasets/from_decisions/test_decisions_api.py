"""Right or wrong through the API."""

import pytest

from datasets.models import DatasetSample
from tests.datasets.conversations import tell_turns
from tests.datasets.from_decisions.gates import FACT, decide

pytestmark = pytest.mark.django_db
URL = "/api/v1/agents/ada/gate/decisions/d1/sample"


@pytest.fixture(autouse=True)
def decision(ada):
    tell_turns(3)
    decide()


def post(client, url=URL, **body):
    return client.post(url, body, content_type="application/json")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"verdict": "right"}, "memory_gate_positive", "approved"),
        ({"verdict": "wrong"}, "memory_gate_negative", "needs_review"),
        ({"verdict": "wrong", "correct_decision": "NO_WRITE"}, "memory_gate_negative", "approved"),
        (
            {"verdict": "wrong", "correct_decision": "UPDATE_USER", "correct_fact": "f", "correct_reason": "r"},
            "memory_gate_negative",
            "approved",
        ),
        ({"verdict": "none"}, "annotated_turn", "pending"),
    ],
)
def test_it_works(as_reviewer, body, kind, status):
    for _ in range(2):
        answer = post(as_reviewer, **body)
        sample = DatasetSample.objects.get()
        assert (answer.status_code, answer.json()) == (
            200,
            {"sample_id": sample.id, "sample_type": kind, "annotation_status": status},
        )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"verdict": "maybe"}, 422),
        ({"verdict": "wrong", "correct_decision": "MAYBE"}, 422),
        ({"verdict": "wrong", "because": "x"}, 422),
        ({"verdict": "wrong", "correct_fact": "x"}, 409),
        ({"verdict": "wrong", "correct_decision": "UPDATE_SOUL"}, 409),
        ({"verdict": "wrong", "correct_decision": "UPDATE_USER", "correct_fact": FACT}, 409),
        ({"verdict": "right", "correct_decision": "NO_WRITE"}, 409),
        ({"verdict": "none", "correct_decision": "NO_WRITE"}, 409),
    ],
)
def test_what_cannot_be_said(as_reviewer, body, status):
    assert post(as_reviewer, **body).status_code == status
    assert not DatasetSample.objects.exists()


def test_only_decisions_that_there_are(as_reviewer, bob):
    assert post(as_reviewer, URL.replace("d1", "d9"), verdict="right").status_code == 404
    assert post(as_reviewer, URL.replace("ada", "bob"), verdict="right").status_code == 404
    decide("d2", turn=None)
    answer = post(as_reviewer, URL.replace("d1", "d2"), verdict="right")
    assert (answer.status_code, answer.json()["detail"][:31]) == (409, "What the gate saw is not stored")


def test_it_is_undone_as_every_verdict(as_reviewer):
    post(as_reviewer, verdict="right")
    answer = as_reviewer.post("/api/v1/review/undo", {}, content_type="application/json")
    assert answer.json()["sample_id"] == DatasetSample.objects.get().id
    assert DatasetSample.objects.get().annotation_status is None
    assert as_reviewer.get("/api/v1/samples?status=pending").json()["items"] == []
    post(as_reviewer, verdict="wrong")
    assert DatasetSample.objects.get().annotation_status == "needs_review"
