"""The messages before a turn, in the API and the command.

Of turns that are evidence, and of all others.
"""

import orjson
import pytest
from django.core.management import CommandError, call_command

from datasets import services
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.factories import T0
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session, working_turns

API = "/api/v1/agents/ada/turns/context"
pytestmark = pytest.mark.django_db


def ask(client, turn, **more):
    response = client.get(API, {"turn_id": turn, **more})
    assert response.status_code == 200, response.content
    return response.json()


def read_messages(answer):
    return [item["message"] for item in answer["items"]]


def test_a_turn_without_a_sample(client):
    store_session(*working_turns(3))
    answer = ask(client, "s1:r9")
    assert answer | {"items": None} == {
        "turn_id": "s1:r9", "session_id": "s1", "turn_number": 3, "is_kept": False, "left_out": 0, "items": None,
        "model_prompt": None,
    }  # fmt: skip
    assert answer["items"][0] == {
        "id": None, "turn_id": "s1:r9", "role": "user", "message": "question 1", "timestamp": T0 + 1000,
        "sequence_number": 0,
    }  # fmt: skip
    assert read_messages(answer) == ["question 1", "reply 1", "question 2", "reply 2"]
    assert [item["role"] for item in answer["items"]] == ["user", "agent"] * 2
    assert ask(client, "s1:r1")["items"] == []


def test_a_turn_with_a_sample_is_as_it_was_kept(client, ada):
    store_session(*working_turns(3))
    configuration.put("memoryGate.windowSize", 2)
    services.make_samples(ada, "s1", [3], by="root")
    configuration.put("memoryGate.windowSize", 10)
    answer = ask(client, "s1:r9")
    assert answer["is_kept"] and read_messages(answer) == ["question 2", "reply 2"]
    assert all(type(item["id"]) is int for item in answer["items"])
    assert not ask(client, "s1:r5")["is_kept"]


def test_the_window_is_as_long_as_the_setting_says(client):
    store_session(*working_turns(9))
    assert len(ask(client, "s1:r33")["items"]) == 10
    configuration.put("memoryGate.windowSize", 3)
    assert read_messages(ask(client, "s1:r33")) == ["reply 7", "question 8", "reply 8"]
    configuration.put("memoryGate.windowSize", 0)
    assert ask(client, "s1:r33")["items"] == []


@pytest.fixture
def forked():
    """A session with branches from its second and third question.

    r3 is answered. r5 takes its place and goes on with r7. That branch is left for r9, on which the session ended.
    """
    return store_session(
        user("one"),
        assistant("1"),
        user("two"),
        assistant("2"),
        user("two again") | {"parentId": "r2"},
        assistant("2 again"),
        user("three"),
        assistant("3"),
        user("two, please") | {"parentId": "r2"},
        assistant("2 at last"),
        user("four") | {"parentId": "r6"},
        user("five") | {"parentId": "r10"},
        assistant("5"),
    )


@pytest.mark.parametrize(
    ("turn", "before"),
    [
        ("r3", ["one", "1"]),
        ("r7", ["one", "1", "two again", "2 again"]),
        ("r11", ["one", "1", "two again", "2 again"]),
        ("r12", ["one", "1", "two, please", "2 at last"]),
    ],
)
def test_a_turn_has_the_context_of_its_own_branch(client, ada, forked, turn, before):
    assert read_messages(ask(client, f"s1:{turn}")) == before


RESET = {"type": "reset", "reason": "new"}


@pytest.mark.parametrize("reset", [RESET, RESET | {"firstKeptEntryId": "r3"}, RESET | {"firstKeptEntryId": "gone"}])
def test_nothing_from_before_a_reset_is_in_a_context(client, ada, reset):
    store_session(
        *working_turns(2), reset, user("three"), assistant("3"), user("four"), assistant("4"), reset, user("five")
    )
    assert read_messages(ask(client, "s1:r5")) == ["question 1", "reply 1"]
    assert read_messages(ask(client, "s1:r10")) == []
    assert read_messages(ask(client, "s1:r12")) == ["three", "3"]
    assert read_messages(ask(client, "s1:r15")) == []
    services.make_samples(ada, "s1", [3, 4], by="root")
    assert read_messages(ask(client, "s1:r12")) == ["three", "3"]


HEADER = {"type": "session", "parentId": None}


