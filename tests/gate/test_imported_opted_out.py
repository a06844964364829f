"""What logs tell of decisions that were stored before somebody opted out."""

import pytest

from gate.collectors.found import FoundDecision
from gate.models import MemoryGateDecision
from gate.recording import imported
from gate.recording.told import Source
from people.configuration import keys as configuration
from tests.ledger.talks import group_chat

pytestmark = pytest.mark.django_db
KEY = "agent:ada:irc:group:#lab"


def found(at, fact):
    told = dict.fromkeys(("has_fact", "model", "latency_ms", "window", "expected", "saw_user", "saw_reply", "reply"))
    return FoundDecision(
        id="d1", at=at, session_key=KEY, original_key=None, decision="UPDATE_USER", reason="A preference.", fact=fact,
        failure="", workspace=None, **told,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "fact"), [("tom", None), ("somebody else", "Tom likes tea.")])
def test_a_fact_that_comes_later_is_withheld_with_its_decision(ada, name, fact):
    (turn,) = group_chat("tom")
    at = turn.created_at + (turn.latency_ms or 0) + 500
    imported.store(ada, [found(at, None)], Source.LOG)
    configuration.put("collector.optedOutSenders", [name])
    imported.store(ada, [found(at, "Tom likes tea.")], Source.LOG)
    row = MemoryGateDecision.objects.using(ada.db).get()
    assert (row.turn_id, row.candidate_fact) == (turn.id, fact)
