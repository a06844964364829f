"""Orders the sources of a session, and finds the records that its branches end with.

Within a source its own order decides. Of two sources the one that continues the other comes last: it holds the last
record of the other one, or its own records follow that one. Where neither does, the later last record decides.

Each version of each source has one branch, which ends with its last record. Such an end counts as long as no version of
a source has another record after it. So a source that forks leaves a branch, one that is written anew does not, and the
order in which versions are read changes nothing. `Session.leaves` are the ends that count, where there is more than one
source or version; the last of them in time is `leaf_record_id`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from django.db import transaction

from openclaw_web.sqlite.json_columns import encode

from .collectors.records import own_parent
from .models import ConversationTurn, Session, TranscriptEvent
from .transcripts import day_sums, turns
from .transcripts.rows import Row
from .transcripts.trees import Tree

MOST_LEAVES = 1_000  # of one session: the branches with the earliest ends are no longer active
MOST = 40  # sources of one session that are compared with each other; more are ordered by time alone


@dataclass(slots=True)
class Ending:
    """The end of one reading of a source: its last record and its branch's leaf.

    `watched` are leaves of the session, `passed` those with another record behind them in this source, and `closed` the
    new ones before a header in the middle of it.
    """

    before: Row | None = None
    leaf_id: str | None = None
    is_new: bool = False  # the last record was in no source before
    is_linked: bool = True  # the first record says which one it follows
    is_begun: bool = False
    is_fork: bool = False  # new records do not simply follow the leaf
    goes_on: bool = False  # its first records were read before
    has_others: bool = False  # other sources or versions tell of the session
    is_alone: bool = False  # no version of it and no other source had an end of its own before
    earlier: tuple[str, ...] = ()  # the leaves of the session before this reading
    watched: frozenset[str | None] = frozenset()
    passed: frozenset[str | None] = frozenset()
    closed: tuple[str, ...] = ()

    def advance(self, row: Row, record: dict[str, Any], *, is_new: bool) -> None:
        """Advance to the next record of the source."""
        if row.facts.kind == "session":  # it begins a branch of its own
            self.closed += (self.leaf_id,) if self.leaf_id and self.is_new else ()
            self.before, self.leaf_id, self.is_new, self.goes_on = row, None, False, False
            return
        follows = self.leaf_id
        if follows is None and self.goes_on:
            follows = row.parent_id if own_parent(record) == row.parent_id else None
            self.is_linked = follows is not None and follows in self.watched
        if follows in self.watched:
            self.passed |= {follows}
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


def find_leaves(db: str, session: Session, ending: Ending, moments: Mapping[str, int]) -> list[str]:
    """The leaves of a session after a part of a source was read, in the order of time.

    `moments` are the times of records that are not stored yet.
    """
    before = session.leaves or [session.leaf_record_id]
    ends = {*before, *ending.closed, ending.leaf_id if ending.is_new else None} - ending.passed
    return order_leaves(db, session.id, ends, moments) or order_leaves(
        db, session.id, {*before, ending.leaf_id}, moments
    )


def order_leaves(db: str, session_id: str, leaf_ids: Iterable[str | None], moments: Mapping[str, int]) -> list[str]:
    """Those of these records that there are, in the order of time; the last MOST_LEAVES."""
    stored = TranscriptEvent.objects.using(db).filter(session_id=session_id, event_id__in=set(leaf_ids) - {None})
    known = {leaf: moments[leaf] for leaf in leaf_ids if leaf in moments} | dict(
        stored.values_list("event_id", "created_at")
    )
    return sorted(known, key=lambda leaf: (known[leaf], leaf))[-MOST_LEAVES:]


def is_settled(db: str, session_id: str, ending: Ending) -> bool:
    """Whether a source that was read continues its session.

    Otherwise the session has to be made again from all its sources, which brings its records in order.
    """
    rewinds = TranscriptEvent.objects.using(db).filter(session_id=session_id, kind="leaf")  # it may end elsewhere
    if not (ending.is_new and ending.is_linked) or rewinds.exists():
        return False
    session = Session.objects.using(db).get(id=session_id)
    nodes = {record_id: node for record_id, (node, *_) in turns.read_known_nodes(db, session).items()}
    return any(_follows(nodes, ending.leaf_id, leaf) for leaf in ending.earlier)


def set_leaves(db: str, session_id: str, leaf_ids: list[str], *, is_one: bool) -> None:
    """End the branches of a session with these records, and update everything derived."""
    with transaction.atomic(using=db, durable=True):
        session = Session.objects.using(db).get(id=session_id)
        known = turns.read_known_nodes(db, session)
        session.leaf_ids, session.leaf_record_id = "" if is_one else encode(leaf_ids), leaf_ids[-1]
        refresh, holes = turns.assign_turns(db, session, Tree(node for node, *_ in known.values()), [], known)
        day_sums.add(db, session.id, {}, turns.store_turns(db, session, [], refresh, holes), is_new=False)
        session.save(using=db)


def refresh_title_and_model(db: str, session_id: str) -> None:
    """Set the model of a session to that of its last active answer, and the title to its first active words in time.

    The result does not depend on the order in which its sources were stored. A title that is none of its messages
    stays: an index gave it.
    """
    session = Session.objects.using(db).get(id=session_id)
    stored = ConversationTurn.objects.using(db).filter(session_id=session_id).order_by("created_at", "id")
    words = list(stored.values_list("user_message_content", "user_metadata", "is_active"))
    if session.title in {turns.find_title([each[:2]]) for each in words}:
        session.title = turns.find_title([each[:2] for each in words if each[2]][: turns.TITLE_TURNS])
    answers = TranscriptEvent.objects.using(db).filter(session_id=session_id, kind="assistant", is_synthetic=False)
    last = answers.exclude(model=None).order_by("-is_active", "-created_at", "-model")  # an active one, if there is any
    session.model = last.values_list("model", flat=True).first() or session.model
    session.save(using=db, update_fields=["title", "model"])


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
