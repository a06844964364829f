"""The abandoned branches of a session: where each forks off and ends, and its length.

Records on the active branch are flagged, so only the others are read: few, in almost every session.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from openclaw_web.sqlite.json_columns import decode

from ..collectors.records import read_facts
from ..models import Session
from .trees import Node

MAX_ASIDE_RECORDS = 2_000  # records off the active branch up to which a page of the transcript shows its forks
MAX_BRANCHES = 200  # branches in one list
WORDS = 120  # characters
ROOT = -1  # where a branch forks off that has a beginning of its own
BATCH = 500
KEPT = 64  # sessions whose branches are remembered


@dataclass(frozen=True, slots=True)
class Branch:
    """One abandoned branch; `first_seq` is its first record, `fork_seq` the one before that."""

    leaf_id: str
    leaf_seq: int
    first_seq: int
    fork_seq: int
    fork_id: str
    record_count: int
    ended_at: int | None = None
    words: str = ""


@dataclass(slots=True)
class BranchPath:
    """The records of one branch.

    They are those of the active branch up to `fork_seq`, then its `own` in order.
    """

    fork_seq: int
    own: list[int]


@dataclass(slots=True)
class Forest:
    """The records off the active branch with their parents.

    A loop in a damaged file ends where it began.
    """

    nodes: dict[str, Node]
    outside: dict[str, int] = field(default_factory=dict)  # parents on the active branch: id -> seq
    places: dict[int, Node] = field(default_factory=dict)

    def __post_init__(self):
        self.places = {node.seq: node for node in self.nodes.values()}

    def parent(self, node: Node) -> Node | int:
        """The record before a node, or the seq of one on the active branch.

        It is ROOT when there is none. As in `trees`, a parent that is missing is replaced by the record that came
        before.
        """
        if node.parent_id is None:
            return ROOT
        if parent := self.nodes.get(node.parent_id):
            return parent
        seq = self.outside.get(node.parent_id, node.seq - 1)
        return self.places.get(seq, seq)

    def way(self, leaf: Node) -> BranchPath:
        """The records from the leaf up to where its branch forks off, in order."""
        own: dict[int, None] = {}
        place: Node | int = leaf
        while isinstance(place, Node) and place.seq not in own:
            own[place.seq] = None
            place = self.parent(place)
        return BranchPath(place if isinstance(place, int) else ROOT, sorted(own))

    def branches(self) -> list[Branch]:
        """Every branch, the latest leaf first; each record is visited once."""
        parents = {node.seq: self.parent(node) for node in self.nodes.values()}
        inner = {parent.seq for parent in parents.values() if isinstance(parent, Node)}
        leaves = [node for node in self.nodes.values() if node.seq not in inner]
        known: dict[int, tuple[int, int, int]] = {}
        branches = []
        for leaf in sorted(leaves, key=lambda node: -node.seq):
            # `(first own record, fork, length)` of the branch that ends with a node.
            path, seen = [], set()
            place = leaf
            while not isinstance(place, int) and place.seq not in known and place.seq not in seen:
                seen.add(place.seq)
                path.append(place.seq)
                place = parents[place.seq]
            if isinstance(place, int):
                first, fork, count = path[-1], place, 0
            else:  # a stretch that another branch shares, or a loop
                first, fork, count = known.get(place.seq, (path[-1], ROOT, 0))
            for seq in reversed(path):
                count += 1
                known[seq] = (first, fork, count)
            first, fork, count = known[leaf.seq]
            branches.append(Branch(leaf.record_id, leaf.seq, first, fork, "", count))
        return branches


def forest(session: Session) -> Forest:
    """The records off the active branch."""
    rows = session.events.filter(is_active=False, event_id__isnull=False).order_by("seq")
    columns = rows.values_list("event_id", "parent_id", "seq")
    abandoned = Forest({event_id: Node(seq, event_id, parent_id, False) for event_id, parent_id, seq in columns})
    parent_ids = sorted(
        {node.parent_id for node in abandoned.nodes.values() if node.parent_id not in abandoned.nodes} - {None}
    )
    for start in range(0, len(parent_ids), BATCH):
        known = session.events.filter(event_id__in=parent_ids[start : start + BATCH])
        abandoned.outside.update(known.values_list("event_id", "seq"))
    return abandoned


def find_branches(session: Session) -> tuple[Branch, ...]:
    """Every abandoned branch, the latest leaf first; cached until the session changes."""
    return _find_cached(session._state.db, session.id, session.cache_key())


def find_branch_path(session: Session, leaf_id: str) -> BranchPath | None:
    """The records of the branch that ends with a record; None when it is on none.

    Only abandoned branches are searched.
    """
    abandoned = forest(session)
    leaf = abandoned.nodes.get(leaf_id)
    return abandoned.way(leaf) if leaf else None


def describe_branches(session: Session, branches: Sequence[Branch]) -> list[Branch]:
    """The same branches with their forks' ids, end times and first words."""
    forks = dict(_read_ids(session, {branch.fork_seq for branch in branches} - {ROOT}))
    ends = dict(
        session.events.filter(seq__in=[branch.leaf_seq for branch in branches]).values_list("seq", "created_at")
    )
    firsts = session.events.filter(seq__in=[branch.first_seq for branch in branches]).values_list("seq", "event_json")
    words = {seq: _find_first_words(event_json) for seq, event_json in firsts}
    return [
        replace(
            branch,
            fork_id=forks.get(branch.fork_seq, ""),
            ended_at=ends.get(branch.leaf_seq),
            words=words.get(branch.first_seq, ""),
        )
        for branch in branches
    ]


@lru_cache(maxsize=KEPT)
def _find_cached(db, session_id, _cache_key):
    return tuple(forest(Session.objects.using(db).only("id").get(id=session_id)).branches())


def _read_ids(session, seqs):
    return session.events.filter(seq__in=seqs).values_list("seq", "event_id")


def _find_first_words(event_json):
    record_facts = read_facts(decode(event_json))
    text = record_facts.text or next((f"{call.name} …" for call in record_facts.calls), "")
    return " ".join(text[: WORDS * 4].split())[:WORDS]
