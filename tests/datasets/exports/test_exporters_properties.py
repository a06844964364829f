"""Trainers accept the rows of any branch."""

import json

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets.exports import changes
from datasets.exports.files import encode_line
from datasets.exports.formats import COLUMNS, FORMATS
from datasets.exports.histories import HISTORIES, SHORTEST_RESULT
from datasets.exports.rows import Shape, build_rows
from datasets.exports.rules import find_broken_rules
from datasets.exports.turns import PARALLEL
from datasets.json_texts import BAD
from tests.datasets.exports.branches import Call, build_message, gate, sample

CHARACTERS = st.characters(codec=None) | st.sampled_from("\x00\ud83d\u2028\ufeff 导🔧")
TEXTS = st.text(CHARACTERS, max_size=40)
WORDS = TEXTS.filter(lambda text: BAD.sub("x", text).strip())
IDS = st.sampled_from(["a", "b", "c", "", None])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS, lambda inner: st.lists(inner, max_size=3)
)
CALLS = st.builds(
    Call,
    id=st.sampled_from("abc"),
    name=st.sampled_from(["exec", "read", ""]),
    arguments=st.dictionaries(TEXTS, JSON, max_size=3),
)
ASSISTANTS = st.builds(
    build_message, role=st.just("assistant"), text=TEXTS, calls=st.lists(CALLS, max_size=3), is_synthetic=st.booleans()
)
RESULTS = st.builds(build_message, role=st.just("tool"), text=TEXTS, tool_call_id=IDS, is_failed=st.booleans())
USERS = st.builds(build_message, role=st.just("user"), text=TEXTS)
BRANCHES = st.lists(USERS | ASSISTANTS | RESULTS | RESULTS, max_size=40)
CONTEXTS = st.lists(st.tuples(st.sampled_from(["user", "agent"]), WORDS), max_size=8)
thorough = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def number_turns(branch):
    """Number the turns of the branch as the ledger does."""
    number = 0
    for message in branch:
        number += message.role == "user"
        message.turn_number = number or None
    return branch


def read_last_message(row):
    """The role and the text of the last message."""
    messages = next(iter(row.values()))
    return tuple(messages[-1].values())[:2]


@thorough
@given(
    branch=BRANCHES.map(number_turns),
    turns=st.lists(st.tuples(st.integers(1, 9), WORDS, WORDS, CONTEXTS), min_size=1, max_size=5),
    characters=st.integers(50, 400),
    history=st.sampled_from(HISTORIES),
    format_=st.sampled_from(["sharegpt", "sharegpt_reflection", "openai", "messages"]),
    parallel=st.sampled_from(PARALLEL),
)
def test_every_conversation_is_one_a_trainer_takes(branch, turns, characters, history, format_, parallel):
    samples = [sample(number, question, reply, context=context) for number, question, reply, context in sorted(turns)]
    outcomes = list(build_rows(Shape(format_, "reply", characters, history, parallel_calls=parallel), samples, branch))
    taught = [sample for outcome in outcomes for sample in (*outcome.others, outcome.sample)]
    assert sorted(map(id, taught)) == sorted(map(id, samples))
    for judged, row, done in (
        (outcome.sample, outcome.row, outcome.changes) for outcome in outcomes if outcome.row is not None
    ):
        line, row, _ = encode_line(row, done)
        assert find_broken_rules(format_, row) == []
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        read = orjson.loads(line)
        assert tuple(read) == COLUMNS[format_]
        assert find_broken_rules(format_, read) == []
        assert read_last_message(read) == (
            "gpt" if format_.startswith("sharegpt") else "assistant",
            BAD.sub("\ufffd", judged.reply),
        )


@thorough
@given(
    branch=BRANCHES.map(number_turns),
    turn=st.integers(1, 9),
    question=WORDS,
    reply=WORDS,
    characters=st.integers(50, 400),
    kind=st.sampled_from(["sharegpt", "openai"]),
)
def test_a_row_is_longer_than_asked_only_by_its_own_turn(branch, turn, question, reply, characters, kind):
    facts = FORMATS[kind]
    dialect = facts.dialect
    (made,) = build_rows(Shape(kind, "reply", characters), [sample(turn, question, reply)], branch)
    conversation = made.row[facts.lists[0]]
    if dialect.size(conversation.messages) > characters:
        assert len(conversation.exchanges) == 1  # nothing of an earlier turn is left
        results = [message for message in conversation.messages if message[dialect.role] == dialect.result]
        assert all(len(message[dialect.text]) <= SHORTEST_RESULT + 60 for message in results)


@thorough
@given(branch=BRANCHES.map(number_turns), turn=st.integers(1, 9), question=WORDS, reply=WORDS)
def test_a_result_is_what_the_tool_returned_with_a_mark_where_it_failed(branch, turn, question, reply):
    for number, message in enumerate(entry for entry in branch if entry.role == "tool"):
        message.text = f"result {number}"
    expected = {f"[error] {entry.text}" if entry.is_failed else entry.text for entry in branch if entry.role == "tool"}
    (made,) = build_rows(Shape("sharegpt", "reply"), [sample(turn, question, reply)], branch)
    messages = made.row["conversations"].messages
    pieces = [piece for entry in messages if entry["from"] == "observation" for piece in entry["value"].split("\n\n")]
    assert set(pieces) <= expected and len(set(pieces)) == len(pieces)
    (folded,) = build_rows(Shape("alpaca", "reply", tool_calls="input"), [sample(turn, question, reply)], branch)
    assert [block.split("Result:\n")[-1] for block in folded.row["input"].split("\n\nTool: ") if block] == pieces
    marked = changes.ERRORS_MARKED in encode_line(made.row, made.changes)[2]
    assert marked == (changes.ERRORS_MARKED in folded.changes) == any(piece.startswith("[error]") for piece in pieces)


@thorough
@given(question=WORDS, reply=WORDS, context=CONTEXTS, fact=TEXTS, format_=st.sampled_from([*COLUMNS]))
def test_every_decision_is_a_row_a_trainer_takes(question, reply, context, fact, format_):
    samples = [sample(1, question, reply, context=context, gate=gate(fact=fact))]
    for task in ("reply", "gate"):
        for made in build_rows(Shape(format_, task, 2_000), samples):
            row, done = made.row, made.changes
            if row is None:  # nobody corrected an answer
                assert FORMATS[format_].is_paired
                continue
            line, row, _ = encode_line(row, done)
            read = json.loads(line)
            assert tuple(read) == COLUMNS[format_]
            assert find_broken_rules(format_, row) == find_broken_rules(format_, read) == []
            assert not BAD.search(json.dumps(read, ensure_ascii=False))
