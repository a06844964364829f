"""A turn is taught with its calls only if it is still the judged turn.

Otherwise it is taught with the texts of its sample.
"""

import pytest

from datasets.exports import changes
from ledger.collectors import answers
from tests.datasets.exports.branches import Call, agent, result, rows, sample, sides, user, values

GROWN = [
    user("question", 1),
    agent("Let me look.", Call("a")),
    result("a", "milk"),
    agent("", Call("b", "buy")),
    result("b", "bought everything"),
    agent("Bought."),
]
ANEW = [user("question", 1), agent("", Call("b", "buy")), result("b", "bought everything"), agent("Bought.")]
OTHERS = [user("other words", 1), agent("", Call("b", "buy")), result("b", "bought everything"), agent("answer")]


@pytest.mark.parametrize("format_", ["sharegpt", "openai", "alpaca"])
@pytest.mark.parametrize("history", ["edited", "session", "context"])
@pytest.mark.parametrize(("branch", "reply"), [(GROWN, "Let me look."), (ANEW, "answer"), (OTHERS, "answer")])
def test_a_turn_that_is_not_the_one_that_was_judged_teaches_none_of_its_calls(format_, history, branch, reply):
    """The turn went on later, was answered anew, or is another turn with the same number.

    It went on after its sample was created.
    """
    later = [*branch, user("two", 2), agent("2")]
    judged = [sample(reply=reply), sample(2, "two", "2")]
    made, done = rows(format_, *judged, branch=later, history=history, tool_calls="input")
    taught = [row for row in made if row["sample_id"] == "sample-1"] if format_ != "openai" else made[:1]
    assert "bought" not in str(taught) and "buy" not in str(taught) and reply in str(taught)
    if format_ != "alpaca":
        assert changes.REBUILT in done[0]
        assert ("bought" in str(made[1:])) == (
            history == "context"
        )  # in the history of another reply it is not learned


def test_a_turn_that_only_says_more_is_still_the_one_that_was_judged():
    branch = [user("question", 1), agent("", "a"), result("a"), agent("answer"), agent("And more.")]
    (row,), (done,) = rows("sharegpt", sample(), branch=branch)
    assert sides(row) == ["human", "function_call", "observation", "gpt"] and values(row)[-1] == "answer"
    assert done == {changes.TEXT_BEFORE_REPLY_DROPPED}


@pytest.mark.parametrize("format_", ["sharegpt", "openai", "alpaca"])
@pytest.mark.parametrize("history", ["edited", "session", "context"])
def test_an_answer_that_was_sent_with_a_tool_is_taught_as_the_reply(format_, history):
    """The call that sent it is no call of a row, and the private words after it are in none."""
    sends = [Call(name, "message", {"action": "send", "message": text}) for name, text in (("m", "At"), ("n", "nine."))]
    branch = [user("When?", 1), agent("", "a"), result("a"), agent("", sends[0]), result("m", '{"ok":true}')]
    branch += [agent("", sends[1]), result("n", '{"ok":true}'), agent("I told them."), user("Thanks", 2), agent("Bye")]
    for message in branch:
        message.conversation = answers.Conversation(is_group=True)
    judged = [sample(1, "When?", "At\n\nnine."), sample(2, "Thanks", "Bye")]
    made, done = rows(format_, *judged, branch=branch, history=history, tool_calls="input")
    assert "I told them" not in str(made) and "send" not in str(made) and changes.REBUILT not in set.union(*done)
    assert str(made).count("At\\n\\nnine.") >= 1
    if format_ == "sharegpt":
        assert sides(made[0])[:4] == ["human", "function_call", "observation", "gpt"]
        assert changes.ANSWER_SENT in done[0]


@pytest.mark.parametrize("words", ["NO_REPLY", "[assistant turn failed before producing content]", "They can wait."])
def test_words_that_nobody_received_are_in_no_history(words):
    refused = [agent("", Call("m", "message", {"action": "send", "message": "Hm."})), result("m", '{"ok":false}')]
    branch = [user("When?", 1), *refused, agent(words), user("Still there?", 2), agent("Yes.")]
    for message in branch:
        message.conversation = answers.Conversation(is_group=True)
    (row,), _done = rows("sharegpt", sample(2, "Still there?", "Yes."), branch=branch, history="context")
    assert words not in str(row) and values(row) == ["When?\n\nStill there?", "Yes."]
