"""The branches of a session that were left: where each forks off, where it ends, how long it is.

Records on the active branch are flagged, so only the others are looked at: few, in almost every session.
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
    """One branch that was left; `first_seq` is its first record of its own, `fork_seq` the one it forks off after."""

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
    """The records of one branch: those of the active branch up to `fork_seq`, then its `own` in order."""

    fork_seq: int
    own: list[int]


@dataclass(slots=True)
class Forest:
    """The records off the active branch with their parents. A loop in a damaged file ends where it began."""

    nodes: dict[str, Node]
    outside: dict[str, int] = field(default_factory=dict)  # parents on the active branch: id -> seq
    places: dict[int, Node] = field(default_factory=dict)

    def __post_init__(self):
        self.places = {node.seq: node for node in self.nodes.values()}

    def parent(self, node: Node) -> Node | int:
        """The record before it: a node, or the seq of one on the active branch (ROOT: there is none).

        As in `trees`, a parent that is not there is replaced by the record that came before.
        """
        if node.parent_id is None:
            return ROOT
        if found := self.nodes.get(node.parent_id):
            return found
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
        """Every branch, the latest leaf first. Each record is looked at once, however many branches share it."""
        parents = {node.seq: self.parent(node) for node in self.nodes.values()}
        inner = {parent.seq for parent in parents.values() if isinstance(parent, Node)}
        leaves = [node for node in self.nodes.values() if node.seq not in inner]
        known: dict[int, tuple[int, int, int]] = {}
        found = []
        for leaf in sorted(leaves, key=lambda node: -node.seq):
            first, fork, count = _depth(leaf, parents, known)
            found.append(Branch(leaf.record_id, leaf.seq, first, fork, "", count))
        return found


def forest(session: Session) -> Forest:
    """The records off the active branch."""
    rows = session.identities.filter(seq__in=session.events.filter(is_active=False).values("seq"))
    columns = rows.values_list("event_id", "parent_id", "seq")
    found = Forest({event_id: Node(seq, event_id, parent_id, False) for event_id, parent_id, seq in columns})
    asked = sorted({node.parent_id for node in found.nodes.values() if node.parent_id not in found.nodes} - {None})
    for start in range(0, len(asked), BATCH):
        known = session.identities.filter(event_id__in=asked[start : start + BATCH])
        found.outside.update(known.values_list("event_id", "seq"))
    return found


def find_branches(session: Session) -> tuple[Branch, ...]:
    """Every branch that was left, the latest leaf first; looked for again only when the session has changed."""
    return _branches(session._state.db, session.id, session.mark())


def find_branch_path(session: Session, leaf_id: str) -> BranchPath | None:
    """The records of the branch that ends with a record; None when that is on no branch that was left."""
    found = forest(session)
    leaf = found.nodes.get(leaf_id)
    return found.way(leaf) if leaf else None


def describe_branches(session: Session, branches: Sequence[Branch]) -> list[Branch]:
    """The same branches with the id of their fork, the time of their end and their first words."""
    forks = dict(_ids(session, {branch.fork_seq for branch in branches} - {ROOT}))
    ends = dict(
        session.events.filter(seq__in=[branch.leaf_seq for branch in branches]).values_list("seq", "created_at")
    )
    firsts = session.events.filter(seq__in=[branch.first_seq for branch in branches]).values_list("seq", "event_json")
    words = {seq: _words(event_json) for seq, event_json in firsts}
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
def _branches(db, session_id, _mark):
    return tuple(forest(Session.objects.using(db).only("id").get(id=session_id)).branches())


def _depth(leaf, parents, known):
    """`(first own record, fork, length)` of the branch that ends with a node."""
    way, seen = [], set()
    place = leaf
    while not isinstance(place, int) and place.seq not in known and place.seq not in seen:
        seen.add(place.seq)
        way.append(place.seq)
        place = parents[place.seq]
    if isinstance(place, int):
        first, fork, count = way[-1], place, 0
    else:  # a stretch that another branch shares, or a loop
        first, fork, count = known.get(place.seq, (way[-1], ROOT, 0))
    for seq in reversed(way):
        count += 1
        known[seq] = (first, fork, count)
    return known[leaf.seq]


def _ids(session, seqs):
    return session.identities.filter(seq__in=seqs).values_list("seq", "event_id")


def _words(event_json):
    said = read_facts(decode(event_json))
    text = said.text or next((f"{call.name} …" for call in said.calls), "")
    return " ".join(text[: WORDS * 4].split())[:WORDS]
