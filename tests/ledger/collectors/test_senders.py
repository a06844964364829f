"""Senders of messages, and messages that are withheld while somebody is opted out."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.collectors.records import read_facts
from ledger.collectors.senders import WithheldReason, find_sender_ids, find_withheld_reason, is_opted_out
from tests.ledger.collectors.envelope_table import BLOCKS, ENDS, MARK
from tests.ledger.collectors.test_records import RECORDS

BOB = frozenset({"bob!bob@host.fake", "bob"})


def spelled(label, value, *, new):
    header = f"{label}: {MARK}" if new else f"{label} (untrusted metadata):"
    return f"{header}\n```json\n{orjson.dumps(value).decode()}\n```\n\n"


def read(text, **own):
    more = {"__openclaw": own} if own else {}
    return read_facts({"type": "message", "message": {"role": "user", "content": text, **more}})


def find_reason(text, *, opted_out=BOB, is_group=True, **own):
    parsed = read(text, **own)
    return find_withheld_reason(parsed.sender, parsed.envelope, opted_out, is_group=is_group)


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize(
    ("blocks", "ids"),
    [
        (
            [("Sender", {"label": "Ada (42)", "name": "Ada", "username": "ada", "e164": "+1", "id": "42"})],
            {"Ada", "42"},
        ),
        ([("Conversation info", {"sender": "Ada", "sender_id": "42"})], {"Ada", "42"}),
        (
            [("Conversation info", {"sender": {"name": "Ada", "username": "ada", "e164": "+1", "id": "42"}})],
            {"Ada", "42"},
        ),
        ([("Conversation info", {"sender_id": "42"}), ("Sender", {"name": "Ada"})], {"Ada", "42"}),
    ],
)
def test_who_spoke(blocks, ids, new):
    parsed = read("".join(spelled(label, value, new=new) for label, value in blocks) + "Hello")
    assert parsed.text == "Hello"
    assert find_sender_ids(parsed.sender) >= ids
    assert "timestamp" not in parsed.sender


def test_the_record_itself_says_who_spoke():
    assert find_sender_ids(read("Hello", senderId="42", senderName="Ada").sender) == {"42", "Ada"}


def test_the_first_block_counts_and_later_ones_are_people_too():
    text = (
        spelled("Sender", {"id": "42", "name": "Ada"}, new=True) + "One\n\n" + spelled("Sender", {"id": "7"}, new=True)
    )
    parsed = read(text + "Two")
    assert parsed.sender["id"] == "42"
    assert find_sender_ids(parsed.sender) == {"42", "Ada", "7"}


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("bob", "bob"),
        ("Bob", "bob"),
        ("@bob", "bob"),
        ("irc:bob", "bob"),
        ("bob", "irc:bob"),
        ("bob!bob@host.fake", "bob"),
        ("bob", "bob!bob@host.fake"),
        ("Bob Smith (@bob)", "bob"),
        ("Bob Smith (id:42)", "42"),
        ("  Bob   Smith ", "bob smith"),
    ],
)
def test_spellings_of_one_person(name, listed):
    assert is_opted_out([name], frozenset({listed}))
    assert not is_opted_out([name, None, ""], frozenset({"carol", "bobby", "4"}))


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("is_group", [False, True])
def test_a_person_who_opted_out_is_withheld_wherever_they_speak(is_group, new):
    for label, value in (
        ("Conversation info", {"sender_id": "bob!bob@host.fake"}),
        ("Conversation info", {"sender": {"name": "Bob"}}),
        ("Sender", {"label": "bob"}),
        ("Sender", {"name": "BOB"}),
    ):
        assert find_reason(spelled(label, value, new=new) + "Hello", is_group=is_group) == WithheldReason.SENDER
    assert find_reason("Hello", is_group=is_group, senderName="bob") == WithheldReason.SENDER
    assert (
        find_reason("Hello", is_group=is_group, senderIdentity={"username": "bob"}, senderId="9")
        is not WithheldReason.QUOTE
    )


def test_of_several_senders_one_is_enough():
    text = spelled("Sender", {"id": "42"}, new=True) + "One\n\n" + spelled("Sender", {"name": "bob"}, new=True) + "Two"
    assert find_reason(text) == WithheldReason.SENDER


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "[Sat 2026-11-21 11:16 GMT+8] Hello",
        spelled("Conversation info", {"timestamp": "Sat"}, new=True) + "Hello",
        spelled("Conversation info", {"sender": {}, "sender_id": ""}, new=False) + "Hello",
        f"Sender: {MARK}\n```json\n{{broken\n```\n\nHello",
        f"Sender: {MARK}\n```json\n{{\n\nHello",
        spelled("Sender", {"id": "42"}, new=True) + f"Sender: {MARK}\n```json\n{{broken\n```\n\nHello",
        "[Telegram Lab id:-100 2026-01-30 11:10] Ada: Hello",
    ],
)
def test_in_a_group_a_sender_who_cannot_be_told_is_withheld(text):
    assert find_reason(text) == WithheldReason.UNKNOWN_SENDER
    assert find_reason(text, is_group=False) is None
    in_group = spelled("Conversation info", {"is_group_chat": True}, new=True)
    assert find_reason(in_group + text, is_group=False) == WithheldReason.UNKNOWN_SENDER


ADA = spelled("Conversation info", {"sender_id": "42", "sender": "Ada"}, new=True)


@pytest.mark.parametrize("block", [block for block in BLOCKS + ENDS if '"id"' not in block])
def test_in_a_group_what_may_quote_them_is_withheld(block):
    quotes = not block.startswith(("Image turn", "Delivery", "Context:\n", "Untrusted context")) or "topic" in block
    assert find_reason(f"{ADA}{block}\n\nHello") == (WithheldReason.QUOTE if quotes else None)


@pytest.mark.parametrize("label", ["Thread starter", "Reply target of current user message", "A label to come"])
def test_a_quote_is_kept_where_everybody_is_told_by_an_id(label):
    def quoting(value):
        return f"{ADA}{label}: {MARK}\n```json\n{orjson.dumps(value).decode()}\n```\n\nHello"

    assert find_reason(quoting({"sender_id": "7", "sender": "Carol", "body": "x"})) is None
    assert find_reason(quoting([{"sender": {"id": "7"}, "body": "x"}])) is None
    assert find_reason(quoting({"sender_label": "Carol", "body": "x"})) == WithheldReason.QUOTE
    assert find_reason(quoting([{"sender_id": "7", "body": "x"}, {"body": "y"}])) == WithheldReason.QUOTE
    assert find_reason(quoting([{"sender_id": "7", "sender_username": "bob", "body": "x"}])) == WithheldReason.QUOTE
    assert find_reason(quoting([{"sender_id": "7", "forwarded_from": "B.", "body": "x"}])) == WithheldReason.QUOTE


def test_elsewhere_a_quote_is_withheld_when_it_names_them_and_a_forwarded_message_unless_an_id_tells():
    reply = (
        f'Reply target of current user message: {MARK}\n```json\n{{"sender_label": "%s", "body": "x"}}\n```\n\nHello'
    )
    history = f"Chat history since last reply: {MARK}\n#1 %s: hi\n\nHello"
    for text in (reply, history):
        assert find_reason(text % "Bob", is_group=False) == WithheldReason.QUOTE
        assert find_reason(text % "Bobby", is_group=False) is None
    assert (
        find_reason(spelled("Forwarded message context", {"from": "B."}, new=True) + "x", is_group=False)
        == WithheldReason.QUOTE
    )
    assert (
        find_reason("System: [2026-11-21 11:10] Slack message from bob: hi\n\nHello", is_group=False)
        == WithheldReason.QUOTE
    )
    assert find_reason(ADA + "System: [2026-11-21 11:10] Slack message: hi\n\nHello") == WithheldReason.QUOTE


@given(st.dictionaries(st.sampled_from(["sender", "sender_id", "name", "id", "label"]), RECORDS), RECORDS)
def test_no_value_in_a_block_makes_it_fail(value, own):
    try:
        inside = orjson.dumps(value).decode()
    except TypeError:  # an integer that no JSON reader of ours gives
        return
    for label in ("Sender", "Conversation info", "Reply target of current user message"):
        text = f"{label}: {MARK}\n```json\n{inside}\n```\n\nHello"
        parsed = read_facts({"type": "message", "message": {"role": "user", "content": text, "__openclaw": own}})
        assert parsed.text == "Hello"
        orjson.dumps(parsed.sender)
        find_withheld_reason(parsed.sender, parsed.envelope, BOB, is_group=True)
