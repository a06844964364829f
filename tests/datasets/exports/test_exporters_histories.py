"""The history before a reply: approved turns only, or turns marked as not to be learned."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports import changes
from datasets.exports.histories import HISTORIES
from datasets.exports.rows import Shape, build_rows
from tests.datasets.exports.branches import agent, build_message, result, rows, sample, sides, user, values
from tests.datasets.exports.test_exporters_properties import number_turns, thorough

FOUR = [message for number in range(1, 5) for message in (user(f"q{number}", number), agent(f"a{number}"))]


def approved(number, **more):
    return sample(number, f"q{number}", f"a{number}", **more)


def pending(number):
    return approved(number, is_approved=False)


def test_approved_turns_stand_before_it_with_their_edits():
    made, done = rows("sharegpt", approved(1, edited_reply="better"), approved(2), approved(3), branch=FOUR)
    assert [values(row) for row in made] == [
        ["q1", "better"],
        ["q1", "better", "q2", "a2"],
        ["q1", "better", "q2", "a2", "q3", "a3"],
    ]
    assert done == [{changes.REPLY_EDITED}, set(), set()]


@pytest.mark.parametrize("between", [(), (pending(3),)], ids=["rejected or without a sample", "pending"])
def test_it_begins_after_the_last_turn_that_is_not_approved(between):
    made, done = rows("sharegpt", approved(1), approved(2), *between, approved(4), branch=FOUR)
    assert values(made[-1]) == ["q4", "a4"]
    assert done[-1] == {changes.HISTORY_BEGINS_LATER}


def test_a_turn_that_is_not_approved_is_learned_when_asked_for_and_by_no_other_row():
    made, _ = rows("sharegpt", approved(1), pending(2), approved(3), branch=FOUR)
    assert [values(row) for row in made] == [["q1", "a1"], ["q1", "a1", "q2", "a2"], ["q3", "a3"]]


def test_what_was_said_before_the_reply_that_was_judged_is_not_learned_with_the_next():
    branch = [user("q1", 1), agent("Wait."), agent("a1"), user("q2", 2), agent("a2")]
    made, done = rows("sharegpt", approved(1), approved(2), branch=branch)
    assert values(made[1]) == ["q1", "a1", "q2", "a2"]
    assert done[1] == {changes.TEXT_BEFORE_REPLY_DROPPED}


def test_a_turn_whose_output_is_lost_is_in_no_other_row():
    lost = result("c")
    lost.text_changes = frozenset({changes.OUTPUT_LOST})
    branch = [user("q1", 1), agent("", "c"), lost, agent("a1"), user("q2", 2), agent("a2")]
    for history in HISTORIES:
        made, done = rows(
            "sharegpt", approved(1), approved(2), branch=branch, history=history, withheld=lost.text_changes
        )
        assert values(made[-1]) == ["q2", "a2"], history
        assert done[-1] == {changes.HISTORY_WITHHELD}


def test_one_row_per_session_ends_before_the_first_turn_that_is_not_approved():
    outcomes = list(build_rows(shape("session"), [approved(1, edited_reply="better"), approved(2), approved(4)], FOUR))
    assert [(outcome.sample.turn_number, outcome.left_out) for outcome in outcomes] == [(4, "after_gap"), (2, "")]
    assert [message["value"] for message in outcomes[1].row["conversations"].messages] == ["q1", "better", "q2", "a2"]
    assert [other.turn_number for other in outcomes[1].others] == [1] and outcomes[1].changes == {changes.REPLY_EDITED}


def test_one_row_per_session_begins_with_the_first_approved_turn():
    outcomes = list(build_rows(shape("session"), [pending(2), approved(3), approved(4)], FOUR))
    assert [(outcome.sample.turn_number, outcome.left_out) for outcome in outcomes] == [(2, "not_approved"), (4, "")]
    assert outcomes[1].changes == {changes.HISTORY_BEGINS_LATER}


def test_one_row_per_session_holds_what_fits():
    long = [user("q1", 1), agent("a" * 600), user("q2", 2), agent("b" * 600), user("q3", 3), agent("c")]
    samples = [sample(1, "q1", "a" * 600), sample(2, "q2", "b" * 600), sample(3, "q3", "c")]
    outcomes = list(build_rows(shape("session", 1_000), samples, long))
    assert [outcome.left_out for outcome in outcomes] == ["beyond_row", "beyond_row", ""]
    assert len(outcomes[-1].row["conversations"].messages) == 2


def test_a_session_without_an_approved_turn_has_no_row():
    outcomes = list(build_rows(shape("session"), [pending(1), pending(2)], FOUR))
    assert [outcome.row for outcome in outcomes] == [None, None]


def test_of_two_samples_of_a_turn_one_is_in_the_row():
    outcomes = list(build_rows(shape("session"), [approved(1), approved(1)], FOUR))
    assert [outcome.left_out for outcome in outcomes] == ["same_turn", ""]


def test_earlier_turns_can_be_kept_and_marked():
    branch = [user("q1", 1), agent("", "c"), result("c"), agent("a1"), user("q2", 2), agent("", "d"), result("d")]
    (row,), done = rows("sharegpt", approved(2), branch=[*branch, agent("a2")], history="context")
    assert sides(row) == ["human", "function_call", "observation", "gpt"] * 2
    assert [message["train"] for message in row["conversations"]] == [False] * 5 + [True, False, True]
    assert done == [set()]


@pytest.mark.parametrize("history", HISTORIES)
def test_nothing_from_before_a_reset_stands_before_a_reply(history):
    branch = [message for n in range(1, 5) for message in (user(f"q{n}", n, after_reset=n == 3), agent(f"a{n}"))]
    outcomes = build_rows(shape(history), [approved(n) for n in range(1, 5)], branch)
    made = {outcome.sample.turn_number: outcome for outcome in outcomes if outcome.row}
    words = {
        number: [message["value"] for message in outcome.row["conversations"].messages]
        for number, outcome in made.items()
    }
    assert words[4] == ["q3", "a3", "q4", "a4"]
    assert words[2] == ["q1", "a1", "q2", "a2"]
    assert words.get(3, ["q3", "a3"]) == ["q3", "a3"]
    done = frozenset().union(*[outcome.changes for outcome in made.values()])
    assert done.isdisjoint({changes.HISTORY_BEGINS_LATER, changes.HISTORY_SHORTENED})


def test_unanswered_words_do_not_cross_a_reset():
    branch = [user("q1", 1), user("q2", 2, after_reset=True), agent("a2")]
    (row,), _ = rows("sharegpt", approved(2), branch=branch, history="context")
    assert values(row) == ["q2", "a2"]


def shape(history, characters=32_000):
    return Shape("sharegpt", "reply", characters, history=history)


# Every text of a branch names its role and place: U3 is by a person, A4 by the agent, T5 by a tool.

KINDS = st.sampled_from(["user", "assistant", "call", "tool", "tool"])
BRANCHES = st.lists(KINDS, max_size=40)
ROLES = {"human": "U", "gpt": "A", "observation": "T", "user": "U", "assistant": "A", "tool": "T"}


def build_branch(kinds):
    branch, calls = [], []
    for number, kind in enumerate(kinds):
        if kind == "user":
            branch.append(user(f"U{number}", None))
        elif kind == "tool":
            branch.append(build_message("tool", f"T{number}", tool_call_id=calls.pop(0) if calls else "none"))
        else:
            calls += [f"c{number}"] * (kind == "call")
            branch.append(agent(f"A{number}", *calls[-1:] if kind == "call" else ()))
    return number_turns(branch)


def read_messages(row):
    """Yield the role and the text of each message, and whether it is a learned reply."""
    for message in next((part.messages for name, part in row.items() if name in ("conversations", "messages")), ()):
        role, text = message.get("from") or message["role"], message.get("value", message.get("content"))
        if role in ROLES and text is not None:
            is_reply = ROLES[role] == "A" and "tool_calls" not in message
            yield ROLES[role], text, is_reply and message.get("train", message.get("weight", True))


def find_samples(branch, numbers):
    """A sample of each of these turns that has texts of both sides.

    The last text of the agent is the reply.
    """
    for number in sorted(numbers):
        question = next(
            (message.text for message in branch if message.role == "user" and message.turn_number == number), ""
        )
        replies = [message.text for message in branch if message.role == "assistant" and message.turn_number == number]
        if question and replies:
            yield sample(number, question, replies[-1], is_approved=number % 4 != 0)


@thorough
@given(
    kinds=BRANCHES,
    numbers=st.sets(st.integers(1, 12), min_size=1),
    history=st.sampled_from(HISTORIES),
    format_=st.sampled_from(["sharegpt", "openai"]),
)
def test_every_text_is_of_its_role_and_every_target_was_judged(kinds, numbers, history, format_):
    branch = build_branch(kinds)
    turn_of = {message.text: message.turn_number for message in branch}
    samples = list(find_samples(branch, numbers))
    judged = {known.turn_number: known.reply for known in samples if known.is_approved}
    for made in build_rows(Shape(format_, "reply", history=history), samples, branch):
        for side, text, is_learned in read_messages(made.row or {}):
            parts = text.split("\n\n")
            assert all(re.fullmatch(side + r"\d+", part) for part in parts), (side, text)
            turns = {turn_of[part] for part in parts}
            assert len(turns) == 1 or (side == "U" and history == "context")
            if is_learned:
                (turn,) = turns
                assert text == (made.sample.reply if turn == made.sample.turn_number else judged[turn])


@thorough
@given(kinds=BRANCHES, numbers=st.sets(st.integers(1, 12), min_size=1), history=st.sampled_from(HISTORIES))
def test_nothing_of_an_included_turn_is_lost_but_what_is_said(kinds, numbers, history):
    branch = build_branch(kinds)
    for made in build_rows(shape(history), list(find_samples(branch, numbers)), branch):
        if made.row is None:
            continue
        messages = made.row["conversations"].messages
        texts = [
            part
            for message in messages
            if message["from"] != "function_call"
            for part in message["value"].split("\n\n")
        ]
        by_text = {message.text: message for message in branch}
        turns = {by_text[text].turn_number for text in texts}
        of_people = [message.text for message in branch if message.role == "user" and message.turn_number in turns]
        assert [text for text in texts if text[0] == "U"] == of_people
        order = [branch.index(by_text[text]) for text in texts if text[0] != "T"]
        assert order == sorted(order)
