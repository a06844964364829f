"""Replays send no windows of people who have opted out since.

It does not matter which gate decided on the windows before.
"""

import pytest

from gate.models import MemoryGateDecision
from gate.replays import plans, replay_launch
from gate.replays.replay_request import ReplayRequest
from jobs import services as jobs
from ledger.models import ConversationTurn
from people.configuration import setting_values as configuration
from tests.gate.runner.judged_turns import DB
from tests.ledger.transcript_records import store_group_chat

from .replay_rows import replays, rows, run_replay, store_decision

pytestmark = pytest.mark.django_db


@pytest.fixture
def group(ada):
    """A chat of mei, tom and mei again; each turn has a decision.

    Its window is the turns before it.
    """
    for number, turn in enumerate(store_group_chat("mei", "tom", "mei")):
        store_decision(f"d{number}", turn, number=number)


def opt_out(*names):
    configuration.put("collector.optedOutSenders", list(names))


def test_while_nobody_has_opted_out_everything_is_sent(group, ada, endpoint):
    assert run_replay(ada)[0].decided == 3


def test_windows_with_words_of_who_opted_out_stay_here(group, ada, endpoint):
    opt_out("tom")
    plan = plans.plan_replay(ada, ReplayRequest(model="other"))
    assert (plan.decisions, plan.withheld) == (1, 2)  # his turn, and the one after it, whose window holds it
    run_replay(ada)
    assert [row.decision_id for row in rows()] == ["d0"]
    assert not any(b"Tom" in request.body for request in endpoint.requests)


def test_who_opts_out_during_a_replay_is_not_sent_any_more(group, ada, endpoint):
    replay_row, _job = replay_launch.start_replay(ada, ReplayRequest(model="other"), by="otto")
    opt_out("tom")
    done = jobs.run_now("gate_replay", {"agent": "ada", "replay": replay_row.id}, by="otto")
    assert done.message == "1 decision replayed. 1 is different. 2 decisions were withheld."
    assert [(row.decision_id, row.outcome) for row in rows()] == [
        ("d2", "withheld"), ("d1", "withheld"), ("d0", "decided"),
    ]  # fmt: skip
    assert replays().get().state == "finished"
    assert len(endpoint.requests) == 1


def test_without_a_turn_nobody_knows_who_spoke(group, ada, endpoint):
    opt_out("somebody else")
    MemoryGateDecision.objects.using(DB).filter(id="d0").update(turn_id=None)
    ConversationTurn.objects.using(DB).filter(user_message_content__contains="Mei two").delete()
    plan = plans.plan_replay(ada, ReplayRequest(model="other"))
    assert (plan.decisions, plan.withheld) == (1, 2)


def test_a_message_that_no_turn_has_is_of_nobody_knows_whom(group, ada, endpoint):
    opt_out("somebody else")
    ConversationTurn.objects.using(DB).filter(user_message_content__contains="Tom one").update(
        user_message_content="Something else"
    )
    plan = plans.plan_replay(ada, ReplayRequest(model="other"))
    assert (plan.decisions, plan.withheld) == (2, 1)
