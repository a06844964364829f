"""Log imports of decisions that are stored already, before and after somebody opted out."""

import pytest

from gate.collectors.source_decisions import SourceDecision
from gate.models import MemoryGateDecision
from gate.recording import log_import
from gate.recording.reports import Source
from people.configuration import setting_values as configuration
from tests.factories import T0
from tests.ledger.transcript_records import store_group_chat

pytestmark = pytest.mark.django_db
KEY = "agent:ada:irc:group:#lab"


def make_decision(at, fact, id="d1"):
    unknown_fields = dict.fromkeys(
        ("has_fact", "model", "latency_ms", "window", "expected", "saw_user", "saw_reply", "reply")
    )
    return SourceDecision(
        id=id, at=at, session_key=KEY, original_key=None, decision="UPDATE_USER", reason="A preference.", fact=fact,
        failure="", workspace=None, **unknown_fields,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "fact"), [("tom", None), ("somebody else", "Tom likes tea.")])
def test_a_fact_that_comes_later_is_withheld_with_its_decision(ada, name, fact):
    (turn,) = store_group_chat("tom")
    at = turn.created_at + (turn.latency_ms or 0) + 500
    log_import.import_decisions(ada, [make_decision(at, None)], Source.LOG)
    configuration.put("collector.optedOutSenders", [name])
    log_import.import_decisions(ada, [make_decision(at, "Tom likes tea.")], Source.LOG)
    row = MemoryGateDecision.objects.using(ada.db).get()
    assert (row.turn_id, row.candidate_fact) == (turn.id, fact)


def test_of_two_events_of_one_moment_one_is_that_which_is_stored(ada):
    log_import.import_decisions(ada, [make_decision(T0, None)], Source.LOG)
    log_import.import_decisions(
        ada, [make_decision(T0 + n, "Tom likes tea.", f"of-the-database-{n}") for n in range(2)], Source.DATABASE
    )
    assert MemoryGateDecision.objects.using(ada.db).count() == 2
