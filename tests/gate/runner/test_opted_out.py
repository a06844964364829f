"""People who opted out: their messages are withheld from every window that is sent.

Who has opted out is looked up when something is sent.
"""

import pytest

from gate.recording import windows
from gate.runner import plans
from gate.runner.turn_selection import TurnChoice
from openclaw_web import clock
from people.configuration import setting_values as configuration
from tests.ledger.transcript_records import store_group_chat

from .judged_turns import DB, decisions, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def group(ada):
    """A chat in which mei, tom and a nameless person asked something, each answered."""
    store_group_chat("mei", "tom", "", "mei")


def recent(row):
    return [message["message"] for message in windows.read_window(DB, row.window_hash).recent]


def test_while_nobody_has_opted_out_everything_is_judged(group, ada, endpoint):
    run(ada)
    assert decisions().count() == 4


def test_turns_of_who_opted_out_are_neither_judged_nor_shown(group, ada, endpoint):
    configuration.put("collector.optedOutSenders", ["tom"])
    job = run(ada)
    assert job.message == "2 turns judged. 2 turns were withheld."  # tom's, and that of the nameless person
    assert [row.turn_id for row in decisions()] == ["s1:r1", "s1:r7"]
    assert recent(decisions()[1]) == ["Mei one", "To Mei"]
    sent = b"".join(request.body for request in endpoint.requests)
    assert not any(word in sent for word in (b"Tom", b"obody"))


def test_who_opts_out_during_a_run_is_not_sent_any_more(group, ada, endpoint):
    def opts_out(done, _total, _message):
        if done == 1:
            configuration.put("collector.optedOutSenders", ["mei"])

    configuration.put("collector.optedOutSenders", ["somebody else"])
    job = run(ada, opts_out)
    # The first turn of mei had been sent when she opted out; the one without a name was withheld from the beginning.
    assert [row.turn_id for row in decisions()] == ["s1:r1", "s1:r3"]
    assert recent(decisions()[1]) == []
    assert job.message == "2 turns judged. 2 turns were withheld."


def test_a_plan_counts_what_is_withheld(group, ada, endpoint):
    configuration.put("collector.optedOutSenders", ["tom"])
    plan = plans.plan_run(ada, TurnChoice(before_at=clock.now_ms()))
    assert (plan.turns, plan.withheld) == (2, 2)
    assert not endpoint.requests
