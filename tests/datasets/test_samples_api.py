"""Samples in the API."""

import orjson
import pytest

from datasets import api
from datasets.models import DatasetSample, SampleLabel
from tests.datasets.conversations import store_turns
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
SAMPLES = "/api/v1/samples"
MAKE = "/api/v1/agents/ada/sessions/s1/samples"


@pytest.fixture
def client(as_admin, ada, bob):
    """A browser of an admin on a site with the agents ada and bob."""
    return as_admin


def post(client, path, body):
    return client.post(path, body, content_type="application/json")


def ids(answer):
    return [item["id"] for item in answer.json()["items"]]


class TestList:
    def test_every_column_of_the_spec_is_there(self, client):
        factors = {"completeness": 0.5, "parts": [1, 2]}
        SampleFactory(id="full", audit_id="w1", quality_factors=orjson.dumps(factors).decode(), privacy_checked=True,
                      pii_redacted_content='{"userMessage": "Call <PHONE>."}')  # fmt: skip
        SampleFactory(id="odd", created_at=1, quality_factors="{", pii_redacted_content="plain")
        full, odd = client.get(SAMPLES).json()["items"]
        assert (full["audit_id"], full["quality_factors"], full["privacy_checked"]) == ("w1", factors, True)
        assert odd["content"]["userMessage"] == "Please check the nightly import."
        assert full["pii_redacted_content"] == {"userMessage": "Call <PHONE>."}
        assert (odd["audit_id"], odd["quality_factors"], odd["pii_redacted_content"]) == (None, "{", "plain")
        assert client.get(f"{SAMPLES}/full").json()["quality_factors"] == factors

    def test_a_page_of_long_texts_ends_early(self, client, monkeypatch):
        monkeypatch.setattr(api, "BUDGET_BYTES", 1000)
        SampleFactory.create_batch(3, output="x" * 600)
        first = client.get(SAMPLES)
        assert len(ids(first)) == 1
        assert first.json()["next"]


class TestMake:
    def test_it_works(self, client):
        store_turns(3)
        answer = post(client, MAKE, {"turns": [1, 2, 9]})
        assert answer.status_code == 200
        body = answer.json()
        assert set(body["made"]) == set(DatasetSample.objects.values_list("id", flat=True))
        assert body["existing"] == []
        assert body["skipped"] == [{"id": "9", "reason": "There is no such turn."}]
        again = post(client, MAKE, {"turns": [2, 3]}).json()
        assert len(again["made"]) == len(again["existing"]) == 1

    def test_what_is_not_there_and_no_turns_are_refused(self, client):
        store_turns(1, db="agent_bob")
        assert post(client, MAKE, {"all": True}).status_code == 404
        assert post(client, MAKE.replace("ada", "nobody"), {"all": True}).status_code == 404
        store_turns(1)
        answer = post(client, MAKE, {"turns": []})
        assert (answer.status_code, answer.json()["detail"]) == (409, "Choose at least one turn.")

    @pytest.mark.parametrize(
        "body", [{"turns": ["one"]}, {"turns": [-1]}, {"turns": [2**70]}, {"turns": [1] * 501}, {"all": "perhaps"}]
    )
    def test_a_body_that_does_not_fit_is_invalid(self, client, body):
        store_turns(1)
        assert post(client, MAKE, body).status_code == 422
        assert not DatasetSample.objects.exists()


class TestLabel:
    @pytest.fixture
    def url(self, client):
        SampleFactory(id="one")
        return f"{SAMPLES}/one/label"

    def test_it_works(self, client, url):
        body = {"status": "approved", "output": "better", "notes": "n", "expected_status": "pending"}
        answer = post(client, url, body)
        assert answer.status_code == 200
        assert (answer.json()["annotation_status"], answer.json()["output"]) == ("approved", "better")
        (label,) = client.get(f"{SAMPLES}/one").json()["labels"]
        expected = {"status": "approved", "previous_status": "pending", "labelled_by": "root", "notes": "n"}
        assert expected.items() <= label.items()

    def test_somebody_was_quicker(self, client, url):
        post(client, url, {"status": "rejected"})
        answer = post(client, url, {"status": "approved", "expected_status": "pending"})
        assert answer.status_code == 409
        assert "Somebody else has reviewed this sample" in answer.json()["detail"]

    @pytest.mark.parametrize(
        "body",
        [{}, {"status": "fine"}, {"status": "auto_approved"}, {"status": "approved", "output": 7},
         {"status": "approved", "notes": "x" * 5001}, {"status": "approved", "output": "x" * 1_000_001},
         {"status": "approved", "output": "a\0b"}, {"status": "approved", "notes": "a\0b"}],
    )  # fmt: skip
    def test_a_body_that_does_not_fit_is_invalid(self, client, url, body):
        assert post(client, url, body).status_code == 422
        assert not SampleLabel.objects.exists()

    def test_half_an_emoji_is_no_text(self, client, url):
        answer = client.post(url, rb'{"status":"approved","output":"\ud83d"}', content_type="application/json")
        assert answer.status_code == 400


def test_the_answer_is_what_was_stored(client):
    body = {"type": "annotated_turn", "userMessage": "<script>中文 😀\u2028", "agentReply": "a\nb"}
    SampleFactory(id="one", content=orjson.dumps(body).decode())
    assert client.get(f"{SAMPLES}/one").json()["content"] == body
