"""Writes of sessions and messages, and reports about people who opted out."""

import pytest

from collecting import opt_out_report
from collecting.agent_reimport import ReimportTotals
from people.configuration import setting_values as configuration
from tests.guardian.recording.test_record import make_report, post, rows
from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import store_group_chat

pytestmark = pytest.mark.django_db
DB = "agent_ada"


@pytest.fixture
def turns(ada):
    """A chat in which mei, tom and somebody without a name asked something, each answered."""
    return store_group_chat("mei", "tom", "")


def test_writes_of_messages_and_sessions_are_found(ada, turns):
    for number, turn in enumerate([*turns, turns[1]]):
        create_write(DB, number, None, b"%d" % number, turn_id=turn.id, session_id="s1")
    create_write(DB, 9, None, b"9")
    withheld = ReimportTotals(withheld={"s1": ["r3"]}, words={"s1": {"Tom one"}})
    assert opt_out_report.build_report({"ada": withheld})["writes"] == ["ada/w1", "ada/w3"]
    assert len(opt_out_report.build_report({"ada": ReimportTotals(taken_out=["s1"])})["writes"]) == 5


def test_writes_of_who_opted_out_and_of_nobody_known_are_counted_not_stored(as_operator, turns):
    configuration.put("collector.optedOutSenders", ["tom"])
    reports = [make_report(n, turn_id=turn.id) for n, turn in enumerate(turns)] + [make_report(7, created_at=1)]
    answer = post(as_operator, *reports)
    assert answer.json() == {"recorded": ["w0"], "known": [], "withheld": 3}
    assert [row.id for row in rows()] == ["w0"]
    configuration.put("collector.optedOutSenders", [])
    assert post(as_operator, *reports).json()["recorded"] == ["w7", "w1", "w2"]
