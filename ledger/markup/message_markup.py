"""The HTML of the lines that a page holds a hundred of: the messages of a transcript with their calls.

In templates they took three to four times as long (benchmarks/NOTES.md); everything else of a page is in
templates/ledger. Every value goes through format_html; classes are those of static/app.css, part 10.
"""

from html import escape
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from openclaw_web import amounts
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import duration, money, tokens

from ..words import COPY_WORDS, INJECTED_WORDS, KIND_WORDS, STOP_WORDS
from ..words import said as _
from . import handle_links, markdown, section_markup

NOTHING = SafeString("")
MESSAGE = (
    '<article class="record record--{role}" id="r-{id}">'
    '<a class="record__gutter" href="?record={url}#r-{url}">{time}</a>'
    '<div class="record__body">{head}{above}{words}{calls}{below}</div></article>'
)
HEAD = '<p class="record__who"><span>{}</span><span>{}</span>{}</p>'
ASIDE = '<span class="badge badge--warn">{}</span>'
PROSE = '<div class="prose" dir="auto">{}</div>'
TEXT = '<div class="text" dir="auto">{}</div>'
PLAIN = '<div class="text text--plain" dir="auto">{}</div>'
SYSTEM = '<div class="text text--plain muted small">{}</div>'
FOLD = (
    '<details class="fold record--thinking"><summary>{} <span class="muted">{}</span></summary>'
    '<div><div class="text" dir="auto">{}</div>{}</div></details>'
)
CALL = (
    '<details class="call call--{tone}"{id}{open}><summary><span class="call__name">{name}</span>'
    '<code class="call__arg">{main}</code><span class="badge badge--{tone}">{outcome}</span>'
    '<span class="call__num">{took}</span><span class="call__num">{size}</span></summary>'
    '<div class="call__body">{child}{arguments}{more}{change}{result}</div></details>'
)
PART = '<h3>{}</h3><div class="payload"><pre tabindex="0">{}</pre></div>'
RESULT = '<h3>{0} <a href="{5}?record={1}#r-{1}">{2}</a></h3>{3}{4}'
OUTPUT = '<div class="payload"><pre tabindex="0">{}</pre>{}</div>'
STASHED = (
    '<p class="stash"><span class="break">{summary}</span>{badge}'
    '<a href="{address}" hx-get="{address}?part=1" hx-target="next .stash__part">{look}</a>{download}</p>'
)
PARTS = '{}<div class="stash__part">{}</div>'  # what is looked at takes the place of the preview
FLAGGED = '<span class="badge badge--warn">{}</span>'
DOWNLOAD = '<a href="{}" download>{}</a>'
MORE_RESULT = (
    '<a class="payload__more" href="{0}?field=text" hx-get="{0}?field=text" hx-target="closest .payload" '
    'hx-swap="outerHTML">{1}</a>'
)
MORE = (
    '<p class="small"><a href="{0}?field={1}&amp;call={2}" hx-get="{0}?field={1}&amp;call={2}" hx-target="closest p" '
    'hx-swap="outerHTML">{3}</a></p>'
)
MORE_CALLS = '<p><a href="{}">{}</a></p>'
NOTE = '<p class="muted small">{}</p>'
CHILD = '<p class="small"><a href="{}">{}</a></p>'
ERROR = '<p class="bad break">{}</p>'


def clock(ms):
    """`11:13:07`, the time of day in UTC."""
    seconds = ms // 1000 % 86_400
    return SafeString(f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}")


def characters(count):
    """`168,894 characters`."""
    return SafeString(amounts.of("characters", count))


def message(entry, here):
    """What a person or an agent said, with the calls it made; `here` is the address of the session."""
    shown = format_html(
        MESSAGE,
        role=_classes(entry),
        id=SafeString(escape(entry.record_id)),
        url=entry.url_id,
        time=clock(entry.created_at),
        head=head(entry) if entry.has_head else NOTHING,
        above=_above(entry, here),
        words=_words(entry),
        calls=SafeString("".join(call(each, here) for each in entry.calls)),
        below=_below(entry, here) if entry.has_rest else NOTHING,
    )
    shown = handle_links.linked(shown, here)
    return shown + section_markup.switcher(entry.branches) if entry.branches else shown


def runs(entries, here):
    """Entries in order as `(HTML of the messages in a row, the record after them in which nobody speaks or None)`."""
    said = []
    for entry in entries:
        if entry.is_message:
            said.append(message(entry, here))
        else:
            yield SafeString("".join(said)), entry
            said = []
    yield SafeString("".join(said)), None


def again(entry, here):
    """A message that takes the place of the one with its id on a page (HTMX, out of band)."""
    return SafeString(message(entry, here).replace("<article ", '<article hx-swap-oob="true" ', 1))


def head(entry):
    """Who speaks in a record, and what stands beside it: `Agent 6.4k tokens · $0.02`."""
    aside = NOTHING if entry.is_active else format_html(ASIDE, _("other branch"))
    return format_html(HEAD, _who(entry), SafeString(" · ".join(_notes(entry))), aside)


def call(call, here):
    """One call of a tool, with its result when that is on the page."""
    result = call.result
    if result is None:
        tone, took, size, answer = "none", NOTHING, NOTHING, NOTHING
    else:
        tone, answer = "failed" if result.is_failed else "ok", _result(result, here)
        took = NOTHING if result.duration_ms is None else SafeString(duration(result.duration_ms))
        length = result.text.length
        size = SafeString(ngettext("%(count)s char", "%(count)s chars", length) % {"count": tokens(length)})
    return format_html(
        CALL,
        tone=SafeString(tone),
        id=format_html(' id="r-{}"', result.record_id) if result and call.is_asked else NOTHING,
        open=SafeString(" open") if call.is_open else NOTHING,
        name=glyphs.readable(call.name),
        main=glyphs.readable(call.main),
        outcome=_outcome(result),
        child=_child(call.child) if call.child else NOTHING,
        took=took,
        size=size,
        arguments=SafeString("".join(_part(name, value) for name, value in call.arguments)),
        more=more(call, here, "arguments", call.number) if call.is_cut else NOTHING,
        change=_part(_("Change"), result.diff) if result and result.diff else NOTHING,
        result=answer,
    )


