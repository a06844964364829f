"""The verdict on a decision's page; test_verdict_page tests what all kinds share."""

import pytest

from datasets.models import DatasetSample
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import store_decision
from tests.datasets.page_text import read_expected, read_text

pytestmark = pytest.mark.django_db
GIVE = "/agents/ada/judge/d1/"


@pytest.fixture(autouse=True)
def decision(ada):
    store_turns(3)
    return store_decision()


def give(client, verdict="right", expected="", **fields):
    return client.post(GIVE, {"verdict": verdict, "expected": expected, **fields}, headers={"HX-Request": "true"})


def test_wrong_with_what_would_be_right(as_reviewer):
    answer = give(as_reviewer, "wrong", correct_reason="Said once.")
    assert "Said once. Nobody has said what would have been right" in read_text(answer)
    right = {"correct_decision": "UPDATE_SOUL", "correct_fact": "is an early bird", "correct_reason": "It lasts."}
    answer = give(as_reviewer, "wrong", expected=read_expected(answer), **right)
    assert "Saved: wrong. Wrong reviewer" in read_text(answer)
    assert "What would have been right Decision UPDATE_SOUL Fact is an early bird Reason It lasts." in read_text(answer)
    assert 'value="is an early bird"' in answer.text


def test_what_is_refused_keeps_what_was_typed(as_reviewer):
    answer = give(as_reviewer, "wrong", correct_fact="is an early bird")
    assert answer.status_code == 422
    assert 'value="is an early bird"' in answer.text


def test_a_sample_without_a_verdict(as_reviewer):
    answer = give(as_reviewer, "none")
    assert "Sample created. Nobody has judged this decision. Sample: Pending" in read_text(answer)
    assert 'value="none"' not in answer.text
    assert DatasetSample.objects.get().sample_type == "annotated_turn"
    give(as_reviewer)
    assert DatasetSample.objects.count() == 2
