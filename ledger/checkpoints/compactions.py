"""The compactions of a session, and which records each of them took out of the model's sight."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..collectors.records import Facts, read_facts
from ..models import Session, TranscriptEvent
from ..session import branch_records
from ..transcripts import trimming
from ..transcripts.resets import find_last_before, list_resets

LATEST, ALL = "latest", "all"
BATCH = 100
COLUMNS = ("seq", "kind", "created_at", "turn_number", "is_failed", "is_synthetic", "model", "trim_json", "event_json")


@dataclass(frozen=True, slots=True)
class Compaction:
    """One compaction. `record` is None when it is withheld: it summarised what people said who opted out."""

    session: Session
    record_id: str
    seq: int
    created_at: int
    way: branch_records.BranchRecords
    record: dict[str, Any] | None

    @property
    def kept_id(self) -> str | None:
        """The first record that the model still sees, as the compaction names it."""
        found = (self.record or {}).get("firstKeptEntryId")
        return found if isinstance(found, str) and found else None


@dataclass(frozen=True, slots=True)
class Part:
    """The records from `first_seq` up to, but without, `end_seq` on the compaction's branch.

    `kept` is `found`, `missing` (the record is not on the branch) or `unknown` (the compaction names none).
    """

    first_seq: int
    end_seq: int
    kept: str
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One record on its way into an index: its row, its id, the record with its long texts, and what that says."""

    row: dict[str, Any]
    record_id: str
    record: dict[str, Any]
    said: Facts


def find_compactions(session: Session, which: str) -> Iterator[Compaction]:
    """The compactions that `latest`, `all` or a record's id means, in order. Raises Refused when there is none."""
    ids = list(_identities(session).order_by("seq").values_list("event_id", "seq"))
    if not ids:
        raise Refused(_("This session has no compaction: the model still sees the whole session."))
    if which == LATEST:
        return iter([_load(session, *_latest(session, ids))])
    if which != ALL:
        ids = [each for each in ids if each[0] == which]
        if not ids:
            raise Refused(
                _("This session has no compaction with that id. Use `latest`, `all`, or the id of a compaction.")
            )
    return (_load(session, *each) for each in ids)


def find_part(compaction: Compaction) -> Part:
    """What a compaction took out of sight: from where the one before it on its branch had stopped, or from a reset.

    Every record of a branch is in the part of one compaction at most. Without a usable first kept record it goes up
    to the compaction itself.
    """
    kept_seq, kept = _kept(compaction)
    before = _before(compaction)
    first = 0
    if before:
        earlier, _state = _kept(before)
        first = before.seq + 1 if earlier is None else earlier
    first = max(first, _after_reset(compaction))
    end = compaction.seq if kept_seq is None else kept_seq
    return Part(first, max(first, end), kept, before.record_id if before else None)


def read_records(compaction: Compaction, first_seq: int, end_seq: int) -> Iterator[PartRecord]:
    """The records of a stretch of the compaction's branch in order; a few are in memory at any time."""
    session, seq = compaction.session, first_seq - 1
    while seq < end_seq - 1:
        rows = compaction.way.after(seq, BATCH, *COLUMNS, until=end_seq - 1)
        if not rows:
            return
        named = session.identities.filter(seq__in=[row["seq"] for row in rows])
        ids = dict(named.values_list("seq", "event_id"))
        for row in rows:
            record = _whole(session, row)
            yield PartRecord(row, ids.get(row["seq"], ""), record, read_facts(record))
        seq = rows[-1]["seq"]


def _whole(session, row):
    """A record with its capped texts; outputs that are artifacts stay previews."""
    full = None
    if row["trim_json"]:
        full = session.events.filter(seq=row["seq"]).values_list("full_zstd", flat=True).first()
    return trimming.untrim(row["event_json"], full)


def _identities(session):
    # What was withheld keeps its type here, and loses it in the record itself.
    return session.identities.filter(event_type="compaction")


def _latest(session, ids):
    """The last one on the branch that the session ended with; on any, when there is none."""
    seqs = [seq for _id, seq in ids]
    for start in range(len(seqs), 0, -branch_records.BATCH):
        near = session.events.filter(is_active=True, seq__in=seqs[max(0, start - branch_records.BATCH) : start])
        if (seq := near.order_by("-seq").values_list("seq", flat=True).first()) is not None:
            return ids[seqs.index(seq)]
    return ids[-1]


def _load(session, record_id, seq, way=None):
    event = TranscriptEvent.objects.using(session._state.db).get(session_id=session.id, seq=seq)
    if way is None:
        way = (
            branch_records.BranchRecords(session)
            if event.is_active
            else branch_records.find_branch_records(session, record_id)
        )
    record = None if event.kind == "withheld" else trimming.untrim(event.event_json, event.full_zstd)
    return Compaction(session, record_id, seq, event.created_at, way, record)


def _before(compaction):
    """The compaction before this one on its branch."""
    session, way = compaction.session, compaction.way
    earlier = _identities(session).filter(seq__lt=compaction.seq).order_by("-seq")
    for record_id, seq in earlier.values_list("event_id", "seq").iterator(chunk_size=BATCH):
        if _is_on(way, seq):
            return _load(session, record_id, seq, way)
    return None


def _after_reset(compaction):
    """The first place after the last reset before a compaction on its branch; 0 when there is none."""
    session, way = compaction.session, compaction.way
    resets = list_resets(session._state.db, session.id)
    return find_last_before([seq for seq, is_active in resets if way.holds(seq, is_active)], compaction.seq) + 1


def _kept(compaction):
    """`(seq of the first record that is kept or None, how that is known)`."""
    if compaction.kept_id is None:
        return None, "unknown"
    found = compaction.session.identities.filter(event_id=compaction.kept_id, seq__lt=compaction.seq)
    seq = found.values_list("seq", flat=True).first()
    return (seq, "found") if seq is not None and _is_on(compaction.way, seq) else (None, "missing")


def _is_on(way, seq):
    is_active = way.session.events.filter(seq=seq).values_list("is_active", flat=True).first()
    return is_active is not None and way.holds(seq, is_active)
