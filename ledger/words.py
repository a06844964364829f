"""What states, kinds and reasons are called on pages."""

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

STATE_WORDS = {state: states.word(state) for state in Session.State}


# What kinds of records are called in lists and filters.
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
    TranscriptEvent.Kind.MESSAGE: _("Other message"),
    TranscriptEvent.Kind.WITHHELD: _("Withheld"),
    TranscriptEvent.Kind.UNKNOWN: states.word("unknown"),
}
