"""Building the checkpoint pack of a compaction, and sealing it as an artifact."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from artifacts import services
from artifacts.models import Artifact
from artifacts.services import Place
from artifacts.store import layout
from openclaw_web.errors import Refused

from ..collectors.records import read_file_lists
from ..models import Session
from . import bundle, decisions, part_index
from .compactions import Compaction, find_part
from .pack import KIND, SCHEMA, pack_to_bytes
from .texts import find_cut

SUMMARY = 20_000  # characters


@dataclass(frozen=True, slots=True)
class StoredPack:
    """A sealed pack: the row that refers to it, whether it was not there before, and what it holds."""

    row: Artifact
    is_new: bool
    pack: dict[str, Any]


def build_pack(
    agent_id: str,
    compaction: Compaction,
    *,
    budget: int = bundle.USUAL_CHARS,
    sources: Iterable[decisions.DecisionSource] = (),
) -> dict[str, Any]:
    """The pack of a compaction: nothing in it depends on where and when it is built.

    `sources` are apps above that know of more decisions. Raises Refused for a budget out of bounds.
    """
    if not bundle.LEAST_CHARS <= budget <= bundle.MOST_CHARS:
        sizes = {"least": f"{bundle.LEAST_CHARS:,}", "most": f"{bundle.MOST_CHARS:,}"}
        raise Refused(_("The budget must be %(least)s to %(most)s characters.") % sizes)
    session, part = compaction.session, find_part(compaction)
    found = part_index.build_index(compaction, part)
    is_withheld = compaction.record is None or _is_over_withheld(compaction)
    record = {} if is_withheld else compaction.record or {}
    text = record.get("summary") if isinstance(record.get("summary"), str) else ""
    _add_named_files(found, text, record)
    _add_decisions(found, compaction, text, sources)
    pack = {
        "schema": SCHEMA,
        "agent": agent_id,
        "session": {"id": session.id},
        "compaction": _about(compaction, part),
        "summary": {"text": text[: find_cut(text, SUMMARY)], "length": len(text), "is_withheld": is_withheld},
        "part": _extent(found),
        "turns": part_index.to_pack_list(found.turns),
        "files_read": part_index.to_pack_list(found.work.read, _by_path(found.work.read)),
        "files_modified": part_index.to_pack_list(found.work.modified, _by_path(found.work.modified)),
        "decisions": part_index.to_pack_list(found.decisions),
        "open_calls": part_index.to_pack_list(found.work.open_calls),
        "open_errors": part_index.to_pack_list(found.work.open_errors),
        "artifacts": part_index.to_pack_list(found.artifacts.found, found.artifacts.items(session._state.db, agent_id)),
    }
    return {**pack, "bundle": bundle.compose_bundle(pack, budget)}


def store_pack(compaction: Compaction, pack: dict[str, Any]) -> StoredPack:
    """Seal a pack as an artifact of the agent; the same pack again is the same row. Raises Refused when it cannot."""
    session = compaction.session
    db = session._state.db
    place = Place(session_id=session.id, record_id=compaction.record_id)
    rows = Artifact.objects.using(db).filter(kind=KIND, session_id=session.id, record_id=compaction.record_id)
    before = set(rows.values_list("handle", flat=True))
    with services.open_stash_batch(db) as batch:
        row, _stored = batch.add(
            pack_to_bytes(pack),
            kind=KIND,
            meta={"schema": SCHEMA},
            place=place,
            at=compaction.created_at,
            first_stashed_at=layout.to_iso(compaction.created_at),
        )
    return StoredPack(row, row.handle not in before, pack)


def find_packs(session: Session) -> list[Artifact]:
    """The packs of a session, that of the latest compaction first; of one compaction the order is that of handles."""
    rows = Artifact.objects.using(session._state.db).filter(kind=KIND, session_id=session.id)
    return list(rows.order_by("-created_at", "handle")[:100])


def _is_over_withheld(compaction):
    """Whether people who opted out spoke before a compaction: each summary goes on from the one before it."""
    session = compaction.session
    if not session.withheld_count:
        return False
    return session.events.filter(kind="withheld", seq__lt=compaction.seq).exists()


def _add_named_files(found, text, record):
    details = record.get("details")
    read, modified = read_file_lists(text, details if isinstance(details, dict) else {})
    found.work.named(read, modified)


def _add_decisions(found, compaction, text, sources):
    session = compaction.session
    for decision in decisions.find_summary_decisions(text, compaction.record_id, compaction.created_at):
        found.decide(decision)
    for source in sources:
        for decision in source(session._state.db, session.id, compaction.created_at):
            if _is_of_part(found, decision):
                found.decide(decision)


def _is_of_part(found, decision):
    """Whether a decision of another app is about this part; without a record only its time can tell.

    In a part with withheld records time is not enough: the decision could be about one of those.
    """
    if decision.record_id is not None:
        return decision.record_id in found.turn_ids
    if found.withheld_count or found.started_at is None or decision.at is None:
        return False
    return found.started_at <= decision.at <= found.ended_at


def _about(compaction, part):
    record = compaction.record or {}
    return {
        "record_id": compaction.record_id,
        "at": compaction.created_at,
        "first_kept_record_id": compaction.kept_id,
        "kept": part.kept,
        "previous_record_id": part.previous_id,
        "context_before": _count(record.get("tokensBefore")),
        "context_after": _count(record.get("tokensAfter")),
        "from_hook": record.get("fromHook") is True,
    }


def _extent(found):
    return {
        "first_record_id": found.first.record_id if found.first else None,
        "last_record_id": found.last.record_id if found.last else None,
        "record_count": found.record_count,
        "withheld_count": found.withheld_count,
        "turn_count": len(found.turns.items) + found.turns.more,
        "started_at": found.started_at,
        "ended_at": found.ended_at,
    }


def _by_path(found):
    return sorted(found.items, key=lambda file: file["path"])


def _count(value):
    return value if type(value) is int and 0 <= value < 2**53 else None
