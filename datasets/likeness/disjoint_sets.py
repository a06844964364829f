"""Sets of sessions that have to be on the same side of a split, joined while reasons are found (union-find)."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class SessionSets:
    """Disjoint sets of sessions, by the numbers of the sessions; those with one name are in one set from the start."""

    def __init__(self, names: Array):
        _unique, firsts, which = np.unique(names, return_index=True, return_inverse=True)
        self.parents = firsts[which].astype(np.int64)  # of each session one of its set, at last the set's first

    def of(self, sessions: Array) -> Array:
        """The sets of these sessions, each by the number of its first session."""
        sets = self.parents[sessions]
        while ((further := self.parents[sets]) != sets).any():
            sets = further
        self.parents[sessions] = sets
        return sets

    def join(self, sessions: Array) -> None:
        """Make one set of the sets of these sessions."""
        sets = self.of(sessions)
        self.parents[sets] = sets.min()

    def smallest(self, keys: Array) -> Array:
        """For each session the smallest of the keys that its set has; `keys` has one for each session."""
        sets = self.of(np.arange(len(keys)))
        smallest = keys.copy()
        np.minimum.at(smallest, sets, keys)
        return smallest[sets]