def test_nothing_from_before_a_second_header_is_in_a_context(client):
    store_session(*working_turns(2), HEADER, user("three") | {"parentId": None}, assistant("3"), user("four"))
    assert read_messages(ask(client, "s1:r5")) == ["question 1", "reply 1"]
    assert read_messages(ask(client, "s1:r10")) == []
    assert read_messages(ask(client, "s1:r12")) == ["three", "3"]


def test_a_loose_record_hides_nothing(client):
    note = {"type": "custom", "customType": "note", "data": {}, "parentId": None}
    store_session(*working_turns(2), note, user("three") | {"parentId": "r8"}, assistant("3"), user("four"))
    before = ["question 1", "reply 1", "question 2", "reply 2"]
    assert read_messages(ask(client, "s1:r10")) == before
    assert read_messages(ask(client, "s1:r12")) == [*before, "three", "3"]


def test_a_reset_on_another_branch_hides_nothing(client):
    store_session(
        user("one"), assistant("1"), RESET, user("aside"), assistant("aside"), user("two") | {"parentId": "r2"}
    )
    assert read_messages(ask(client, "s1:r6")) == ["one", "1"]
    assert read_messages(ask(client, "s1:r4")) == []


def test_a_withheld_reset_is_still_one(client):
    def says(name, text):
        return user(f'Sender: ⟦openclaw:ctx⟧\n```json\n{{"id": "{name}"}}\n```\n\n{text}')

    store_session(
        says("ann", "one"), assistant("1"), says("bob", "mine"), RESET, says("ann", "two"), opted_out=("bob",)
    )
    assert read_messages(ask(client, "s1:r5")) == []
    store_session(says("ann", "one"), assistant("1"), says("ann", "two"), session_id="s2", opted_out=("bob",))
    assert read_messages(ask(client, "s2:r3")) == ["one", "1"]


def test_an_answer_ends_at_two_megabytes(client):
    configuration.put("memoryGate.windowSize", 200)
    store_session(*(user(f"{number:03}" + "字" * 7_900) for number in range(150)), user("last"))
    answer = ask(client, "s1:r151")
    assert [item["sequence_number"] for item in answer["items"]] == list(range(answer["left_out"], 150))
    sizes = [len(text.encode()) for text in read_messages(answer)]
    assert sum(sizes) <= 2_000_000 < sum(sizes) + sizes[0] and read_messages(answer)[-1].startswith("149")


@pytest.mark.parametrize("turn", ["nothing", "s1:r2", "s1:", "", "x" * 2000, "\x00"])
def test_a_turn_that_is_not_there(client, turn):
    store_session(*working_turns(1))
    response = client.get(API, {"turn_id": turn})
    assert response.status_code == 404
    assert response.json()["detail"] == ("This agent has no such turn. See the list of turns for their ids.")


def test_reading_it_is_in_the_audit_log(client, stranger):
    store_session(*working_turns(2))
    ask(client, "s1:r5")
    entry = AuditEntry.objects.get(action="read")
    assert (entry.actor, entry.object_type, entry.object_id) == (stranger.username, "session", "s1")


class TestCommand:
    def test_it_prints_what_was_said(self, capsys, ada):
        store_session(*working_turns(2))
        call_command("turn_context", "s1:r5", agent="ada")
        assert capsys.readouterr().out == "user: question 1\n\nagent: reply 1\n"
        assert AuditEntry.objects.get(action="read").object_id == "s1"

    @pytest.mark.parametrize(("name", "number"), [("s1:r5", None), ("s1", 2)])
    def test_the_receipt_is_what_the_api_answers(self, client, capsys, ada, name, number):
        store_session(*working_turns(2))
        call_command("turn_context", name, number=number, agent="ada", json=True)
        receipt = orjson.loads(capsys.readouterr().out)
        assert (receipt.pop("ok"), receipt.pop("schema")) == (True, "openclaw-web.turn_context.v1")
        assert receipt == ask(client, "s1:r5")

    @pytest.mark.parametrize(
        ("name", "number", "agent", "status"),
        [("s1:r4", None, "ada", 1), ("s1", 9, "ada", 1), ("nobody", 1, "ada", 3), ("s1:r5", None, "nobody", 3)],
    )
    def test_what_is_not_there(self, ada, name, number, agent, status):
        store_session(*working_turns(2))
        with pytest.raises(CommandError) as error:
            call_command("turn_context", name, number=number, agent=agent)
        assert error.value.returncode == status
