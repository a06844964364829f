"""The answer that a person received, by the records that OpenClaw writes."""

import json

import pytest

from ledger.collectors import answers
from ledger.collectors.answers import build_conversation, find_answer, is_canned, is_silent
from ledger.collectors.records import read_facts
from ledger.words import ANSWER_WORDS, DELIVERY_WORDS
from tests.homes import assistant, result

GROUP = build_conversation(True, ["-100777", "telegram:group:-100777:topic:3"])
DIRECT = build_conversation(False, ["+4915100000"])
# Conversations with what OpenClaw says of its runs and queued sends.
MUTE, SENT = ({"run-1": outcome} for outcome in ("suppressed", "delivered"))
TOLD = {name: build_conversation(False, ["conv_1A"], outcomes) for name, outcomes in (("mute", MUTE), ("sent", SENT))}
QUEUED = build_conversation(True, ["-100777", "conv_1A"], {"convq_1": "delivered", "convq_2": "failed"})


def send(call_id, text, **arguments):
    """A message of the agent that sends a text with the tool `message`."""
    return assistant("", (call_id, "message", {"action": "send", "message": text, **arguments}))


def sent(call_id, text='{"ok":true}', **more):
    return result(call_id, text, name="message", **more)


def mirror(text):
    return assistant(text, model="delivery-mirror")


def copied(text, kind="channel-final"):
    record = assistant(text)
    record["message"]["openclawDeliveryMirror"] = {"kind": kind}
    return record


def of_run(record, run_id="run-1"):
    record["message"]["__openclaw"] = {"runId": run_id}
    return record


def refer(call_id, text, reference="conv_1a"):
    """A message of the agent that sends a text into the conversation of a reference."""
    return assistant("", (call_id, "conversations_send", {"conversationRef": reference, "message": text}))


def queued(call_id, status, queue_id):
    return result(call_id, json.dumps({"status": status, "queueId": queue_id}), name="conversations_send")


# records, conversation, then text, state and delivery of the answer.
CASES = {
    "last words": ([assistant("Nine.")], DIRECT, "Nine.", "", "not_known"),
    "last words of several": ([assistant("Wait."), assistant("Nine.")], DIRECT, "Nine.", "", "not_known"),
    "nothing": ([], DIRECT, "", "", "not_known"),
    "a copy of what was delivered": ([assistant("Nine."), mirror("Nine.")], DIRECT, "Nine.", "", "delivered"),
    "a copy of what was kept back": (
        [assistant("Nine."), copied("Nine.", "channel-final-suppressed")],
        *(DIRECT, "Nine.", "", "suppressed"),
    ),
    "a copy whose model is gone": ([assistant("Nine."), copied("Nine.")], DIRECT, "Nine.", "", "delivered"),
    "sent, then silent": ([send("m", "Nine."), sent("m"), assistant("NO_REPLY")], GROUP, "Nine.", "", "delivered"),
    "sent, then private": ([send("m", "Nine."), sent("m"), assistant("I told them.")], GROUP, "Nine.", "", "delivered"),
    "sent in parts": (
        [send("m", "Nine."), sent("m"), send("n", "Or ten."), sent("n"), assistant("NO_REPLY")],
        *(GROUP, "Nine.\n\nOr ten.", "", "delivered"),
    ),
    "sent to its own conversation by name": (
        [send("m", "Nine.", target="telegram:-100777"), sent("m"), assistant("Done.")],
        *(GROUP, "Nine.", "", "delivered"),
    ),
    "sent to another one": (
        [send("m", "Nine.", target="telegram:-100888"), sent("m"), assistant("I told the others.")],
        *(GROUP, "I told the others.", "", "not_known"),
    ),
    "sent by name, which is not known": (
        [send("m", "Nine.", to="+49151999"), sent("m"), assistant("Sent.")],
        *(DIRECT, "Sent.", "", "not_known"),
    ),
    "sent in a direct chat": (
        [send("m", "Nine."), sent("m"), assistant("Anything else?")],
        *(DIRECT, "Nine.\n\nAnything else?", "", "delivered"),
    ),
    "sent twice the same": ([send("m", "Nine."), sent("m"), assistant("Nine.")], DIRECT, "Nine.", "", "delivered"),
    "a reaction": (
        [assistant("", ("m", "message", {"action": "react", "emoji": "x"})), sent("m"), assistant("NO_REPLY")],
        *(GROUP, "NO_REPLY", "silent", "suppressed"),
    ),
    "a trial": ([send("m", "Nine.", dryRun=True), sent("m"), assistant("So?")], GROUP, "So?", "", "not_known"),
    "failed": (
        [send("m", "Nine."), sent("m", '{"ok":false}'), assistant("I could not send it.")],
        *(GROUP, "I could not send it.", "private", "failed"),
    ),
    "failed, then sent": (
        [send("m", "Nine."), sent("m", isError=True), send("n", "Nine!"), sent("n"), assistant("NO_REPLY")],
        *(GROUP, "Nine!", "", "delivered"),
    ),
    "sent without a result yet": ([send("m", "Nine.")], GROUP, "Nine.", "", "not_known"),
    "a picture": (
        [send("m", "", media="/tmp/map.png"), sent("m"), assistant("NO_REPLY")],
        *(GROUP, "", "pictures", "delivered"),
    ),
    "sent with markers": (
        [send("m", "[[reply_to_current]] Nine.\nMEDIA: ./map.png"), sent("m"), assistant("NO_REPLY")],
        *(GROUP, "Nine.", "", "delivered"),
    ),
    "sent as a picture alone": (
        [send("m", "MEDIA: ./map.png"), sent("m"), assistant("NO_REPLY")],
        *(GROUP, "", "pictures", "delivered"),
    ),
    "silent": ([assistant("NO_REPLY")], DIRECT, "NO_REPLY", "silent", "suppressed"),
    "a fixed text": (
        [assistant("[assistant turn failed before producing content]")],
        *(DIRECT, "[assistant turn failed before producing content]", "canned", "not_known"),
    ),
    "a mute run": ([of_run(assistant("Nine."))], TOLD["mute"], "Nine.", "private", "suppressed"),
    "a mute run that said nothing": ([of_run(assistant("NO_REPLY"))], TOLD["mute"], "NO_REPLY", "silent", "suppressed"),
    "a mute run after an attempt": (
        [of_run(send("m", "Nine.")), sent("m", isError=True), of_run(assistant("It failed."))],
        *(TOLD["mute"], "It failed.", "private", "failed"),
    ),
    "a run that sent": (
        [of_run(send("m", "Nine.")), of_run(assistant("I told them."))],
        *(TOLD["sent"], "Nine.", "", "delivered"),
    ),
    "a run that sent in a way that is not known": (
        [of_run(assistant("I told them."))],
        *(TOLD["sent"], "I told them.", "private", "not_known"),
    ),
    "another run": ([of_run(assistant("Nine."), "run-2")], TOLD["mute"], "Nine.", "", "not_known"),
    "sent by reference": (
        [refer("m", "Nine."), queued("m", "queued", "convq_1"), assistant("NO_REPLY")],
        *(QUEUED, "Nine.", "", "delivered"),
    ),
    "sent by reference, later refused": (
        [refer("m", "Nine."), queued("m", "queued", "convq_2"), assistant("NO_REPLY")],
        *(QUEUED, "NO_REPLY", "silent", "failed"),
    ),
    "sent by reference, its end is open": (
        [refer("m", "Nine."), queued("m", "queued", "convq_3"), assistant("NO_REPLY")],
        *(QUEUED, "Nine.", "", "not_known"),
    ),
    "sent by another reference": (
        [refer("m", "Nine.", "conv_2b"), queued("m", "sent", "convq_4"), assistant("NO_REPLY")],
        *(QUEUED, "NO_REPLY", "silent", "suppressed"),
    ),
    "cut off": ([assistant("Nine and", stopReason="length")], DIRECT, "Nine and", "cut_off", "not_known"),
    "interrupted": ([assistant("Let me look.", ("c", "exec", {}))], DIRECT, "Let me look.", "interrupted", "not_known"),
}


