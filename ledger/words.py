"""The words for states, kinds and reasons on pages."""

from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import states

from .models import Session, TranscriptEvent

KIND_WORDS = {
    "tool_result": _("Result without a call"),
    "compaction": _("Compaction"),
    "branch_summary": _("Summary of an abandoned branch"),
}

INJECTED_WORDS = {
    "new_session": _("Start of a new session"),
    "memory_flush": _("Memory flush before a compaction"),
    "cron": _("Scheduled task"),
    "system_message": _("System message"),
    "subagent_task": _("Task for a sub-agent"),
    "heartbeat": _("Heartbeat"),
    "boot": _("Boot check"),
    "hook": _("Webhook or mail"),
    "task_result": _("Result of a background task"),
    "command_result": _("Result of a background command"),
    "other_session": _("Message from another session"),
    "continuation": _("Continuation of a run"),
    "naming": _("Name for a session or file"),
    "dream_diary": _("Dream diary"),
    "startup_context": _("Startup context"),
    "command": _("Command"),
    "internal": _("Internal prompt"),
    "handover": _("Change handed over by this site"),
}

COPY_WORDS = {
    "delivery-mirror": _("Copy of the delivered message"),
    "gateway-injected": _("Gateway"),
}

STOP_WORDS = {
    "length": _("Cut off by the length limit"),
    "max_tokens": _("Cut off by the length limit"),
    "aborted": _("Stopped early"),
    "error": states.word("failed"),
}

# What is unusual about the answer of a turn, and whether the person received it (ledger.collectors.answers).
ANSWER_WORDS = {
    "damaged": _("A record is lost"),
    "silent": _("Silent reply"),
    "canned": _("Text of OpenClaw"),
    "private": _("Private words"),
    "cut_off": STOP_WORDS["length"],
    "interrupted": _("Interrupted"),
    "pictures": _("Files without words"),
}
DELIVERY_WORDS = {
    "delivered": states.word("delivered"),
    "suppressed": states.word("suppressed"),
    "failed": _("Delivery failed"),
    "not_known": _("Delivery not known"),
}

STATE_WORDS = {state: states.word(state) for state in Session.State}


# Names of the kinds of records in lists and filters.
EVENT_WORDS = {
    TranscriptEvent.Kind.SESSION: _("Session start"),
    TranscriptEvent.Kind.USER: _("User"),
    TranscriptEvent.Kind.ASSISTANT: _("Agent"),
    TranscriptEvent.Kind.TOOL_RESULT: _("Tool result"),
    TranscriptEvent.Kind.COMPACTION: _("Compaction"),
    TranscriptEvent.Kind.BRANCH_SUMMARY: _("Branch summary"),
    TranscriptEvent.Kind.MODEL_CHANGE: _("Model change"),
    TranscriptEvent.Kind.THINKING_LEVEL_CHANGE: _("Thinking level change"),
    TranscriptEvent.Kind.CUSTOM: _("Internal record"),
    TranscriptEvent.Kind.CUSTOM_MESSAGE: _("Plugin message"),
    TranscriptEvent.Kind.LABEL: _("Label"),
    TranscriptEvent.Kind.SESSION_INFO: _("Session information"),
    TranscriptEvent.Kind.RESET: states.word("reset"),
    TranscriptEvent.Kind.LEAF: _("Leaf"),
    TranscriptEvent.Kind.USAGE: _("Usage"),
    TranscriptEvent.Kind.MESSAGE: _("Other message"),
    TranscriptEvent.Kind.WITHHELD: _("Withheld"),
    TranscriptEvent.Kind.UNKNOWN: states.word("unknown"),
}

# Origins of sessions as keys name them (ledger.collectors.session_index), and the channels of OpenClaw.
ORIGIN_WORDS = {
    "main": _("Main session"),
    "direct": _("Direct message"),
    "group": _("Group"),
    "channel": _("Channel"),
    "room": _("Room"),
    "thread": _("Thread"),
    "cron": INJECTED_WORDS["cron"],
    "subagent": _("Sub-agent"),
    "hook": _("Webhook"),
    "openai": "OpenAI API",
    "dashboard": _("Dashboard"),
    "acp": "ACP",
    "openclaw-web": _("This site"),
    "unknown": states.word("unknown"),
}
CHANNEL_WORDS = {
    "bluebubbles": "BlueBubbles",
    "cron": INJECTED_WORDS["cron"],
    "discord": "Discord",
    "feishu": "Feishu",
    "googlechat": "Google Chat",
    "imessage": "iMessage",
    "irc": "IRC",
    "line": "LINE",
    "matrix": "Matrix",
    "mattermost": "Mattermost",
    "msteams": "Microsoft Teams",
    "nostr": "Nostr",
    "openai": "OpenAI API",
    "signal": "Signal",
    "slack": "Slack",
    "subagent": ORIGIN_WORDS["subagent"],
    "telegram": "Telegram",
    "twitch": "Twitch",
    "unknown": states.word("unknown"),
    "webchat": _("Web chat"),
    "whatsapp": "WhatsApp",
    "zalo": "Zalo",
}

# Why a line of a file is no record, or is listed among the rejected lines.
REJECT_WORDS = {
    "absurd_number": _("A number too large to read"),
    "too_deep": _("Nested too deeply for a record"),
    "bad_decision": _("Not a usable decision of memory_gate"),
    "bad_turn": _("Not a usable session or turn of the Reflection plugin"),
    "bad_write": _("Not a usable write to a memory file"),
    "bad_event": _("Not a usable event of openclaw-mem's ledger"),
    "bad_index": _("The session index cannot be read"),
    "bad_run": _("Not a record of a scheduled run"),
    "duplicate_id": _("Another record has the same id"),
    "glued": _("Several records on one line"),
    "missing_type": _("A record without a type"),
    "not_an_object": _("Valid JSON, but not a record"),
    "not_json": _("Not valid JSON"),
    "not_utf8": _("Bytes that are not UTF-8"),
    "nul_bytes": _("NUL bytes, as left by a crash"),
    "too_long": _("Too long for a record"),
    "truncated": _("Cut off before the end"),
    "unforeseen": _("A record that this version cannot read"),
    "unknown_envelope": _("Stored, but lines that OpenClaw added around the message were not recognized"),
}

# Names of the steps of a run (ledger.collectors.trajectories), and how a run ended.
STEP_WORDS = {
    "context.compiled": _("Context compiled"),
    "model.completed": _("Model call"),
    "prompt.submitted": _("Prompt submitted"),
    "session.ended": _("Run ended"),
    "session.started": _("Run started"),
    "tool.action.finished": _("Tool call ended"),
    "tool.call": _("Tool call"),
    "tool.result": _("Tool result"),
    "trace.artifacts": _("Artifacts of the run"),
    "trace.metadata": _("Facts about the run"),
}
STEP_ENDS = {
    "aborted": _("Stopped early"),
    "externalAbort": _("Stopped from outside"),
    "timedOut": states.word("timed_out"),
    "idleTimedOut": _("Timed out while idle"),
    "timedOutByRunBudget": _("Out of time for the run"),
}
# Sources of a memory index.
SOURCE_WORDS = {"memory": _("Memory"), "sessions": _("Sessions")}
