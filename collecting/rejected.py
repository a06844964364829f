"""Lines that could not be read, in words: which agents have some, where they are, why, and what they begin with."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from ledger.models import RejectedRecord, Session
from ledger.transcripts.storing import UNKNOWN_ENVELOPE
from openclaw_web.lists.paging import Page
from openclaw_web.pages import glyphs
from overview.models import AgentSummary

REASONS = {
    "absurd_number": _("A number too big for any reader"),
    "too_deep": _("Nested too deep to be a record"),
    "bad_index": _("The session index cannot be read"),
    "bad_run": _("Not a record of a scheduled run"),
    "duplicate_id": _("Another record has the same id"),
    "glued": _("Several records on one line"),
    "missing_type": _("A record without a type"),
    "not_an_object": _("Valid JSON, but not a record"),
    "not_json": _("Not valid JSON"),
    "not_utf8": _("Bytes that are not UTF-8"),
    "nul_bytes": _("NUL bytes, as a crash leaves them"),
    "too_long": _("Too long for a record"),
    "truncated": _("Cut off before its end"),
    "unforeseen": _("A record that this version cannot read"),
    UNKNOWN_ENVELOPE: _("Stored, with lines of OpenClaw around the words that are not understood"),
}
FIRST = 48


@dataclass(slots=True)
class Rejected:
    """One line as the page shows it; `session_id` only when that session is in the store."""

    row: RejectedRecord
    session_id: str | None
    reason: str
    start: str
    preview: SafeString


def agents_with_some():
    """The summaries of agents with rejected lines, or envelopes that are not understood, most first."""
    found = AgentSummary.objects.filter(Q(rejected_count__gt=0) | Q(unknown_envelope_count__gt=0))
    return found.order_by("-rejected_count", "-unknown_envelope_count", "agent_id")


def in_words(agent: Agent, page: Page) -> list[Rejected]:
    """A page of an agent's rejected lines as `Rejected`."""
    asked = {row.session_id for row in page if row.session_id}
    known = set(Session.objects.using(agent.db).filter(id__in=asked).values_list("id", flat=True))
    return [_in_words(row, known) for row in page]


def _in_words(row, known_sessions):
    return Rejected(
        row=row,
        session_id=row.session_id if row.session_id in known_sessions else None,
        reason=REASONS.get(row.reason, row.reason),
        start=glyphs.plain(row.raw_preview[:FIRST]),
        preview=glyphs.readable(row.raw_preview),
    )
