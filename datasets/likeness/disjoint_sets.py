"""Sets of sessions that have to be on the same side of a split, joined while reasons are found (union-find)."""

from array import array
from collections.abc import Iterable


class SessionSets:
    """Disjoint sets of sessions, by the numbers of the sessions; those with one name are in one set from the start."""

    def __init__(self, names: Iterable[int]):
        firsts: dict[int, int] = {}
        # Of each session one of its set, at last the set's first.
        self.parents = array("q", (firsts.setdefault(name, session) for session, name in enumerate(names)))

    def of(self, session: int) -> int:
        """The set of a session, by the number of its first session."""
        parents, first = self.parents, session
        while parents[first] != first:
            first = parents[first]
        while parents[session] != first:
            parents[session], session = first, parents[session]
        return first

    def join(self, sessions: Iterable[int]) -> None:
        """Make one set of the sets of these sessions."""
        sets = {self.of(session) for session in sessions}
        smallest = min(sets)
        for joined in sets:
            self.parents[joined] = smallest

    def smallest(self, keys: "array[int]") -> "array[int]":
        """For each session the smallest of the keys that its set has; `keys` has one for each session."""
        smallest = array("Q", keys)
        for session, key in enumerate(keys):
            of_set = self.of(session)
            smallest[of_set] = min(smallest[of_set], key)
        return array("Q", (smallest[self.of(session)] for session in range(len(keys))))
