"""Template filters for texts of transcripts.

They only format: no queries, and no HTML except that of Markdown.
"""

import re
from collections.abc import Iterator

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from artifacts.handles import PREFIX
from openclaw_web import amounts
from openclaw_web.pages.formatting import duration, money, tokens

from .. import injected_prompts as injecting
from ..collectors.answers import NOT_KNOWN, SILENT, SUPPRESSED
from ..words import (
    ANSWER_WORDS,
    CHANNEL_WORDS,
    COPY_WORDS,
    DELIVERY_WORDS,
    EVENT_WORDS,
    INJECTED_WORDS,
    KIND_WORDS,
    ORIGIN_WORDS,
    REJECT_WORDS,
    STEP_WORDS,
    STOP_WORDS,
)
from . import markdown

HANDLE = re.compile(rf"(?<![0-9A-Za-z_])({PREFIX}[0-9a-f]{{64}})(?![0-9a-f])")


TAG = re.compile(r"(<[^>]*>)")


# Within these a link would be in the way of another one, or of opening a fold.
CLOSED = ("a", "summary")


def handles(html: SafeString) -> Iterator[tuple[SafeString, str]]:
    """Pieces of `html`, each with the content's name when it is a handle, else with "".

    `html` is made of escaped texts.
    """
    pending, closed = "", 0
    for number, part in enumerate(TAG.split(html)):
        if number % 2:
            if part.strip("</>").split(" ", 1)[0] in CLOSED:
                closed += -1 if part.startswith("</") else 1
            pending += part
        elif closed:
            pending += part
        else:
            text, *pieces = HANDLE.split(part)
            pending += text
            for handle, after in zip(pieces[::2], pieces[1::2], strict=True):
                yield SafeString(pending), ""
                yield SafeString(handle), handle.removeprefix(PREFIX)
                pending = after
    yield SafeString(pending), ""


WORDS = 160  # characters of a turn in a table


def rich(text):
    """A text in Markdown as safe HTML."""
    return markdown.render(text)


def copy_word(model):
    """The author of a synthetic assistant message."""
    return COPY_WORDS.get(model, model)


def kind_word(kind):
    """The word in place of a speaker for a record that is no message."""
    return KIND_WORDS.get(kind, kind)


def answer_words(turn):
    """Words for an unusual answer of a turn, and for its delivery; often none.

    `turn` has the columns of its row by name.
    """
    state, delivery = turn["answer_state"], turn["delivery"]
    words = [ANSWER_WORDS[state]] if state in ANSWER_WORDS else []
    if delivery in DELIVERY_WORDS and delivery != NOT_KNOWN and (state, delivery) != (SILENT, SUPPRESSED):
        words.append(DELIVERY_WORDS[delivery])
    return list(map(str, words))


def event_word(kind):
    """`tool_result` as a list of records calls it."""
    return str(EVENT_WORDS.get(kind, kind))


def origin_word(origin):
    """`direct` as “Direct message”."""
    return str(ORIGIN_WORDS.get(origin, origin))


def channel_word(channel):
    """`whatsapp` as “WhatsApp”."""
    return str(CHANNEL_WORDS.get(channel, channel))


def reject_word(reason):
    """Why a line of a file is no record."""
    return str(REJECT_WORDS.get(reason, reason))


def step_word(name):
    """`model.completed` as “Model call”."""
    return str(STEP_WORDS.get(name, name))


def characters(count):
    """`168,894 characters`."""
    return amounts.format_amount("characters", count)


def chars(count):
    """`168.9k chars`."""
    return ngettext("%(count)s char", "%(count)s chars", count) % {"count": tokens(count)}


def errors(count):
    """`2 errors`."""
    return ngettext("%(count)s error", "%(count)s errors", count) % {"count": f"{count:,}"}


def share_of(part, whole):
    """A part in hundredths of the whole: `12%`, `<1%`, `–` of nothing."""
    if not whole:
        return "–"
    share = 100 * part / whole
    return "<1%" if 0 < share < 1 else f"{share:.0f}%"


def first_words(text):
    """The beginning of a text on one line."""
    return " ".join(text[: WORDS * 4].split())[:WORDS]


def injected(text):
    """`(words of the chip of a prompt, its text)`; no words when a person wrote it."""
    prompt, words = injecting.split_injected(text or "")
    return injected_word(prompt), words


def injected_word(prompt):
    """The reason why OpenClaw sent a prompt: the name of a scheduled task, or its kind."""
    return str(prompt.name or INJECTED_WORDS[prompt.kind]) if prompt else ""


def turn_sums(turn):
    """The totals of a turn: `3 calls · 25.6k tokens · $0.07 · 117 ms`."""
    parts = []
    if calls := turn["tool_call_count"]:
        parts.append(ngettext("%(count)s call", "%(count)s calls", calls) % {"count": f"{calls:,}"})
    if turn["total_tokens"]:
        count = turn["total_tokens"]
        parts.append(ngettext("%(count)s token", "%(count)s tokens", count) % {"count": tokens(count)})
    if turn["cost_usd"] or turn["unpriced_tokens"]:
        parts.append(_format_cost(turn["cost_usd"], turn["unpriced_tokens"]))
    if turn["latency_ms"] is not None:
        parts.append(duration(turn["latency_ms"]))
    return " · ".join(parts)


def _format_cost(usd, unpriced):
    """`$0.07`, or `≥$0.07` when some tokens have no price, or `cost unknown` when none has."""
    return f"{'≥' if unpriced else ''}{money(usd)}" if usd else _("cost unknown")


def entry_notes(entry):
    """The notes beside the speaker of a record: `6.4k tokens · $0.02`.

    `entry` is a ledger.session.timeline.Entry.
    """
    return " · ".join(_list_notes(entry))


def _list_notes(entry):
    if entry.sender:
        injected = entry.sender["injected"]
        if name := INJECTED_WORDS.get(injected, injected) or entry.sender["name"]:
            yield str(name)
        if entry.sender.get("envelope"):
            yield _("unknown envelope")
    if entry.is_private:
        yield str(ANSWER_WORDS["private"])
    if entry.stop_reason in STOP_WORDS:
        yield str(STOP_WORDS[entry.stop_reason])
    if entry.tokens:
        yield ngettext("%(count)s token", "%(count)s tokens", entry.tokens) % {"count": tokens(entry.tokens)}
        yield _format_cost(entry.cost, 0 if entry.cost else entry.tokens)
    if entry.model and entry.kind == "assistant" and not entry.copy:
        yield entry.model
    if before := entry.tokens_before:
        yield ngettext("%(count)s token before the compaction", "%(count)s tokens before the compaction", before) % {
            "count": tokens(before)
        }


_WORDS = (
    *(copy_word, kind_word, event_word, origin_word, channel_word, reject_word, step_word),
    *(characters, chars, errors, share_of, first_words),
)
FILTERS = {
    template_filter.__name__: template_filter
    for template_filter in (*_WORDS, answer_words, injected, injected_word, turn_sums, entry_notes, rich, handles)
}
