"""What happened to a memory file, in the order of time: its versions, and every write that was asked for."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from django.utils.translation import gettext as _

from agents.models import Agent
from ledger.models import PlacedQuerySet
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import Page, decode_cursor, encode_cursor, filter_after

from ..models import FileSnapshot, WriteGuardianAudit
from . import related_writes, rollback_chains
from .line_blame import parse_snapshot_hash

WRITE, VERSION = "write", "version"
KEYS = ("id", "created_at", "place")
PAGE_SIZE = 50
FOLDED_PAGE_SIZE = 100  # events of a page that folds most of them
FOLDED, CHANGES, EVERYTHING = "", "changes", "all"  # what `show` in an address asks for
Status = WriteGuardianAudit.Status
WITHOUT_CHANGE = (Status.REFUSED, Status.SKIPPED, Status.FAILED)


@dataclass(slots=True)
class Event:
    """A write or a version. `led_by`: the writes that led to this version, the oldest first.

    `is_told`: a version of which the events of the page tell already: a write led to it, or the file held it before.
    """

    at: int
    audit: WriteGuardianAudit | None = None
    version: FileSnapshot | None = None
    led_by: list[WriteGuardianAudit] = field(default_factory=list)
    is_redundant: bool = False

    @property
    def kind(self) -> str:
        """What it is, for programs."""
        return WRITE if self.audit else VERSION

    @property
    def version_id(self) -> str | None:
        """The version that the file had then; None where it is not known, or nothing was written."""
        return self.version.id if self.version else self.audit.after_snapshot_id if self.audit else None


@dataclass(frozen=True, slots=True)
class Fold:
    """Writes one after another that changed nothing, the newest first: one line of the page."""

    events: list[Event]
    kind = "fold"

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many were refused, skipped and failed, in this order; those of which there are some."""
        known = Counter(event.audit.status for event in self.events if event.audit)
        return [(status, known[status]) for status in WITHOUT_CHANGE if known[status]]


def read_timeline(
    agent: Agent, name: str, *, after: str | None = None, before: str | None = None, size: int = PAGE_SIZE
) -> Page:
    """A page of the events of a file, the newest first, after or before the place that a cursor says."""
    audits = WriteGuardianAudit.objects.using(agent.db).placed().filter(target_file=name)
    versions = PlacedQuerySet(FileSnapshot, using=agent.db).placed().filter(file_name=name)
    tables = {WRITE: audits.values(*KEYS), VERSION: versions.values(*KEYS)}
    is_backwards = bool(before and not after)
    keys, has_more = _walk(tables, _place(before if is_backwards else after), size, is_backwards=is_backwards)
    if is_backwards and not has_more:  # the beginning: shown as the full first page
        return read_timeline(agent, name, size=size)
    page = Page(_events(agent.db, keys[::-1] if is_backwards else keys))
    _find_told(page)
    first, last = (encode_cursor(list(key[:3])) for key in (keys[0], keys[-1])) if keys else (None, None)
    page.next = first if is_backwards else last if has_more else None
    page.previous = last if is_backwards else first if after else None
    return page


def build_rows(events: Iterable[Event], show: str) -> list[Event | Fold]:
    """The lines of a page: what `is_told` already is left out; two and more writes without a change are one fold.

    `show` is FOLDED, CHANGES (no writes without a change) or EVERYTHING (nothing is folded).
    """
    rows: list[Event | Fold] = []
    for is_change, group in groupby((event for event in events if not event.is_told), _is_change):
        run = list(group)
        if is_change or show == EVERYTHING or (show == FOLDED and len(run) == 1):
            rows += run
        elif show == FOLDED:
            rows.append(Fold(run))
    return rows


def find_two_newest(events: Page) -> tuple[str, str]:
    """The two newest versions among these events, the older one first; empty where there are fewer."""
    found = dict.fromkeys(event.version_id for event in events if event.version_id and not event.is_told)
    new, old, *_rest = [*found, "", ""]
    return (old, new) if old else ("", "")


def find_rollback_ids(events: Page) -> list[str]:
    """The ids of the rollbacks among these events."""
    return [event.audit.id for event in events if event.audit and event.audit.origin == rollback_chains.ROLLBACK]


def _is_change(event):
    return event.audit is None or event.audit.status not in WITHOUT_CHANGE


def _walk(tables, place, size, *, is_backwards):
    """The keys of `size` events from a place on, as (time, kind, place, id), and whether there are more.

    Each table is asked in the order of its own index; of one moment a write comes after the version that it made.
    """
    order = ("created_at", "place") if is_backwards else ("-created_at", "-place")
    found: list[tuple[int, str, int, str]] = []
    for kind, rows in tables.items():
        some = _from(rows, kind, place, order, is_backwards=is_backwards)
        found += [(row["created_at"], kind, row["place"], row["id"]) for row in some.order_by(*order)[: size + 1]]
    found.sort(reverse=not is_backwards)
    return found[:size], len(found) > size


def _from(rows, kind, place, order, *, is_backwards):
    """Those rows of one table that come after a place, which may be of the other table."""
    if place is None:
        return rows
    at, of, number = place
    if kind == of:
        return filter_after(rows, order=order, after=encode_cursor([at, number]))
    way = "gt" if is_backwards else "lt"
    return rows.filter(**{f"created_at__{way}{'e' if (kind > of) == is_backwards else ''}": at})


def _place(text):
    """What a cursor says: a time, a kind of event, and its place in its table."""
    if not text:
        return None
    at, kind, number = decode_cursor(text, 3)
    if kind not in (WRITE, VERSION) or not isinstance(at, int) or not isinstance(number, int):
        raise Refused(_("This page address belongs to another list. Start again from the first page."))
    return at, kind, number


def _events(db, keys):
    """The rows that keys name, each read once, without those that an import gave another id meanwhile."""
    audits = WriteGuardianAudit.objects.using(db).defer("diff", "hunks_json")
    versions = FileSnapshot.objects.using(db).defer("content", "raw")
    written = audits.in_bulk([key[3] for key in keys if key[1] == WRITE])
    names = [key[3] for key in keys if key[1] == VERSION]
    kept, led = versions.in_bulk(names), related_writes.find_by_version(db, names)
    for at, kind, _number, name in keys:
        if kind == WRITE and name in written:
            yield Event(at, audit=written[name])
        elif kind == VERSION and name in kept:
            yield Event(at, version=kept[name], led_by=led.get(name, []))


def _find_told(events):
    """Mark the versions that say nothing new. Versions are told by their hashes: a content may be kept twice."""
    held = None
    for event in reversed(events):
        if event.version:
            event.is_told = bool(event.led_by) or event.version.content_hash[:32] == held
            held = event.version.content_hash[:32]
        elif event.version_id:
            held = parse_snapshot_hash(event.version_id) or held
