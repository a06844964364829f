"""What states, kinds and reasons are called on pages."""

from functools import lru_cache
from html import escape

from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from .models import Session

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


def said(text: str) -> SafeString:
    """A text in the language of the request, for HTML; remembered, because a page says the same words often."""
    return _said(text, get_language())


@lru_cache(maxsize=512)
def _said(text, language):
    return SafeString(escape(gettext(text)))
