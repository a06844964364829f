"""Stores findings together with how far their source was scanned, in one transaction."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from openclaw_web.clock import now_ms
from openclaw_web.sqlite import write_queue

from .models import Finding, FindingScan
from .value_hash import read_key_mark

ROWS = 500  # that one statement inserts
DELETED = 1_000  # findings that one statement removes
PERSON_RULE = "person"  # the rule of findings that a person added: no scan finds them again
SUMMED = "summary"  # the source whose position is the last finding that the summary counts


@dataclass(frozen=True, slots=True)
class Position:
    """How far a source was scanned; `rules` is 0 when it was not."""

    place: int = -1
    fingerprint: str = ""
    rules: int = 0


REPLACED = Position(rules=1)  # no scan has these rules, so that the next one begins anew


@dataclass(slots=True)
class Step:
    """One step of a scan: the position of a source before and after, and new findings.

    With `is_restart` the findings of the source are removed first, except those that people added. The counts are
    texts, their characters, findings that are not stored because there are too many, texts that could not be read, and
    texts of which only the first part was scanned.
    """

    source: str
    session_id: str
    before: Position
    after: Position
    rows: list[Finding] = field(default_factory=list)
    is_restart: bool = False
    texts: int = 0
    size: int = 0
    omitted: int = 0
    unreadable: int = 0
    cut: int = 0

    def add(self, rows: list[Finding], omitted: int, *, room: int) -> None:
        """Add the findings of one document, at most `room` of them."""
        self.rows += rows[: max(0, room)]
        self.omitted += omitted + len(rows) - min(len(rows), max(0, room))


def read_position(db: str, source: str, session_id: str = "") -> Position:
    """Read how far a source was scanned."""
    return read_positions(db, source, [session_id]).get(session_id, Position())


def read_positions(db: str, source: str, session_ids: Collection[str]) -> dict[str, Position]:
    """Read how far the records of these sessions were scanned; others have no entry."""
    rows = FindingScan.objects.using(db).filter(source=source, session_id__in=session_ids)
    return {row.session_id: _build_position(row) for row in rows}


def read_table_positions(db: str, sources: Collection[str]) -> dict[str, Position]:
    """Read how far these tables were scanned; one that was not has an empty position."""
    rows = FindingScan.objects.using(db).filter(source__in=sources, session_id="")
    return dict.fromkeys(sources, Position()) | {row.source: _build_position(row) for row in rows}


def _build_position(row):
    is_sound = row.position.removeprefix("-").isdecimal()
    return Position(int(row.position), row.fingerprint, row.rules) if is_sound else REPLACED


def save_positions(db: str, positions: Mapping[tuple[str, str], Position]) -> None:
    """Save how far sources were scanned, by source and session; in the caller's transaction."""
    now = now_ms()
    rows = [
        FindingScan(
            source=source,
            session_id=session_id,
            position=str(position.place),
            fingerprint=position.fingerprint,
            rules=position.rules,
            scanned_at=now,
        )
        for (source, session_id), position in positions.items()
    ]
    FindingScan.objects.using(db).bulk_create(
        rows,
        batch_size=ROWS,
        update_conflicts=True,
        unique_fields=["source", "session_id"],
        update_fields=["position", "fingerprint", "rules", "scanned_at"],
    )


def note_source(db: str, source: str, session_id: str) -> None:
    """Add the row of a source that was not scanned yet; in the caller's transaction."""
    if read_position(db, source, session_id) == Position():
        save_positions(db, {(source, session_id): REPLACED})


def store(agent_id: str, db: str, steps: Sequence[Step]) -> int:
    """Store steps of a scan in one transaction; return how many findings they have.

    Then their values are counted again. Before findings of other rules are removed, verdicts on their values are given
    to what is marked there now. A step is left out when its source was scanned or imported again meanwhile: the
    next scan does it.
    """
    rows: list[Finding] = []
    hashes: set[str] = set()
    if restarted := [(step.source, step.session_id) for step in steps if step.is_restart]:
        import_string(settings.FINDING_VERDICTS)(agent_id, db, restarted)
    with write_queue.agent_transaction(db):
        names = defaultdict(set)
        for step in steps:
            names[step.source].add(step.session_id)
        current = {
            (source, session_id): position
            for source, session_ids in names.items()
            for session_id, position in read_positions(db, source, session_ids).items()
        }
        changed = {}
        for step in steps:
            place = (step.source, step.session_id)
            if current.get(place, Position()) != step.before:
                continue
            if step.is_restart:
                hashes |= remove(agent_id, db, *place)
            current[place] = changed[place] = step.after
            rows += step.rows
        Finding.objects.using(db).bulk_create(rows, batch_size=ROWS, ignore_conflicts=True)
        save_positions(db, changed)
        last = Finding.objects.using(db).order_by("-id").values_list("id", flat=True).first()
    hashes |= {row.value_hash for row in rows}
    if hashes:
        refresh_summary(agent_id, db, hashes, last or 0)
    return len(rows)


def remove(agent_id: str, db: str, source: str, session_id: str = "", *, with_added: bool = False) -> set[str]:
    """Remove what scans found in a source, and return the hashes; in the caller's transaction.

    With `with_added`, also what people added.
    """
    rows = Finding.objects.using(db).filter(source=source)
    rows = rows.filter(session_id=session_id) if session_id else rows
    return remove_rows(agent_id, db, rows if with_added else rows.exclude(rule=PERSON_RULE))


def remove_rows(agent_id: str, db: str, rows: QuerySet[Finding]) -> set[str]:
    """Remove findings, and return the hashes of their values; in the caller's transaction."""
    hashes: set[str] = set()
    while pairs := list(rows.order_by().values_list("id", "value_hash")[:DELETED]):
        hashes |= {value_hash for _id, value_hash in pairs}
        Finding.objects.using(db).filter(id__in=[finding_id for finding_id, _hash in pairs]).delete()
    if hashes:  # now, because after a kill nobody would know that these values are gone
        call_summary(agent_id, db, hashes)
    return hashes


def refresh_summary(agent_id: str, db: str, hashes: Collection[str], last_id: int) -> None:
    """Have values counted again, and note that the summary has findings up to an id."""
    call_summary(agent_id, db, hashes)
    with write_queue.agent_transaction(db):
        save_positions(db, {(SUMMED, ""): Position(last_id, read_key_mark())})


def resume_summary(agent_id: str, db: str) -> None:
    """Count the values of findings that a killed scan stored without counting them."""
    position = read_position(db, SUMMED).place
    rows = Finding.objects.using(db).order_by("id").values_list("id", "value_hash")
    while pairs := list(rows.filter(id__gt=position)[:DELETED]):
        position = pairs[-1][0]
        refresh_summary(agent_id, db, {value_hash for _id, value_hash in pairs}, position)


def call_summary(agent_id: str, db: str, hashes: Collection[str]) -> None:
    """Have the values of an agent counted again, by the function that the settings name."""
    import_string(settings.FINDING_SUMMARY)(agent_id, db, hashes)