@pytest.mark.parametrize(("records", "conversation", "text", "state", "delivery"), CASES.values(), ids=CASES)
def test_the_answer_is_what_the_person_received(records, conversation, text, state, delivery):
    for record in records:  # as `assistant` cannot set a message's own stop reason
        if "stopReason" in record:
            record["message"]["stopReason"] = record.pop("stopReason")
    answer = find_answer([read_facts(json.loads(json.dumps(record))) for record in records], conversation)
    assert (answer.text, answer.state, answer.delivery) == (text, state, delivery)


def test_words_after_a_send_in_a_group_are_private():
    records = [send("m", "Nine."), sent("m"), assistant("I told them.")]
    answer = find_answer([read_facts(record) for record in records], GROUP)
    assert (answer.private, answer.place, answer.sent) == ("I told them.", 0, [(0, "m")])


SILENT = (
    "NO_REPLY", " no_reply \n", "**NO_REPLY**", "NO_REPLY NO_REPLY", "`NO_REPLY`.", '"NO_REPLY"', "ANNOUNCE_SKIP",
    '{"action":"NO_REPLY"}', '{"action": " NO_REPLY "}', "<think>Not for me.</think>\nNO_REPLY", "REPLY_SKIP",
    "HEARTBEAT_OK", "HEARTBEAT_OK nothing new", "All quiet. HEARTBEAT_OK", "I'll stay quiet for now.\nNO_REPLY",
)  # fmt: skip
SPOKEN = (
    "", "No reply yet from the shop.", "NO_REPLY is the token with which I say nothing.", "Write NO_REPLY, then stop.",
    '{"action":"NO_REPLY","text":"Nine."}', "NO REPLY", "The log has HEARTBEAT_OK in each line.", "no",
)  # fmt: skip
CANNED = (
    "[assistant turn failed before producing content]", "LLM request failed: provider rejected the request schema.",
    "⚠️ Something went wrong while processing your request. Please try again.", "⚠️ API rate limit reached. Please wait.",
    "The AI service is temporarily overloaded. Please try again in a moment.", "⚠ Gateway is restarting. Please wait.",
)  # fmt: skip
OWN_WORDS = (
    "⚠️ The bridge is closed tonight.", "The LLM request failed because the key had expired.", "⚠️ Storm warning",
    "I could not send it: something went wrong while processing your request.", "Context overflow is when …",
    "Missing API key for the weather service: please add one.",
)  # fmt: skip


def test_replies_that_are_not_sent_are_known_in_every_spelling():
    assert [text for text in SILENT if not is_silent(text)] == []
    assert [text for text in SPOKEN if is_silent(text)] == []


def test_texts_of_openclaw_in_the_assistants_place_are_known():
    assert [text for text in CANNED if not is_canned(text)] == []
    assert [text for text in OWN_WORDS if is_canned(text)] == []


def test_every_state_and_delivery_has_a_word():
    assert tuple(ANSWER_WORDS) == answers.STATES
    assert tuple(DELIVERY_WORDS) == answers.DELIVERIES
