"""Orders the sources of a session; the last one says where its active branch ends.

Within a source its own order decides. Of two sources the one that continues the other comes last: it holds the last
record of the other one, or its own records follow that one. Where neither does, the later last record decides.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from django.db import transaction

from .models import ConversationTurn, Session, TranscriptEvent, TranscriptEventIdentity
from .transcripts import day_sums, turns
from .transcripts.rows import Row
from .transcripts.trees import Tree

MOST = 40  # sources of one session that are compared with each other; more are ordered by time alone


@dataclass(slots=True)
class Ending:
    """The end of one reading of a source: its last record and its branch's leaf."""

    before: Row | None = None
    leaf_id: str | None = None
    is_new: bool = False  # the last record was in no source before
    is_linked: bool = True  # the first record says which one it follows

    def advance(self, row: Row, record: dict[str, Any], *, is_new: bool) -> None:
        """Advance to the next record of the source."""
        is_linked = "parentId" in record or self.before is None or self.leaf_id is not None
        self.is_linked = self.is_linked and is_linked
        self.before, self.leaf_id, self.is_new = row, _find_leaf_id(row, record) or self.leaf_id, is_new

    def copy_from(self, other: "Ending") -> None:
        """Copy the state of another ending."""
        for name in (each.name for each in fields(self)):
            setattr(self, name, getattr(other, name))


@dataclass(slots=True)
class SourceRecords:
    """The records of one source by their ids, as `order_sources` compares them."""

    name: str
    ids: set[str] = field(default_factory=set)
    parents: set[str] = field(default_factory=set)
    last_id: str = ""
    last_at: int = 0

    def add(self, record_id: str, parent_id: str | None, created_at: int | None) -> None:
        """Add the next record of the source."""
        self.ids.add(record_id)
        if parent_id:
            self.parents.add(parent_id)
        self.last_id, self.last_at = record_id, created_at or self.last_at

    def continues(self, other: "SourceRecords") -> bool:
        """Whether this source continues the other one.

        It holds the last record of the other source, or follows it, and has more than that.
        """
        if other.last_id in self.ids:
            return self.last_id not in other.ids
        return other.last_id in self.parents and self.last_id not in other.ids and self.last_id not in other.parents


def order_sources(sources: Iterable[SourceRecords]) -> list[SourceRecords]:
    """Sources of one session in order, the source whose branch is active last.

    The order is the same in whatever order they come.
    """
    remaining = sorted(
        (source for source in sources if source.last_id), key=lambda source: (source.last_at, source.name)
    )
    if len(remaining) > MOST:
        return remaining
    ordered: list[SourceRecords] = []
    while remaining:
        ends = [
            source
            for source in remaining
            if not any(other.continues(source) for other in remaining if other is not source)
        ]
        last = (ends or remaining)[-1]
        remaining.remove(last)
        ordered.append(last)
    return ordered[::-1]


def update_leaf(db: str, session_id: str, ending: Ending, *, is_new: bool) -> bool:
    """Move the branch's leaf to the end of a source that continues all others.

    Returns False when this source alone cannot tell. `is_new` means that the reading added records: after False the
    session then has to be made again from all its sources.
    """
    session = Session.objects.using(db).get(id=session_id)
    if ending.leaf_id == session.leaf_record_id:
        return not is_new or ending.is_new
    if not (ending.is_new and ending.is_linked and ending.before) or _has_rewinds(db, session_id):
        return False
    known = turns.read_known_nodes(db, session)
    nodes = {record_id: node for record_id, (node, *_) in known.items()}
    earlier, last = session.leaf_record_id, ending.before.record_id
    if any(node.parent_id == last for node in nodes.values()) or not _follows(nodes, ending.leaf_id, earlier):
        return False
    place = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id, event_id=earlier)
    seq = place.values_list("seq", flat=True).first()
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq=seq)
    if ending.before.created_at <= (events.values_list("created_at", flat=True).first() or 0):
        return False
    move_leaf(db, session_id, ending.leaf_id or "")
    return True


def move_leaf(db: str, session_id: str, leaf_id: str) -> None:
    """End the active branch of a session with this record, and update everything derived."""
    with transaction.atomic(using=db, durable=True):
        session = Session.objects.using(db).get(id=session_id)
        known = turns.read_known_nodes(db, session)
        session.leaf_record_id = leaf_id
        refresh, holes = turns.assign_turns(db, session, Tree(node for node, *_ in known.values()), [], known)
        day_sums.add(db, session.id, {}, turns.store_turns(db, session, [], refresh, holes), is_new=False)
        session.model = _find_last_model(db, session, known) or session.model
        session.save(using=db)


def refresh_title_and_model(db: str, session_id: str) -> None:
    """Set model and title of a session to those of its active branch.

    The result does not depend on the order in which its sources were stored. A title that is none of its messages
    stays: an index gave it.
    """
    session = Session.objects.using(db).get(id=session_id)
    known = turns.read_known_nodes(db, session)
    stored = ConversationTurn.objects.using(db).filter(session_id=session_id, is_active=True)
    words = {row[0]: row[1:] for row in stored.values_list("user_message_id", "user_message_content", "user_metadata")}
    titles = {turns.find_title([each]) for each in words.values()}
    if session.title in titles:
        in_order = [words[record_id] for record_id in _find_branch_ids(session, known) if record_id in words]
        session.title = turns.find_title(in_order[: turns.TITLE_TURNS])
    session.model = _find_last_model(db, session, known) or session.model
    session.save(using=db, update_fields=["title", "model"])


def _find_branch_ids(session, known):
    """The ids of the records on the active branch, the first one first."""
    branch = Tree(node for node, *_ in known.values()).branch(session.leaf_record_id)
    return [node.record_id for node in reversed(branch)]


def _find_last_model(db, session, known):
    """The model that answered last on the active branch."""
    answers = TranscriptEvent.objects.using(db).filter(session_id=session.id, kind="assistant", is_synthetic=False)
    models = dict(answers.exclude(model=None).values_list("seq", "model"))
    places = [known[record_id][0].seq for record_id in reversed(_find_branch_ids(session, known))]
    return next((models[seq] for seq in places if seq in models), None)


def _find_leaf_id(row, record):
    """The record that the branch ends with, as far as this line tells."""
    if row.facts.kind == "leaf":
        target = record.get("targetId")
        return target if isinstance(target, str) else None
    return row.record_id if row.facts.kind != "session" else None


def _follows(nodes, record_id, earlier):
    """Whether one record follows another by the parents that the records name themselves."""
    seen = set()
    while record_id in nodes and record_id not in seen:
        if record_id == earlier:
            return True
        seen.add(record_id)
        record_id = nodes[record_id].parent_id
    return False


def _has_rewinds(db, session_id):
    """Whether a record says that the branch ends elsewhere than with the last one."""
    return TranscriptEvent.objects.using(db).filter(session_id=session_id, kind="leaf").exists()
