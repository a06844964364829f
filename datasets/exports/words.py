"""Texts of an export's rules, reasons and changes, for pages, terminal and API."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ledger.collectors import placeholders
from openclaw_web import amounts
from openclaw_web.pages import states

from ..dedup.split_plan import (
    DOMINANT_SET,
    DUPLICATE,
    KEEP,
    LEFT_OUT,
    MOVING_SIDES,
    ONE,
    OVER_SESSION,
    OVER_TOOL,
    OVER_TWINS,
)
from ..finding_values.words import KIND_WORDS
from ..models import DatasetExport
from ..sample_texts import CONTENT_ELSEWHERE, CONTENT_STALE
from ..words import EXCLUDED_WORDS
from . import changes, histories, options, rules, turns
from . import prompt_columns as prompts
from .changes import AFTER_GAP, BEYOND_ROW, RESTS_ON_TOOLS, SAME_TURN
from .formats import FEW_ROWS, LARGE_FILE
from .rows import (
    CONTENT_UNKNOWN,
    DECISION_INCORRECT,
    DECISION_UNKNOWN,
    NO_DECISION,
    NO_PAIR,
    OVERRULED,
    SAME_ANSWER,
    UNEXPLAINED,
    WRITE_INCORRECT,
    WRITE_UNKNOWN,
)
from .turns import LIST, SPLIT

LISTED = 20  # samples that were left out for a reason, on one page
FORMAT_WORDS = {
    DatasetExport.Format.ALPACA: gettext_lazy("Alpaca: instruction and output"),
    DatasetExport.Format.SHAREGPT: gettext_lazy("ShareGPT: the conversation up to the turn"),
    DatasetExport.Format.OPENAI: gettext_lazy("OpenAI: the conversation, for chat fine-tuning"),
    DatasetExport.Format.MESSAGES: gettext_lazy(
        "Messages: the conversation with calls as objects, for TRL and Axolotl"
    ),
    DatasetExport.Format.PARQUET: gettext_lazy("Parquet: the same messages as a Parquet file"),
    DatasetExport.Format.SHAREGPT_REFLECTION: gettext_lazy("ShareGPT of the spec: decisions stand in the messages"),
    DatasetExport.Format.PREFERENCE: gettext_lazy("Preference pairs for TRL: corrected and original answers"),
    DatasetExport.Format.OPENAI_PREFERENCE: gettext_lazy("Preference pairs for OpenAI"),
    DatasetExport.Format.LLAMAFACTORY_PREFERENCE: gettext_lazy("Preference pairs for LLaMA-Factory"),
    DatasetExport.Format.KTO: gettext_lazy("KTO: approved and rejected answers with their label, for TRL"),
    DatasetExport.Format.RAW: gettext_lazy("Raw: samples as they are stored, as JSON lines"),
    DatasetExport.Format.CSV: gettext_lazy("CSV: samples as a table for spreadsheets"),
}
TRAINER_WORDS = {
    "trl": "TRL",
    "llamafactory": "LLaMA-Factory",
    "axolotl": "Axolotl",
    "openai": "OpenAI",
    "table": gettext_lazy("A table, or another program"),
}
TASK_WORDS = {
    DatasetExport.Task.REPLY: gettext_lazy("Reply: what the agent should answer"),
    DatasetExport.Task.GATE: gettext_lazy("Gate: what memory_gate should decide"),
    DatasetExport.Task.GUARDIAN: gettext_lazy("Guardian: what write_guardian should write or refuse"),
}
HISTORY_WORDS = {
    histories.EDITED: gettext_lazy("Approved turns only, with edited replies"),
    histories.SESSION: gettext_lazy("One row per session, up to the first turn that is not approved"),
    histories.CONTEXT: gettext_lazy("All earlier turns, marked as not to be learned"),
}
TOOL_CALL_WORDS = {
    turns.KEEP: gettext_lazy("Included"),
    turns.LEAVE_OUT: gettext_lazy("Left out, with the turns whose reply rests on them"),
    turns.INPUT: gettext_lazy("Exported with the tool calls and results as input"),
}
# What is left out unless it is included.
INCLUDED_WORDS = {
    options.INJECTED: gettext_lazy("Turns that OpenClaw started itself"),
    options.CUT_OFF: gettext_lazy("Replies that were cut off"),
    options.UNRECOGNIZED: gettext_lazy("Messages in unknown envelopes"),
    options.INTERRUPTED: gettext_lazy("Answers that ended with a tool call"),
    options.PICTURES: gettext_lazy("Questions with a picture or file"),
    options.UNRECEIVED: gettext_lazy("Answers that nobody received"),
    options.CHANGED: gettext_lazy("Turns whose words have changed since their verdict"),
    options.ROLLED_BACK: gettext_lazy("Writes that were rolled back, and their turns"),
    options.UNEXPLAINED: gettext_lazy("Corrected decisions without a reason, in preference pairs"),
    options.FLAGGED: gettext_lazy("Keys and passwords that nobody has judged"),
}
PARALLEL_WORDS = {
    LIST: gettext_lazy("Calls in one message, then their results"),
    SPLIT: gettext_lazy("One call after the other, each followed by its result"),
}
PROMPT_WORDS = {prompts.SYSTEM: gettext_lazy("System prompt"), prompts.TOOLS: gettext_lazy("Tools")}
NOT_FILLED = {
    prompts.NOT_RECORDED: gettext_lazy("Not recorded for the turn"),
    placeholders.TRUNCATED: gettext_lazy("Truncated by OpenClaw"),
    placeholders.REDACTED: gettext_lazy("Partly redacted by OpenClaw"),
    placeholders.UNKNOWN_FORM: gettext_lazy("In an unknown form"),
    prompts.TOO_LONG: gettext_lazy("Longer than the maximum"),
    prompts.LOST: gettext_lazy("Stored content missing or damaged"),
    prompts.CALLS_LEFT_OUT: gettext_lazy("Tools of rows from which calls are left out"),
    prompts.WITHHELD: gettext_lazy("Of a session with withheld messages"),
    prompts.FLAGGED: gettext_lazy("With a key or password that nobody has judged"),
    prompts.OPTED_OUT: gettext_lazy("Of files with lines that may be those of somebody who opted out"),
}
ALTERED = {
    prompts.WITH_PLACEHOLDERS: gettext_lazy("With placeholders for values of the moment"),
    prompts.INFERRED: gettext_lazy("Inferred from stored calls"),
    prompts.REBUILT: gettext_lazy("Rebuilt from stored files"),
}
DUPLICATE_WORDS = {
    ONE: gettext_lazy("Export one of each group"),
    KEEP: gettext_lazy("Export all, with their sessions in the same part of the split"),
}
CAP_WORDS = {
    "max_per_session": gettext_lazy("Most samples of a session"),
    "max_per_tool": gettext_lazy("Most samples of a tool"),
    "max_per_twins": gettext_lazy("Most samples that say the same"),
}
SPLIT_WORDS = {
    "session": gettext_lazy("By what sessions say, in the chosen shares"),
    "time": gettext_lazy("By time: sessions that ended before a day for training, the others for testing"),
}
RULES = {
    "unreadable": gettext_lazy("The sample cannot be read: its content does not match its type."),
    "empty": gettext_lazy("A text is empty (%(place)s). Reject the sample, or edit its reply."),
    "columns": gettext_lazy("The columns of the row do not match its format (%(place)s)."),
    "not_text": gettext_lazy("A column contains something other than text (%(place)s)."),
    "odd_count": gettext_lazy("The conversation does not consist of question-and-answer pairs."),
    "message_keys": gettext_lazy("Message %(place)s does not consist of what its format asks for."),
    "alternation": gettext_lazy("Message %(place)s has the wrong role: roles must alternate, starting with the user."),
    "call_without_result": gettext_lazy("Message %(place)s should be the result of the tool call before it."),
    "result_without_call": gettext_lazy("Message %(place)s is a tool result without a preceding call."),
    "call": gettext_lazy("Message %(place)s is not a tool call that a trainer can read."),
    "call_id": gettext_lazy("Message %(place)s uses the id of another tool call."),
    "weight": gettext_lazy("Message %(place)s does not say whether to learn it, but others do."),
    "tools": gettext_lazy("The tools are not a list of functions that trainers can read."),
    "answers": gettext_lazy("The answers are not one message each, or they say the same."),
    "no_reply": gettext_lazy("The conversation does not end with a reply (message %(place)s)."),
    "dates": gettext_lazy(
        "Every text in the column %(place)s looks like a date, so trainers would read dates instead of "
        "text. Add samples with other texts."
    ),
}
EXCLUSIONS = {
    changes.NOT_CHECKED: gettext_lazy("Not checked yet for personal data and secrets"),
    "rejected": states.word("rejected"),
    "repeated": gettext_lazy("Of a turn copied from another session, which has the turn itself"),
    "not_approved": gettext_lazy("Not approved yet"),
    **EXCLUDED_WORDS,
    "cut_off": gettext_lazy("With a reply that was cut off"),
    RESTS_ON_TOOLS: gettext_lazy("With a reply that rests on tool results, which the row would not contain"),
    "low_quality": gettext_lazy("Below the minimum quality"),
    "no_score": gettext_lazy("Without a quality score, while a minimum is set"),
    "no_turn": gettext_lazy("Not about a turn"),
    "opted_out": gettext_lazy("Of somebody who opted out, or of no known turn while somebody is opted out"),
    "not_a_turn": gettext_lazy("Of a type without user text and reply"),
    NO_DECISION: gettext_lazy("Without a memory_gate decision"),
    DECISION_INCORRECT: gettext_lazy("With a wrong memory_gate decision that nobody corrected"),
    OVERRULED: gettext_lazy("With a memory_gate decision that somebody judged otherwise on the decision itself"),
    DECISION_UNKNOWN: gettext_lazy("With an unknown memory_gate decision"),
    WRITE_INCORRECT: gettext_lazy("With a wrong write that nobody corrected"),
    WRITE_UNKNOWN: gettext_lazy("With a write that was neither written nor refused"),
    CONTENT_UNKNOWN: gettext_lazy("With a write of which nobody knows what the file should hold"),
    CONTENT_ELSEWHERE: gettext_lazy("With a write whose correction gives one file the content of another"),
    CONTENT_STALE: gettext_lazy("With a write whose correction leaves the file as it was"),
    AFTER_GAP: gettext_lazy("After a turn that is not approved, so not in the row of its session"),
    BEYOND_ROW: gettext_lazy("Beyond the maximum length of the row of its session"),
    SAME_TURN: gettext_lazy("Another sample of the same turn is in the row of its session"),
    UNEXPLAINED: gettext_lazy("With a corrected decision that nobody gave a reason for: see the queue Needs a reason"),
    NO_PAIR: gettext_lazy("Without a pair: nobody edited or corrected the answer"),
    SAME_ANSWER: gettext_lazy("With a correction that differs from the answer only in blanks"),
    LEFT_OUT[DUPLICATE]: gettext_lazy("Duplicates: they say the same as another sample, or nearly"),
    LEFT_OUT[OVER_SESSION]: gettext_lazy("Beyond the most samples of a session"),
    LEFT_OUT[OVER_TOOL]: gettext_lazy("Beyond the most samples of a tool"),
    LEFT_OUT[OVER_TWINS]: gettext_lazy("Beyond the most samples that say the same"),
    "tainted": gettext_lazy("Of the release, but removed, opted out, rolled back, rejected or changed since"),
    "changed_since_release": gettext_lazy("Of the release, but edited since"),
    "rolled_back": gettext_lazy("Of a write that was rolled back, or of its turn"),
    "contaminated": gettext_lazy("In the benchmark: it has more than half of a text"),
    "unreadable": gettext_lazy("With a content that cannot be read"),
    "changed": gettext_lazy("Edited or approved while the export was being created"),
    changes.OUTPUT_LOST: gettext_lazy("With a tool output whose stored content is missing or damaged"),
    changes.OPEN_FINDINGS: gettext_lazy("With a key or password that nobody has judged: see the page Findings"),
    changes.NOT_FULLY_SCANNED: gettext_lazy("With a text that was not fully scanned for personal data and secrets"),
    "unscanned": gettext_lazy("Of a session that was imported after the scan for this export"),
}
CHANGES = {
    changes.CHARACTERS_REPLACED: gettext_lazy("Unusable characters replaced by U+FFFD"),
    changes.REPLY_EDITED: gettext_lazy("Reply as edited by a person"),
    changes.HISTORY_SHORTENED: gettext_lazy("Oldest turns left out to fit the maximum row length"),
    changes.HISTORY_BEGINS_LATER: gettext_lazy("Earlier turns left out because a turn is not approved"),
    changes.HISTORY_WITHHELD: gettext_lazy(
        "Earlier turns left out because a turn has a missing output, or a key or password that nobody has judged"
    ),
    changes.HISTORY_AFTER_TOOLS: gettext_lazy("Earlier turns left out because a reply rests on tool results"),
    changes.PROMPTS_SKIPPED: gettext_lazy("Earlier turns that no person started left out"),
    changes.HISTORY_ON_OTHER_SIDE: gettext_lazy(
        "Earlier turns left out because another part of the split teaches one of them"
    ),
    changes.HISTORY_AFTER_DUPLICATE: gettext_lazy(
        "Earlier turns left out because a turn is a duplicate or beyond a limit"
    ),
    changes.TOOL_RESULTS_SHORTENED: gettext_lazy(
        "Tool results of the last turn shortened to fit the maximum row length"
    ),
    changes.OVER_THE_BUDGET: gettext_lazy("Longer than the maximum because the text of the turn alone is longer"),
    changes.DECISION_FLATTENED: gettext_lazy("Fact or reason of a decision written on one line"),
    changes.REBUILT: gettext_lazy(
        "Rebuilt from the sample because the turn is no longer in the transcript as it was judged"
    ),
    changes.MESSAGES_MERGED: gettext_lazy("Messages of the same role merged"),
    changes.TOOL_RESULTS_MERGED: gettext_lazy("Results of parallel tool calls merged"),
    changes.TOOL_NAMES_CHANGED: gettext_lazy("Names of tools written with letters, digits, “_” and “-” only"),
    changes.CALLS_SPLIT: gettext_lazy("Parallel tool calls written one after the other"),
    changes.TEXT_BEFORE_CALL_DROPPED: gettext_lazy("Agent's text before a tool call left out"),
    changes.TEXT_BEFORE_CALL_KEPT: gettext_lazy("Agent's text before a tool call kept as its thought"),
    changes.TEXT_BEFORE_REPLY_DROPPED: gettext_lazy("Agent's text just before the reply left out"),
    changes.CALLS_DROPPED: gettext_lazy("Unanswered tool calls left out"),
    changes.TAIL_DROPPED: gettext_lazy("Tool calls and results left out because the agent said nothing after them"),
    changes.RESULTS_DROPPED: gettext_lazy("Tool results without their call left out"),
    changes.ANSWER_SENT: gettext_lazy("Replies that were sent with a tool; private words left out"),
    changes.SYNTHETIC_DROPPED: gettext_lazy("Copies of replies (delivery mirrors, gateway messages) left out"),
    changes.OPENING_DROPPED: gettext_lazy("Agent's text before the first user message left out"),
    changes.TEXTLESS_DROPPED: gettext_lazy("Turns without text left out"),
    changes.FORMULAS_MARKED: gettext_lazy("With texts that begin like a formula, which have an apostrophe before them"),
    changes.LONG_CELLS: gettext_lazy("With cells of more than 32,767 characters, which Excel cuts"),
    changes.CONTEXT_SHORTENED: gettext_lazy(
        "With earlier messages of which only the first 8,000 characters are kept with the sample"
    ),
    changes.TOOLS_FOLDED: gettext_lazy("Tool calls and results written into the input"),
    changes.TOOLS_UNKNOWN: gettext_lazy("Possibly with a reply that rests on tool results: the turn is not stored"),
    changes.ERRORS_MARKED: gettext_lazy("Tool results marked as errors"),
    changes.ENVELOPE_REMOVED: gettext_lazy("User's text taken out of the lines that OpenClaw put around it"),
    changes.STORED_EXCHANGE: gettext_lazy(
        "Read from the exchange beside the sample, as the session is no longer stored"
    ),
    changes.IMAGES_DROPPED: gettext_lazy("Images and files left out, with only their text kept"),
    changes.CONTROL_TOKENS: gettext_lazy("With texts that tokenizers may read as control tokens"),
    changes.REDACTED: gettext_lazy("Personal data and secrets replaced by tokens such as [EMAIL_1]"),
    changes.OPEN_FINDINGS: gettext_lazy(
        "With a redacted key or password that nobody has judged, at an admin's request"
    ),
}
NOTES = {
    MOVING_SIDES: gettext_lazy(
        "The sides are those of this export alone: when samples are added, sessions may move to another side. A "
        "dataset keeps the sides of its releases."
    ),
    DOMINANT_SET: gettext_lazy(
        "More than half of the samples are in sessions that share a part of the split, because they have one id or say "
        "the same. The parts can be far from the shares you chose."
    ),
    FEW_ROWS: gettext_lazy("OpenAI accepts training files of 10 rows or more: this export has fewer."),
    LARGE_FILE: gettext_lazy(
        "OpenAI accepts files of up to 512 MB: a file is larger. Upload it in parts, or export each agent on its own."
    ),
}
# The checks that rows went through (rules.list_checks).
CHECKS = {
    rules.ALPACA_TEXTS: gettext_lazy("Instruction and output are not empty"),
    rules.SIDES: gettext_lazy("Sides alternate, from a user's message to a reply; every call has its result"),
    rules.CALLS: gettext_lazy("Tool calls are JSON with a name and an object of arguments"),
    rules.TWO_KEYS: gettext_lazy("Every message has exactly two keys, both texts"),
    rules.ANSWERS: gettext_lazy("Each answer is one message with text, and the two of a pair differ"),
    rules.MESSAGES: gettext_lazy("Roles and keys of messages are known, and every call has its result"),
    rules.COLUMNS: gettext_lazy("Every row has the same columns in the same order, and texts in them"),
    rules.DATES: gettext_lazy("No column would be read as dates"),
}


def describe_broken_rows(broken: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Rows that broke a rule as `{"id", "reason"}`, the reason a sentence."""
    return [{"id": entry["id"], "reason": RULES[entry["rule"]] % {"place": entry["place"]}} for entry in broken]


