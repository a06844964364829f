"""What the rules, reasons and changes of an export are called on pages, in the terminal and in answers."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ..exporters import changes
from ..exporters.training_rows import DECISION_INCORRECT, DECISION_UNKNOWN, NO_DECISION
from ..models import DatasetExport

FORMAT_WORDS = {
    DatasetExport.Format.ALPACA: gettext_lazy("Alpaca: instruction and output"),
    DatasetExport.Format.SHAREGPT: gettext_lazy("ShareGPT: the conversation up to the turn"),
}
TASK_WORDS = {
    DatasetExport.Task.REPLY: gettext_lazy("Reply: what the agent should answer"),
    DatasetExport.Task.GATE: gettext_lazy("Gate: what memory_gate should decide"),
}
STATE_WORDS = {
    DatasetExport.State.WAITING: gettext_lazy("Waiting"),
    DatasetExport.State.RUNNING: gettext_lazy("Being written"),
    DatasetExport.State.READY: gettext_lazy("Ready"),
    DatasetExport.State.REFUSED: gettext_lazy("Refused"),
    DatasetExport.State.FAILED: gettext_lazy("Failed"),
}
RULES = {
    "unreadable": gettext_lazy("The sample cannot be read: its content is not what its type promises."),
    "empty": gettext_lazy("A text is empty (%(place)s). Reject the sample, or edit its reply."),
    "columns": gettext_lazy("The row has other columns than its format (%(place)s)."),
    "not_text": gettext_lazy("A column holds something else than a text (%(place)s)."),
    "odd_count": gettext_lazy("The conversation does not consist of pairs of question and answer."),
    "message_keys": gettext_lazy("Message %(place)s does not consist of two texts."),
    "alternation": gettext_lazy("Message %(place)s is on the wrong side: sides must alternate, the user begins."),
    "call_without_result": gettext_lazy("Message %(place)s should be the result of the tool call before it."),
    "result_without_call": gettext_lazy("Message %(place)s is a tool result without a call before it."),
    "call": gettext_lazy("Message %(place)s is no tool call that a trainer can read."),
    "tools": gettext_lazy("The list of tools is no JSON list."),
    "no_reply": gettext_lazy("The conversation does not end with a reply (message %(place)s)."),
    "dates": gettext_lazy(
        "Every text of the column %(place)s looks like a date, so trainers would read dates instead of texts. "
        "Add samples with other texts."
    ),
}
EXCLUSIONS = {
    "rejected": gettext_lazy("Rejected"),
    "not_approved": gettext_lazy("Not approved yet"),
    "low_quality": gettext_lazy("Below the lowest quality, or without a score"),
    "no_turn": gettext_lazy("Not about a turn"),
    "not_a_turn": gettext_lazy("Of a type that holds no user text and reply"),
    NO_DECISION: gettext_lazy("Without a memory_gate decision"),
    DECISION_INCORRECT: gettext_lazy("With a wrong memory_gate decision that nobody corrected"),
    DECISION_UNKNOWN: gettext_lazy("With a memory_gate decision that does not exist"),
    changes.OUTPUT_LOST: gettext_lazy("With a tool's output whose stored content is missing or damaged"),
    changes.OUTPUT_FLAGGED: gettext_lazy("With a tool's output that may hold secrets"),
}
CHANGES = {
    changes.CHARACTERS_REPLACED: gettext_lazy("Unusable characters replaced by U+FFFD"),
    changes.REPLY_EDITED: gettext_lazy("Reply as a person edited it"),
    changes.HISTORY_SHORTENED: gettext_lazy("Oldest turns left out to keep the row short enough"),
    changes.TOOL_RESULTS_SHORTENED: gettext_lazy("Tool results of the last turn cut to keep the row short enough"),
    changes.OVER_THE_BUDGET: gettext_lazy("Longer than asked for: the words of the turn alone are"),
    changes.REBUILT: gettext_lazy("Rebuilt from the sample, because the turn is not in the transcript any more"),
    changes.MESSAGES_MERGED: gettext_lazy("Messages of the same side merged"),
    changes.TOOL_RESULTS_MERGED: gettext_lazy("Results of parallel tool calls merged"),
    changes.TEXT_BEFORE_CALL_DROPPED: gettext_lazy("Agent's words before a tool call left out"),
    changes.TEXT_BEFORE_CALL_KEPT: gettext_lazy("Agent's words before a tool call kept as its thought"),
    changes.TEXT_BEFORE_REPLY_DROPPED: gettext_lazy("Agent's words just before the reply left out"),
    changes.CALLS_DROPPED: gettext_lazy("Unanswered tool calls left out"),
    changes.RESULTS_DROPPED: gettext_lazy("Tool results without their call left out"),
    changes.SYNTHETIC_DROPPED: gettext_lazy("Copies of replies (delivery mirrors, gateway messages) left out"),
    changes.OPENING_DROPPED: gettext_lazy("Agent's words before the first user message left out"),
    changes.TEXTLESS_DROPPED: gettext_lazy("Turns without text left out"),
    changes.OUTPUT_FLAGGED: gettext_lazy("With outputs that may hold secrets, as an admin asked for"),
}


def reasons(broken: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Rows that broke a rule as `{"id", "reason"}`, the reason a sentence."""
    return [{"id": entry["id"], "reason": RULES[entry["rule"]] % {"place": entry["place"]}} for entry in broken]


def left_out(excluded: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    """The samples that an export leaves out as `{"id", "reason"}`, those of each reason together."""
    return [
        {"id": sample_id, "reason": str(EXCLUSIONS[reason])}
        for reason, found in excluded.items()
        for sample_id in found["samples"]
    ]


def nothing_left(excluded: dict[str, dict[str, Any]]) -> str:
    """Why an export would be empty, and what to do about it."""
    if not excluded:
        return _("There are no samples for these options. Make some from the turns of a session first.")
    parts = [f"{EXCLUSIONS[reason]}: {found['count']:,}" for reason, found in excluded.items()]
    if changes.OUTPUT_FLAGGED in excluded:
        advice = _("An admin may include samples with outputs that may hold secrets.")
    elif NO_DECISION in excluded:
        advice = _("Choose the task reply, or samples of turns that memory_gate decided about.")
    elif "not_approved" in excluded:
        advice = _("Approve some samples, or also include the ones nobody has judged yet.")
    else:
        advice = _("Choose other options.")
    return _("Nothing is left to export (%(why)s). %(advice)s") % {"why": "; ".join(parts), "advice": advice}