def more(record, here, field, number=0, length=None):
    """The way to the whole of a text that is cut; in place with HTMX."""
    label = SafeString(_("Show all %(length)s") % {"length": characters(length)}) if length else _("Show all of it")
    return format_html(MORE, _address(record, here), field, number, label)


def images(count):
    """That there were images, and that they are not shown."""
    label = ngettext("%(count)s image, not shown", "%(count)s images, not shown", count) % {"count": count}
    return format_html(NOTE, label) if count else NOTHING


def stashed(output):
    """An output that is an artifact: what it is in one line, and the way to look inside, in place with HTMX."""
    return format_html(
        STASHED,
        summary=glyphs.readable(output.summary),
        badge=format_html(FLAGGED, _("may hold secrets")) if output.is_flagged else NOTHING,
        address=output.address,
        look=_("Look inside"),
        # Whole contents that are flagged are for admins: the artifact's own page says so.
        download=NOTHING if output.is_flagged else format_html(DOWNLOAD, output.download, _("Download")),
    )


def _classes(entry):
    classes = entry.role
    if entry.is_failed:
        classes += " record--failed"
    return SafeString(classes if entry.is_active else f"{classes} record--aside")


def _child(child):
    """The way to the session that a call started."""
    if child.session_id:
        address = reverse("ledger:session_detail", args=[child.agent_id, child.session_id])
    elif child.agent_id:
        address = _run_address(child)
    else:
        address = ""
    return format_html(CHILD, address, _("The session of this sub-agent")) if address else NOTHING


def _run_address(child):
    """Where the run is, when this site has a page for runs."""
    try:
        runs = reverse("automation:subagent_list", args=[child.agent_id])
    except NoReverseMatch:
        return ""
    return f"{runs}?{urlencode({'session': child.key})}"


def _address(record, here):
    return SafeString(f"{here}records/{record.url_id}/")  # both come quoted


def _who(entry):
    if entry.kind == "assistant":
        return COPY_WORDS.get(entry.copy, entry.copy) if entry.copy else _("Agent")
    if entry.kind == "user":
        return _("Automatic") if entry.sender["injected"] else _("User")
    return KIND_WORDS.get(entry.kind, entry.kind)


def _notes(entry):
    if entry.sender:
        injected = entry.sender["injected"]
        if name := INJECTED_WORDS.get(injected, injected) or entry.sender["name"]:
            yield glyphs.readable(str(name))
    if entry.stop_reason in STOP_WORDS:
        yield escape(str(STOP_WORDS[entry.stop_reason]))
    if entry.tokens:
        yield ngettext("%(count)s token", "%(count)s tokens", entry.tokens) % {"count": tokens(entry.tokens)}
    if entry.cost:
        yield money(entry.cost)
    if entry.model and entry.kind == "assistant" and not entry.copy:
        yield glyphs.readable(entry.model)
    if entry.tokens_before:
        before = entry.tokens_before
        yield ngettext("%(count)s token before it", "%(count)s tokens before it", before) % {"count": tokens(before)}


def _above(entry, here):
    if thinking := entry.thinking:
        rest = more(entry, here, "thinking", 0, thinking.length) if thinking.is_cut else NOTHING
        return format_html(FOLD, _("Thinking"), characters(thinking.length), glyphs.readable(thinking.text), rest)
    lines = entry.sender.get("system_lines")
    return format_html(SYSTEM, glyphs.readable(lines)) if lines else NOTHING


def _words(entry):
    text = entry.text.text
    if entry.kind == "assistant":
        return format_html(PROSE, markdown.render(text)) if text else NOTHING
    return format_html(PLAIN if entry.is_long or entry.sender["injected"] else TEXT, glyphs.readable(text))


def _below(entry, here):
    parts = [images(entry.images)]
    if entry.is_empty:
        parts.append(format_html(NOTE, _("An answer without words.")))
    if entry.error:
        parts.append(format_html(ERROR, glyphs.readable(entry.error)))
    if entry.text.is_cut:
        parts.append(more(entry, here, "text", 0, entry.text.length))
    if entry.more_calls:
        left = entry.more_calls
        label = ngettext("%(count)s more call", "%(count)s more calls", left) % {"count": left}
        parts.append(format_html(MORE_CALLS, _address(entry, here), label))
    return SafeString("".join(parts))


def _outcome(result):
    if result is None:
        return _("no result")
    if not result.is_failed:
        return _("ok")
    return SafeString(_("failed, exit %(code)s") % {"code": result.exit_code}) if result.exit_code else _("failed")


def _part(name, value):
    return format_html(PART, glyphs.readable(name), glyphs.readable(value.text))


def _result(result, here):
    rest = NOTHING
    if result.text.is_cut:
        label = SafeString(_("Show more (%(length)s)") % {"length": characters(result.text.length)})
        rest = format_html(MORE_RESULT, _address(result, here), label)
    text, time = glyphs.readable(result.text.text), clock(result.created_at)
    output = format_html(OUTPUT, text, rest)
    if result.outputs:
        output = format_html(PARTS, SafeString("".join(map(stashed, result.outputs))), output)
    return format_html(RESULT, _("Result"), result.url_id, time, images(result.images), output, SafeString(here))
