"""The history of a memory file: its versions and all requested writes, in order of time."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from ledger.models import PlacedQuerySet
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import Page, decode_cursor, encode_cursor, filter_after

from .. import versions
from ..models import FileSnapshot, WorkspaceFile, WriteGuardianAudit
from . import related_writes
from .line_blame import parse_snapshot_hash

WRITE, VERSION = "write", "version"
KEYS = ("id", "created_at", "place")
PAGE_SIZE = 50
FOLDED_PAGE_SIZE = 100  # events of a page, most of which it folds
FOLDED, CHANGES, EVERYTHING = "", "changes", "all"  # values of `show` in an address
Status = WriteGuardianAudit.Status
WITHOUT_CHANGE = (Status.REFUSED, Status.SKIPPED, Status.FAILED)


@dataclass(slots=True)
class Event:
    """A write or a version in the history of a file.

    `led_by` are the writes that led to this version, oldest first. `is_redundant`: the page has an event for this
    content already, because a write led to the version or the file held it before.
    """

    at: int
    audit: WriteGuardianAudit | None = None
    version: FileSnapshot | WorkspaceFile | None = None
    led_by: list[WriteGuardianAudit] = field(default_factory=list)
    is_redundant: bool = False

    @property
    def kind(self) -> str:
        return WRITE if self.audit else VERSION

    @property
    def version_id(self) -> str | None:
        """The version that the file had after this event; None where not known or unchanged."""
        return self.version.id if self.version else self.audit.after_snapshot_id if self.audit else None


@dataclass(frozen=True, slots=True)
class Fold:
    """Neighbouring writes that changed nothing, newest first, as one row of the page."""

    events: list[Event]
    kind = "fold"

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many were refused, skipped and failed, in this order, without zeros."""
        known = Counter(event.audit.status for event in self.events if event.audit)
        return [(status, known[status]) for status in WITHOUT_CHANGE if known[status]]


def read_timeline(
    agent: Agent, name: str, *, after: str | None = None, before: str | None = None, size: int = PAGE_SIZE
) -> Page:
    """Read a page of the events of a file, newest first, after or before a cursor."""
    audits = WriteGuardianAudit.objects.using(agent.db).placed().filter(target_file=name)
    model = versions.get_model(name)
    states = PlacedQuerySet(model, using=agent.db).placed().filter(file_name=name)
    tables = {WRITE: audits.values(*KEYS), VERSION: states.values(*KEYS)}
    is_backwards = bool(before and not after)
    # A key is (time, kind, place, id). Each table is read in the order of its own index; at the same time a write comes
    # after the version that it made.
    place = _parse_place(before if is_backwards else after)
    order = ("created_at", "place") if is_backwards else ("-created_at", "-place")
    keys: list[tuple[int, str, int, str]] = []
    for kind, rows in tables.items():
        kind_rows = _filter_after(rows, kind, place, order, is_backwards=is_backwards)
        keys += [(row["created_at"], kind, row["place"], row["id"]) for row in kind_rows.order_by(*order)[: size + 1]]
    keys.sort(reverse=not is_backwards)
    keys, has_more = keys[:size], len(keys) > size
    if is_backwards and not has_more:  # at the beginning: return the full first page
        return read_timeline(agent, name, size=size)
    page = Page(_read_events(agent.db, model, keys[::-1] if is_backwards else keys))
    last_hash = None  # versions are compared by hash: one content may be stored twice
    for event in reversed(page):
        if event.version:
            event.is_redundant = bool(event.led_by) or event.version.content_hash[:32] == last_hash
            last_hash = event.version.content_hash[:32]
        elif event.version_id:
            last_hash = parse_snapshot_hash(event.version_id) or last_hash
    first, last = (encode_cursor(list(key[:3])) for key in (keys[0], keys[-1])) if keys else (None, None)
    page.next = first if is_backwards else last if has_more else None
    page.previous = last if is_backwards else first if after else None
    return page


def build_rows(events: Iterable[Event], show: str) -> list[Event | Fold]:
    """Build the rows of a page: redundant events are left out, unchanged ones folded.

    Two or more neighbouring writes without a change are one fold. `show` is FOLDED, CHANGES (without such writes) or
    EVERYTHING (without folds).
    """
    rows: list[Event | Fold] = []
    shown_events = (event for event in events if not event.is_redundant)
    for is_change, group in groupby(
        shown_events, lambda event: event.audit is None or event.audit.status not in WITHOUT_CHANGE
    ):
        run = list(group)
        if is_change or show == EVERYTHING or (show == FOLDED and len(run) == 1):
            rows += run
        elif show == FOLDED:
            rows.append(Fold(run))
    return rows


def build_history_context(db: str, events: Page, show: str) -> dict[str, Any]:
    """Build the context of the events of a page: its rows, with what became of their writes."""
    audits = [event.audit for event in events if event.audit]
    decisions = related_writes.find_decisions(db, audits)
    rollback_ids = [audit.id for audit in audits if audit.origin == related_writes.ROLLBACK]
    return {
        "events": events,
        "show": show,
        "rows": build_rows(events, show),
        "decisions": decisions,
        "rollback_subjects": related_writes.read_subjects(db, rollback_ids),
        "restored_ids": related_writes.find_restored_ids(db, related_writes.get_rolled_back_ids(audits)),
    }


def _filter_after(rows, kind, place, order, *, is_backwards):
    """Return the rows of one table after a place, which may be of the other table."""
    if place is None:
        return rows
    at, place_kind, number = place
    if kind == place_kind:
        return filter_after(rows, order=order, after=encode_cursor([at, number]))
    direction = "gt" if is_backwards else "lt"
    return rows.filter(**{f"created_at__{direction}{'e' if (kind > place_kind) == is_backwards else ''}": at})


def _parse_place(text):
    """Parse a cursor into a time, a kind of event, and its place in its table."""
    if not text:
        return None
    at, kind, number = decode_cursor(text, 3)
    if kind not in (WRITE, VERSION) or not isinstance(at, int) or not isinstance(number, int):
        raise Refused(_("This page address belongs to another list. Start again from the first page."))
    return at, kind, number


def _read_events(db, model, keys):
    """Yield the events of these keys, each row read once.

    Rows that an import has renamed meanwhile are left out.
    """
    audits = WriteGuardianAudit.objects.using(db).defer("diff", "hunks_json")
    states = model.objects.using(db).defer("content", "raw")
    writes_by_id = audits.in_bulk([key[3] for key in keys if key[1] == WRITE])
    names = [key[3] for key in keys if key[1] == VERSION]
    versions_by_id, writes_by_version = states.in_bulk(names), related_writes.find_by_version(db, names)
    for at, kind, _number, name in keys:
        if kind == WRITE and name in writes_by_id:
            yield Event(at, audit=writes_by_id[name])
        elif kind == VERSION and name in versions_by_id:
            yield Event(at, version=versions_by_id[name], led_by=writes_by_version.get(name, []))