def describe_left_out(excluded: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    """The samples that an export leaves out as `{"id", "reason"}`, grouped by reason."""
    return [
        {"id": sample_id, "reason": str(EXCLUSIONS[reason])}
        for reason, group in excluded.items()
        for sample_id in group["samples"]
    ]


def page_left_out(groups: list[dict[str, Any]], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """The samples that an export or a release left out, by reason, in pages.

    Each group has a page: its first samples, or those behind the one that the address names.
    """
    pages = []
    for group in groups:
        ids, after = group["samples"], query.get("after")
        is_open = query.get("left_out") == group["reason"] and after in ids
        first = ids.index(after) + 1 if is_open else 0
        page = {"listed": ids[first : first + LISTED], "has_more": len(ids) > first + LISTED, "is_open": is_open}
        pages.append({**group, **page, "label": EXCLUSIONS.get(group["reason"], group["reason"])})
    return pages


def describe_prompts(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """How many rows have each prompt column, and how many do not.

    Each entry has a label, the rows with the column, those of them in which it is not as it was recorded as
    (how, rows), and the rows without it as (reason, rows).
    """
    counted = manifest.get("prompts", {})
    return [
        {
            "label": label,
            "rows": counted[column]["rows"],
            "altered": list(_list_altered(counted[column])),
            "left_out": [(NOT_FILLED[reason], rows) for reason, rows in counted[column]["left_out"].items()],
        }
        for column, label in PROMPT_WORDS.items()
        if column in counted
    ]


def _list_altered(counted):
    for name, word in ALTERED.items():
        rows = counted.get(name, 0)
        if rows := sum(rows.values()) if isinstance(rows, dict) else rows:
            yield str(word), rows


def describe_nothing_left(excluded: dict[str, dict[str, Any]], *, is_scored: bool = True, other_task: str = "") -> str:
    """Why an export would be empty, and what to do about it.

    `is_scored`: some sample has a quality score; `other_task`: a task that has samples.
    """
    if not excluded and other_task:
        sentence = _("No samples match these options. There are samples of the task “%(task)s”: choose this task.")
        return sentence % {"task": other_task}
    if not excluded:
        return _("No samples match these options. Change the filter, or create samples from turns of a session.")
    parts = [f"{EXCLUSIONS[reason]}: {group['count']:,}" for reason, group in excluded.items()]
    if changes.OPEN_FINDINGS in excluded:
        advice = _("Confirm or dismiss the keys and passwords on the page Findings.")
    elif "no_score" in excluded and not is_scored:
        advice = _("No sample has a quality score: export without a minimum quality.")
    elif RESTS_ON_TOOLS in excluded:
        advice = _("Include tool calls or results, or approve samples whose reply rests on none.")
    elif NO_DECISION in excluded:
        advice = _("Choose the task “Reply”, or samples of turns with a memory_gate decision.")
    elif "not_approved" in excluded:
        advice = _("Approve some samples, or include samples nobody has reviewed.")
    else:
        advice = _("Choose other options.")
    return _("No samples are left to export (%(why)s). %(advice)s") % {"why": "; ".join(parts), "advice": advice}


def describe_dominant_set(largest: int, count: int) -> str:
    """The sentence about connected sessions with more than half of the samples.

    These sessions have to share a side of the split.
    """
    sentence = _(
        "At least %(largest)s of %(count)s are in sessions that share a part of the split, because they have "
        "one id or say the same. The parts can be far from the shares you chose."
    )
    return sentence % {"largest": f"{largest:,}", "count": amounts.format_amount("samples", count)}


def describe_redactions(manifest: dict[str, Any]) -> list[tuple[str, int, int]]:
    """The kinds of redacted values in words, with the rows and places of each.

    The most frequent kind is first.
    """
    kinds = manifest.get("redactions", {}).get("kinds", {})
    order = sorted(kinds, key=lambda kind: (-kinds[kind]["places"], kind))
    return [(str(KIND_WORDS[kind]), kinds[kind]["rows"], kinds[kind]["places"]) for kind in order]
