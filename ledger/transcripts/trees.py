"""The tree of a transcript: the active branch, and the turn of each record.

Pure functions over plain nodes, so that an import and an append get the same result.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

LOST_END = -1


@dataclass(slots=True)
class Node:
    """One record's place: `parent_id` is None for a root, `starts_turn` is true for a user message."""

    seq: int
    record_id: str
    parent_id: str | None
    starts_turn: bool


@dataclass(slots=True)
class Turn:
    """One user record and the records that follow it on its branch.

    It ends before the next user record.
    """

    user: Node
    is_active: bool
    nodes: list[Node] = field(default_factory=list)
    hole: int | None = None  # the `seq` before which a record of the turn is lost; LOST_END: what followed it is lost


class Tree:
    """The nodes of one session, ordered by `seq`, with their parents resolved.

    A parent that is not there (its line was damaged) is replaced by the record before, so that one lost line does
    not cut a session in two. Turns say where they have such a hole.
    """

    def __init__(self, nodes: Iterable[Node]):
        self.nodes = sorted(nodes, key=lambda node: node.seq)
        self.by_id = {node.record_id: node for node in self.nodes}
        self.parents: dict[str, Node | None] = {}
        self._depths: dict[str, int] = {}
        self._holes: set[str] = set()  # records whose parent is not there
        before = None
        for node in self.nodes:
            parent = self.by_id.get(node.parent_id) if node.parent_id else None
            if parent is None and node.parent_id:
                self._holes.add(node.record_id)
                parent = before
            self.parents[node.record_id] = parent
            before = node

    def branch(self, leaf_id: str | None) -> list[Node]:
        """The path from the leaf to its root, leaf first.

        Without a usable leaf, the last node is the leaf.
        """
        if not self.nodes:
            return []
        node = self.by_id.get(leaf_id) if leaf_id else None
        node = node or self.nodes[-1]
        path, seen = [], set()
        while node is not None and node.record_id not in seen:  # a damaged file may hold a loop
            seen.add(node.record_id)
            path.append(node)
            node = self.parents[node.record_id]
        return path

    def depth(self, record_id: str) -> int:
        """How many records come before this one on its branch; results are cached."""
        path: list[str] = []
        seen: set[str] = set()
        node: Node | None = self.by_id[record_id]
        while node is not None and node.record_id not in self._depths and node.record_id not in seen:
            seen.add(node.record_id)
            path.append(node.record_id)
            node = self.parents[node.record_id]
        depth = self._depths.get(node.record_id, -1) if node else -1
        for each in reversed(path):
            depth += 1
            self._depths[each] = depth
        return self._depths[record_id]

    def active(self, leaf_id: str | None, others: Iterable[str] = ()) -> set[str]:
        """The ids on the active branch, and on those that end with `others`.

        Loose records without a parent (the header) are on every branch.
        """
        ids = {node.record_id for node in self.branch(leaf_id)}
        for other in others:
            node = self.by_id.get(other)
            while node is not None and node.record_id not in ids:
                ids.add(node.record_id)
                node = self.parents[node.record_id]
        ids.update(node.record_id for node in self.nodes if node.parent_id is None and not node.starts_turn)
        return ids

    def turns(self, active: set[str]) -> list[Turn]:
        """The turns in order of arrival; a record belongs to its nearest user ancestor's turn."""
        turns: list[Turn] = []
        owner: dict[str, Turn | None] = {}
        for node in self.nodes:
            parent = self.parents[node.record_id]
            # A parent that comes later in the file has no turn yet: only a damaged file has one.
            before = owner.get(parent.record_id) if parent else None
            if before is not None and before.hole is None and node.record_id in self._holes:
                before.hole = LOST_END if node.starts_turn else node.seq
            if node.starts_turn:
                turn: Turn | None = Turn(node, node.record_id in active)
                turns.append(turn)  # type: ignore[arg-type]
            else:
                turn = before
            owner[node.record_id] = turn
            if turn is not None:
                turn.nodes.append(node)
        return turns
