"""What states, kinds and reasons are called on pages."""

from django.utils.translation import gettext_lazy as _

from .models import Session, TranscriptEvent

KIND_WORDS = {
    "tool_result": _("Result without its call"),
    "compaction": _("Compaction"),
    "branch_summary": _("Summary of a branch that was left"),
}

INJECTED_WORDS = {
    "new_session": _("start of a new session"),
    "memory_flush": _("memory flush before a compaction"),
    "cron": _("scheduled job"),
    "system_message": _("message from the system"),
    "subagent_task": _("task for a subagent"),
}

COPY_WORDS = {
    "delivery-mirror": _("Copy of what was delivered"),
    "gateway-injected": _("Gateway"),
}

STOP_WORDS = {
    "length": _("cut off by the length limit"),
    "max_tokens": _("cut off by the length limit"),
    "aborted": _("stopped before its end"),
    "error": _("failed"),
}

STATE_WORDS = {
    Session.State.LIVE: _("Live"),
    Session.State.RESET: _("Reset"),
    Session.State.DELETED: _("Deleted"),
    Session.State.BACKUP: _("Backup"),
}


# What kinds of records are called in lists and filters.
EVENT_WORDS = {
    TranscriptEvent.Kind.SESSION: _("Start of a session"),
    TranscriptEvent.Kind.USER: _("User"),
    TranscriptEvent.Kind.ASSISTANT: _("Agent"),
    TranscriptEvent.Kind.TOOL_RESULT: _("Tool result"),
    TranscriptEvent.Kind.COMPACTION: _("Compaction"),
    TranscriptEvent.Kind.BRANCH_SUMMARY: _("Summary of a branch"),
    TranscriptEvent.Kind.MODEL_CHANGE: _("Change of the model"),
    TranscriptEvent.Kind.THINKING_LEVEL_CHANGE: _("Change of the thinking level"),
    TranscriptEvent.Kind.CUSTOM: _("Custom"),
    TranscriptEvent.Kind.CUSTOM_MESSAGE: _("Custom message"),
    TranscriptEvent.Kind.LABEL: _("Label"),
    TranscriptEvent.Kind.SESSION_INFO: _("About the session"),
    TranscriptEvent.Kind.RESET: _("Reset"),
    TranscriptEvent.Kind.LEAF: _("Leaf"),
    TranscriptEvent.Kind.MESSAGE: _("Message of another role"),
    TranscriptEvent.Kind.WITHHELD: _("Withheld"),
    TranscriptEvent.Kind.UNKNOWN: _("Unknown"),
}
