"""Words of a window as turns hold them: without envelopes, and with what prompted them."""

from dataclasses import replace
from typing import Any

from gate.recording.windows import Window
from ledger.collectors.message_unwrapping import unwrap_message

from .. import turn_facts
from ..exporters.samples import ENVELOPE, UNRECOGNIZED


def unwrap_window(window: Window) -> Window:
    """The window without what OpenClaw puts around words of people; a message that is nothing else is left out."""
    recent = ({**message, "message": _plain(message["role"], message["message"])} for message in window.recent)
    return replace(
        window,
        recent=tuple(message for message in recent if message["message"]),
        user=window.user and unwrap_message(window.user).words,
    )


def read_facts(window: Window) -> dict[str, Any]:
    """turn_facts.COLUMNS of a sample without a turn: its last message of a user counts as the question.

    Words of any of its users that look wrapped and are not understood count, since a row of the gate holds them all.
    """
    plain = unwrap_window(window)
    asked = [message["message"] for message in plain.recent if message["role"] == "user"]
    question = plain.user or (asked[-1] if asked else "")
    found = ((ENVELOPE, plain != window), (UNRECOGNIZED, _is_odd(window)))
    traits = " ".join(name for name, is_so in found if is_so)
    return turn_facts.columns(turn_facts.prompted_by(question, plain.reply or ""), "", traits)


def _is_odd(window):
    texts = (message["message"] for message in window.recent if message["role"] == "user")
    return any(unwrap_message(text).unknown for text in (*texts, window.user or ""))


def _plain(role, text):
    return unwrap_message(text).words if role == "user" else text
