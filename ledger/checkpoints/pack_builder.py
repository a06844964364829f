"""Building the checkpoint pack of a compaction, and storing it as an artifact."""

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
    """A stored pack: the row that refers to it, and its content.

    `is_new` is False when the agent had the same pack already.
    """

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
    """The pack of a compaction, the same wherever and whenever it is built.

    `sources` are functions of other apps that return more decisions. Raises Refused for a budget out of bounds.
    """
    if not bundle.LEAST_CHARS <= budget <= bundle.MOST_CHARS:
        sizes = {"least": f"{bundle.LEAST_CHARS:,}", "most": f"{bundle.MOST_CHARS:,}"}
        raise Refused(_("The budget must be %(least)s to %(most)s characters.") % sizes)
    session, part = compaction.session, find_part(compaction)
    contents = part_index.build_index(compaction, part)
    is_withheld = compaction.record is None or _is_over_withheld(compaction)
    record = {} if is_withheld else compaction.record or {}
    text = record.get("summary") if isinstance(record.get("summary"), str) else ""
    details = record.get("details")
    read, modified = read_file_lists(text, details if isinstance(details, dict) else {})
    contents.work.add_named_files(read, modified)
    _add_decisions(contents, compaction, text, sources)
    pack = {
        "schema": SCHEMA,
        "agent": agent_id,
        "session": {"id": session.id},
        "compaction": _describe_compaction(compaction, part),
        "summary": {"text": text[: find_cut(text, SUMMARY)], "length": len(text), "is_withheld": is_withheld},
        "part": _describe_part(contents),
        "turns": part_index.to_pack_list(contents.turns),
        "files_read": part_index.to_pack_list(contents.work.read, _sort_by_path(contents.work.read)),
        "files_modified": part_index.to_pack_list(contents.work.modified, _sort_by_path(contents.work.modified)),
        "decisions": part_index.to_pack_list(contents.decisions),
        "open_calls": part_index.to_pack_list(contents.work.open_calls),
        "open_errors": part_index.to_pack_list(contents.work.open_errors),
        "artifacts": part_index.to_pack_list(
            contents.artifacts.entries, contents.artifacts.items(session._state.db, agent_id)
        ),
    }
    return {**pack, "bundle": bundle.compose_bundle(pack, budget)}


def store_pack(compaction: Compaction, pack: dict[str, Any]) -> StoredPack:
    """Store a pack as an artifact of the agent; the same pack is the same row.

    Raises Refused when it cannot be stored.
    """
    session = compaction.session
    db = session._state.db
    place = Place(session_id=session.id, record_id=compaction.record_id)
    rows = Artifact.objects.using(db).filter(kind=KIND, session_id=session.id, record_id=compaction.record_id)
    known_handles = set(rows.values_list("handle", flat=True))
    with services.open_stash_batch(db) as batch:
        row, _stored = batch.add(
            pack_to_bytes(pack),
            kind=KIND,
            meta={"schema": SCHEMA},
            place=place,
            at=compaction.created_at,
            first_stashed_at=layout.to_iso(compaction.created_at),
        )
    return StoredPack(row, row.handle not in known_handles, pack)


def find_packs(session: Session) -> list[Artifact]:
    """The newest 100 packs of a session, the one of the latest compaction first.

    Several packs of one compaction are in the order of their handles.
    """
    rows = Artifact.objects.using(session._state.db).filter(kind=KIND, session_id=session.id)
    return list(rows.order_by("-created_at", "handle")[:100])


def _is_over_withheld(compaction):
    """Whether people who opted out spoke before a compaction.

    Each summary continues the one before it, so it may repeat their words.
    """
    session = compaction.session
    if not session.withheld_count:
        return False
    return session.events.filter(kind="withheld", seq__lt=compaction.seq).exists()


def _add_decisions(contents, compaction, text, sources):
    session = compaction.session
    for decision in decisions.find_summary_decisions(text, compaction.record_id, compaction.created_at):
        contents.decide(decision)
    for source in sources:
        for decision in source(session._state.db, session.id, compaction.created_at):
            if _is_of_part(contents, decision):
                contents.decide(decision)


def _is_of_part(contents, decision):
    """Whether a decision of another app belongs to this part.

    Without a record only its time can tell. In a part with withheld records time is not enough: the decision could be
    about one of those.
    """
    if decision.record_id is not None:
        return decision.record_id in contents.turn_ids
    if contents.withheld_count or contents.started_at is None or decision.at is None:
        return False
    return contents.started_at <= decision.at <= contents.ended_at


def _describe_compaction(compaction, part):
    record = compaction.record or {}
    return {
        "record_id": compaction.record_id,
        "at": compaction.created_at,
        "first_kept_record_id": compaction.kept_id,
        "kept": part.kept_state,
        "previous_record_id": part.previous_id,
        "context_before": _valid_count(record.get("tokensBefore")),
        "context_after": _valid_count(record.get("tokensAfter")),
        "from_hook": record.get("fromHook") is True,
    }


def _describe_part(contents):
    return {
        "first_record_id": contents.first.record_id if contents.first else None,
        "last_record_id": contents.last.record_id if contents.last else None,
        "record_count": contents.record_count,
        "withheld_count": contents.withheld_count,
        "turn_count": len(contents.turns.items) + contents.turns.more,
        "started_at": contents.started_at,
        "ended_at": contents.ended_at,
    }


def _sort_by_path(files):
    return sorted(files.items, key=lambda file: file["path"])


def _valid_count(value):
    return value if type(value) is int and 0 <= value < 2**53 else None
