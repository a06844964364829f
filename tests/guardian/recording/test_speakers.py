"""Writes of sessions and messages; and what is told of people who opted out."""

import pytest

from collecting import opt_out_report
from collecting.agent_reimport import ReimportTotals
from people.configuration import setting_values as configuration
from tests.guardian.recording.test_record import post, rows, told
from tests.guardian.written import wrote
from tests.ledger.talks import group_chat

pytestmark = pytest.mark.django_db
DB = "agent_ada"


@pytest.fixture
def turns(ada):
    """A chat in which mei, tom and somebody without a name asked something, each answered."""
    return group_chat("mei", "tom", "")


def test_writes_of_messages_and_sessions_are_found(ada, turns):
    for number, turn in enumerate([*turns, turns[1]]):
        wrote(DB, number, None, b"%d" % number, turn_id=turn.id, session_id="s1")
    wrote(DB, 9, None, b"9")
    withheld = ReimportTotals(withheld={"s1": ["r3"]}, words={"s1": {"Tom one"}})
    assert opt_out_report.build_report({"ada": withheld})["writes"] == ["ada/w1", "ada/w3"]
    assert len(opt_out_report.build_report({"ada": ReimportTotals(taken_out=["s1"])})["writes"]) == 5


def test_writes_of_who_opted_out_and_of_nobody_known_are_counted_not_stored(as_operator, turns):
    configuration.put("collector.optedOutSenders", ["tom"])
    some = [told(n, turn_id=turn.id) for n, turn in enumerate(turns)] + [told(7, created_at=1)]
    answer = post(as_operator, *some)
    assert answer.json() == {"recorded": ["w0"], "known": [], "withheld": 3}
    assert [row.id for row in rows()] == ["w0"]
    configuration.put("collector.optedOutSenders", [])
    assert post(as_operator, *some).json()["recorded"] == ["w7", "w1", "w2"]
