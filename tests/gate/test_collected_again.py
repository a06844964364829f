"""Gate decisions stay and find their turns by id when sessions are read again or lost."""

import orjson
import pytest

from gate.models import GateWindow, MemoryGateDecision
from ledger.models import ConversationContext, ConversationTurn
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, damage_rows, run, write_conversation
from tests.homes import assistant, user

pytestmark = pytest.mark.django_db
URL = "/api/v1/agents/main/gate/decisions"
HELD = ("my secret", "private words")  # texts of people who opted out; windows of others may hold them
ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'


def record(client, turns=None):
    """Records decisions on turns of main, on all of them by default, and returns their ids."""
    turns = turns or list(ConversationTurn.objects.using(MAIN).order_by("session_id", "turn_number"))
    decisions = [
        {
            "id": f"d-{turn.id}",
            "turn_id": turn.id,
            "session_id": turn.session_id,
            "decision": "UPDATE_USER",
            "reason": "It was said.",
            "candidate_fact": "A fact.",
            "llm_model": "gate-1",
            "created_at": turn.created_at + 1_000,
        }
        for turn in turns
    ]
    answer = client.post(URL, orjson.dumps({"decisions": decisions}), content_type="application/json")
    assert answer.status_code == 201, answer.content
    return [decision["id"] for decision in decisions]


def write(client):
    """Records a write to a memory file for each turn."""
    writes = [
        {
            "id": f"w-{turn.id}",
            "turn_id": turn.id,
            "session_id": turn.session_id,
            "target_file": "USER.md",
            "candidate_fact": "A fact.",
            "status": "refused",
            "created_at": turn.created_at + 2_000,
        }
        for turn in ConversationTurn.objects.using(MAIN)
    ]
    body = orjson.dumps({"writes": writes})
    answer = client.post(URL.replace("gate/decisions", "guardian/writes"), body, content_type="application/json")
    assert answer.status_code == 201, answer.content


def read_evidence():
    return [list(model.objects.using(MAIN).order_by("pk").values()) for model in (MemoryGateDecision, GateWindow)]


def read_matched():
    turns = ConversationTurn.objects.using(MAIN).values("id")
    return list(MemoryGateDecision.objects.using(MAIN).filter(turn_id__in=turns).order_by("id"))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE conversation_turns SET user_message_content = 'something else'",
        "DELETE FROM conversation_turns WHERE turn_number = 2",
        "DELETE FROM transcript_events",
        "DELETE FROM sessions",
    ],
)
def test_they_are_matched_when_everything_is_read_again(home, as_operator, statement):
    write_conversation(home)
    run(home)
    ids = record(as_operator)
    before, contexts = read_evidence(), list(ConversationContext.objects.using(MAIN).values())
    damage_rows(MAIN, statement)
    run(home, again=True)
    assert read_evidence() == before and [row.id for row in read_matched()] == sorted(ids)
    assert list(ConversationContext.objects.using(MAIN).values()) == contexts


def test_told_again_after_that_they_are_known(home, as_operator):
    write_conversation(home)
    run(home)
    record(as_operator)
    run(home, again=True)
    turn = ConversationTurn.objects.using(MAIN).order_by("turn_number").first()
    row = MemoryGateDecision.objects.using(MAIN).get(turn_id=turn.id)
    body = {"id": row.id, "turn_id": turn.id, "session_id": turn.session_id, "decision": row.decision}
    body |= {"reason": row.reason, "candidate_fact": row.candidate_fact, "llm_model": row.llm_model}
    body |= {"created_at": row.created_at}
    answer = as_operator.post(URL, orjson.dumps({"decisions": [body]}), content_type="application/json")
    assert (answer.status_code, answer.json()["known"]) == (200, [row.id])


def test_decisions_that_hold_words_of_who_opted_out_later_are_named(home, as_operator):
    group = home.transcript(
        user(ENVELOPE % ("bob", "Hello from Bob")),
        assistant("Hi Bob"),
        user(ENVELOPE % ("carol", "my secret")),
        assistant("I know the secret"),
        user(ENVELOPE % ("bob", "What did she say?")),
        assistant("Nothing for you"),
    )
    direct = home.transcript(user("private words"), assistant("Indeed"))
    home.index(
        {
            "agent:main:irc:direct:dave": {"sessionId": direct.session},
            "agent:main:irc:group:#lab": {"sessionId": group.session},
        }
    )
    run(home)
    record(as_operator)
    write(as_operator)
    before = read_evidence()
    turns = {turn.user_message_content: f"main/d-{turn.id}" for turn in ConversationTurn.objects.using(MAIN)}
    configuration.put("collector.optedOutSenders", ["carol", "dave"])
    result = run(home, again=True)
    assert result["again"]["main"]["taken_out"] == [direct.session]
    named_texts = {name for name, row_name in turns.items() if row_name in result["still_held"]["decisions"]}
    assert named_texts == {"my secret", "What did she say?", "private words"}
    assert len(result["still_held"]["decisions"]) == 3
    writes = {row_name.removeprefix("main/w-") for row_name in result["still_held"]["writes"]}
    assert writes == {row_name.removeprefix("main/d-") for name, row_name in turns.items() if name in HELD}
    assert not ConversationContext.objects.using(MAIN).filter(message__contains="secret").exists()
    assert read_evidence() == before  # for a person to decide
