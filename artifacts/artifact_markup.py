"""The HTML of the rows of artifacts and of their uses: quicker than a template (see ledger.markup.message_markup)."""

from html import escape
from urllib.parse import quote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import cell_labels, filled, labelled
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import ago, moment, number, size

from .contents import content_types, flagging

NOTHING = SafeString("")
USES_COUNTED = 1_000  # of each content of a page: some are used again with every run of a job
USE_COLUMNS = (
    ("", _("Time (UTC)"), False),
    ("", _("Session"), False),
    ("", _("Turn"), False),
    ("", _("Record"), False),
    ("", _("Tool"), False),
    ("", _("Kind"), False),
)
ROW = (
    '<tr><td class="wide"><a class="clamp" href="{sha256}/">{summary}</a>{begins}{flag}</td>'
    '<td data-label="%s"><span class="badge badge--plain">{kind}</span></td>'
    '<td class="small" data-label="%s">{tool}</td>'
    '<td class="medium small" data-label="%s">{session}</td>'
    '<td class="num" data-label="%s">{lines}</td>'
    '<td class="num" data-label="%s">{size}</td>'
    '<td class="num" data-label="%s">{uses}</td>'
    '<td class="num" data-label="%s">{time}</td></tr>'
)
USE_ROW = (
    '<tr><td class="nowrap">{time}</td>'
    '<td class="medium small" data-label="%s">{session}</td>'
    '<td class="small" data-label="%s">{turn}</td>'
    '<td class="medium small" data-label="%s">{record}</td>'
    '<td class="small" data-label="%s">{tool}</td>'
    '<td data-label="%s"><span class="badge badge--plain">{kind}</span></td></tr>'
)
BEGINS = '<div class="muted small mono break">{}</div>'
BEGINS_CHARS = 80
FLAG = SafeString(' <span class="badge badge--warn">{}</span>')
LINK = '<a class="clamp mono" href="{}">{}</a>'


def artifact_rows(labels, rows, uses):
    """The rows of a page of artifacts as dictionaries; `uses` are how many there are, by handle."""
    row, kinds = labelled(ROW, labels), flagging.counted()
    return SafeString("".join(_row(row, artifact, uses, kinds) for artifact in rows))


def use_rows(uses):
    """The rows of uses of one content (Artifact), for its own page."""
    row = labelled(USE_ROW, cell_labels(USE_COLUMNS))
    return SafeString("".join(_use_row(row, use) for use in uses))


def _row(row, artifact, uses, kinds):
    session = artifact["session_id"]
    is_flagged = flagging.is_flagged(artifact["secret_kinds"], kinds)
    return filled(
        row,
        sha256=SafeString(artifact["handle"][-64:]),
        summary=glyphs.readable(artifact["summary"]) or artifact["handle"],
        begins=_begins(artifact),
        flag=format_html(FLAG, _("may hold secrets")) if is_flagged else NOTHING,
        kind=glyphs.readable(artifact["kind"]),
        tool=glyphs.readable(artifact["tool"] or "–"),
        session=_link(f"../sessions/{_part(session)}/", session) if session else "–",
        lines=SafeString(number(artifact["lines"])) if content_types.is_text(artifact["content_type"]) else "–",
        size=SafeString(size(artifact["bytes"])),
        uses=_times(uses[artifact["handle"]]),
        time=ago(artifact["created_at"]),
    )


def _begins(artifact):
    """The first words of a text: its summary says only how long it is. JSON has its keys there, HTML its title."""
    if artifact["content_type"] != "text/plain":
        return NOTHING
    words = glyphs.plain(artifact["preview"][: 2 * BEGINS_CHARS])
    words = f"{words[:BEGINS_CHARS]}…" if len(words) > BEGINS_CHARS else words
    return SafeString(BEGINS.format(escape(words))) if words else NOTHING


def _times(count):
    return SafeString(number(count) if count <= USES_COUNTED else f"{number(USES_COUNTED)}+")


def _use_row(row, use):
    address = f"../../sessions/{_part(use.session_id or '')}/"
    turn = (use.turn_id or "").removeprefix(f"{use.session_id}:")
    return filled(
        row,
        time=moment(use.created_at),
        session=_link(address, use.session_id) if use.session_id else "–",
        turn=_link(_place(address, turn), turn) if use.session_id and turn else "–",
        record=_link(_place(address, use.record_id), use.record_id) if use.session_id and use.record_id else "–",
        tool=glyphs.readable(use.tool or "–"),
        kind=glyphs.readable(use.kind),
    )


def _place(address, record):
    return f"{address}?record={_part(record)}#r-{_part(record)}"


def _link(address, words):
    return SafeString(LINK.format(escape(address), glyphs.readable(words)))


def _part(text):
    return quote(text, safe="")
