"""The compactions of a session, and the records that each removed from the model's context."""

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
COLUMNS = (
    *("seq", "event_id", "kind", "created_at", "turn_number", "is_failed", "is_synthetic", "model"),
    *("trim_json", "event_json"),
)


@dataclass(frozen=True, slots=True)
class Compaction:
    """One compaction on its branch.

    `record` is None when it is withheld, because it summarised what people said who opted out.
    """

    session: Session
    record_id: str
    seq: int
    created_at: int
    branch: branch_records.BranchRecords
    record: dict[str, Any] | None

    @property
    def kept_id(self) -> str | None:
        """The first record that the model still sees, as the compaction names it."""
        record_id = (self.record or {}).get("firstKeptEntryId")
        return record_id if isinstance(record_id, str) and record_id else None


@dataclass(frozen=True, slots=True)
class Part:
    """The records from `first_seq` up to, but without, `end_seq` on the compaction's branch.

    `kept_state` is `found`, `missing` (the first kept record is not on the branch) or `unknown` (the compaction names
    none).
    """

    first_seq: int
    end_seq: int
    kept_state: str
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One record of a part: its row, id, content with long texts, and facts."""

    row: dict[str, Any]
    record_id: str
    record: dict[str, Any]
    facts: Facts


def find_compactions(session: Session, selection: str) -> Iterator[Compaction]:
    """The compactions that `latest`, `all` or the id of a record names, in order.

    Raises Refused when there is none.
    """
    ids = list(_filter_compactions(session).order_by("seq").values_list("event_id", "seq"))
    if not ids:
        raise Refused(_("This session has no compaction: the model still sees the whole session."))
    if selection == LATEST:
        return iter([_load(session, *_find_latest(session, ids))])
    if selection != ALL:
        ids = [each for each in ids if each[0] == selection]
        if not ids:
            raise Refused(
                _("This session has no compaction with that id. Use `latest`, `all`, or the id of a compaction.")
            )
    return (_load(session, *each) for each in ids)


def find_part(compaction: Compaction) -> Part:
    """The part of a session that a compaction removed from the model's context.

    It begins where the part of the compaction before it on its branch ended, or at a reset. Every record of a branch is
    in the part of one compaction at most. Without a usable first kept record it goes up to the compaction itself.
    """
    kept_seq, kept_state = _find_kept_seq(compaction)
    before = _find_previous(compaction)
    first = 0
    if before:
        previous_end, _state = _find_kept_seq(before)
        first = before.seq + 1 if previous_end is None else previous_end
    first = max(first, _find_start_after_reset(compaction))
    end = compaction.seq if kept_seq is None else kept_seq
    return Part(first, max(first, end), kept_state, before.record_id if before else None)


def read_records(compaction: Compaction, first_seq: int, end_seq: int) -> Iterator[PartRecord]:
    """The records of a stretch of the compaction's branch, in order.

    `end_seq` itself is not part of it. At most BATCH records are in memory at a time.
    """
    session, seq = compaction.session, first_seq - 1
    while seq < end_seq - 1:
        rows = compaction.branch.after(seq, BATCH, *COLUMNS, until=end_seq - 1)
        if not rows:
            return
        for row in rows:
            # A record with its capped texts; outputs that are artifacts stay previews.
            full = None
            if row["trim_json"]:
                full = session.events.filter(seq=row["seq"]).values_list("full_zstd", flat=True).first()
            record = trimming.untrim(row["event_json"], full)
            yield PartRecord(row, row["event_id"] or "", record, read_facts(record))
        seq = rows[-1]["seq"]


def _filter_compactions(session):
    # `event_type` keeps the type of a withheld record; its kind does not.
    return session.events.filter(event_type="compaction")


def _find_latest(session, ids):
    """The last compaction on the active branch, or on any branch when there is none."""
    seqs = [seq for _id, seq in ids]
    for start in range(len(seqs), 0, -branch_records.BATCH):
        near = session.events.filter(is_active=True, seq__in=seqs[max(0, start - branch_records.BATCH) : start])
        if (seq := near.order_by("-seq").values_list("seq", flat=True).first()) is not None:
            return ids[seqs.index(seq)]
    return ids[-1]


def _load(session, record_id, seq, branch=None):
    event = TranscriptEvent.objects.using(session._state.db).get(session_id=session.id, seq=seq)
    if branch is None:
        branch = (
            branch_records.BranchRecords(session)
            if event.is_active
            else branch_records.find_branch_records(session, record_id)
        )
    record = None if event.kind == "withheld" else trimming.untrim(event.event_json, event.full_zstd)
    return Compaction(session, record_id, seq, event.created_at, branch, record)


def _find_previous(compaction):
    """The compaction before this one on its branch."""
    session, branch = compaction.session, compaction.branch
    earlier = _filter_compactions(session).filter(seq__lt=compaction.seq).order_by("-seq")
    for record_id, seq in earlier.values_list("event_id", "seq").iterator(chunk_size=BATCH):
        if _is_on_branch(branch, seq):
            return _load(session, record_id, seq, branch)
    return None


def _find_start_after_reset(compaction):
    """The first place after the last reset before a compaction on its branch, or 0."""
    session, branch = compaction.session, compaction.branch
    resets = list_resets(session._state.db, session.id)
    return find_last_before([seq for seq, is_active in resets if branch.holds(seq, is_active)], compaction.seq) + 1


def _find_kept_seq(compaction):
    """`(seq of the first kept record or None, how it is known)`; see Part.kept_state."""
    if compaction.kept_id is None:
        return None, "unknown"
    matches = compaction.session.events.filter(event_id=compaction.kept_id, seq__lt=compaction.seq)
    seq = matches.values_list("seq", flat=True).first()
    return (seq, "found") if seq is not None and _is_on_branch(compaction.branch, seq) else (None, "missing")


def _is_on_branch(branch, seq):
    is_active = branch.session.events.filter(seq=seq).values_list("is_active", flat=True).first()
    return is_active is not None and branch.holds(seq, is_active)
