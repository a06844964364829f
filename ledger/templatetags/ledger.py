"""How transcripts are spelled on pages. Formatting only: no queries."""

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.templatetags.formatting import duration, money, tokens

from .. import glyphs, markdown
from ..forms import STATE_WORDS

register = template.Library()

INJECTED_WORDS = {
    "new_session": gettext_lazy("start of a new session"),
    "memory_flush": gettext_lazy("memory flush before a compaction"),
    "cron": gettext_lazy("scheduled job"),
    "system_message": gettext_lazy("message from the system"),
    "subagent_task": gettext_lazy("task for a subagent"),
}
KIND_WORDS = {
    "tool_result": gettext_lazy("Result without its call"),
    "compaction": gettext_lazy("Compaction"),
    "branch_summary": gettext_lazy("Summary of a branch that was left"),
    "withheld": gettext_lazy("Withheld"),
}
COPY_WORDS = {
    "delivery-mirror": gettext_lazy("Copy of what was delivered"),
    "gateway-injected": gettext_lazy("Gateway"),
}
STOP_WORDS = {
    "length": gettext_lazy("cut off by the length limit"),
    "max_tokens": gettext_lazy("cut off by the length limit"),
    "aborted": gettext_lazy("stopped before its end"),
    "error": gettext_lazy("failed"),
}


@register.filter
def readable(text):
    """A text whose hidden characters are shown as small codes."""
    return glyphs.readable(text or "")


@register.filter
def one_line(text):
    """A text on one line without hidden characters, for titles and attributes."""
    return glyphs.plain(text or "")


@register.filter
def rich(text):
    """What an agent wrote in Markdown, as safe HTML."""
    return markdown.render(text)


@register.filter
def state_word(state):
    """`reset` as “Reset”."""
    return STATE_WORDS.get(state, state)


@register.filter
def copy_word(model):
    """Who wrote a synthetic assistant message."""
    return COPY_WORDS.get(model, model)


@register.filter
def who(entry):
    """Who speaks in a record."""
    if entry.kind == "assistant":
        return COPY_WORDS.get(entry.copy, entry.copy) if entry.copy else _("Agent")
    if entry.kind == "user":
        return _("Automatic") if entry.sender["injected"] else _("User")
    return KIND_WORDS.get(entry.kind, entry.kind)


@register.filter
def notes(entry):
    """What stands beside who speaks: `6.4k tokens · $0.02`."""
    found = []
    if entry.sender:
        injected = entry.sender["injected"]
        found.append(str(INJECTED_WORDS.get(injected, injected)) or glyphs.plain(entry.sender["name"]))
    if entry.stop_reason in STOP_WORDS:
        found.append(str(STOP_WORDS[entry.stop_reason]))
    if entry.tokens:
        found.append(_("%(count)s tokens") % {"count": tokens(entry.tokens)})
    if entry.cost:
        found.append(money(entry.cost))
    if entry.model and entry.kind == "assistant":
        found.append(glyphs.plain(entry.model))
    if entry.tokens_before:
        found.append(_("%(count)s tokens before it") % {"count": tokens(entry.tokens_before)})
    return " · ".join(part for part in found if part)


@register.filter
def sums(turn):
    """What a turn adds up to: `3 calls · 25.6k tokens · $0.07 · 117 ms`."""
    found = []
    if calls := turn["tool_call_count"]:
        found.append(ngettext("%(count)s call", "%(count)s calls", calls) % {"count": f"{calls:,}"})
    if turn["total_tokens"]:
        found.append(_("%(count)s tokens") % {"count": tokens(turn["total_tokens"])})
    if turn["cost_usd"]:
        found.append(money(turn["cost_usd"]))
    if turn["latency_ms"] is not None:
        found.append(duration(turn["latency_ms"]))
    return " · ".join(found)


@register.filter
def errors(count):
    """`2 errors`."""
    return ngettext("%(count)s error", "%(count)s errors", count) % {"count": f"{count:,}"}


@register.filter
def outcome(result):
    """How a call ended: `ok`, `failed, exit 3`, `no result`."""
    if result is None:
        return _("no result")
    if not result.is_failed:
        return _("ok")
    return _("failed, exit %(code)s") % {"code": result.exit_code} if result.exit_code else _("failed")


@register.filter
def outcome_tone(result):
    """The colour of how a call ended."""
    if result is None:
        return "warn"
    return "failed" if result.is_failed else "ok"


@register.filter
def chars(count):
    """`168.9k chars`, where there is room for a few letters only."""
    return _("%(count)s chars") % {"count": tokens(count)}


@register.filter
def clock(ms):
    """`11:13:07`, the time of day in UTC."""
    seconds = ms // 1000 % 86_400
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@register.filter
def characters(count):
    """`168,894 characters`."""
    return _("1 character") if count == 1 else _("%(count)s characters") % {"count": f"{count:,}"}
