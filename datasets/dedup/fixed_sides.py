"""Sides of sessions that a split plan has to keep.

Those of earlier releases, or by a day.
"""

from collections.abc import Collection, Iterable, Set
from typing import Protocol

NO_SIDE = -1


class FixedSides(Protocol):
    """Knows the sides that are set, and the samples that an earlier release has."""

    def find_side(self, agent_id: str, session_id: str) -> int:
        """The number of a session's side, or NO_SIDE."""

    def find_members(self, sample_ids: Collection[str]) -> Set[str]:
        """Those of these samples that the earlier release has."""


class SetSides:
    """The side of each set of sessions, as far as a session in it has one.

    A set has one side: sets with different sides are not joined.
    """

    def __init__(self, sides: Iterable[int], find_set):
        self.sides = bytearray(side + 1 for side in sides)  # 0: none
        self.find_set = find_set
        for session, side in enumerate(self.sides):
            if side:
                self.sides[find_set(session)] = side

    def find_side(self, session: int) -> int:
        """The number of the side of a session's set, or NO_SIDE."""
        return self.sides[self.find_set(session)] - 1 if self.sides else NO_SIDE

    def may_join(self, session: int, other: int) -> bool:
        """Whether the sets of two sessions can be on one side."""
        return NO_SIDE in (first := self.find_side(session), second := self.find_side(other)) or first == second

    def set_side(self, session: int, side: int) -> None:
        """Give a side to the set of a session, unless `side` is NO_SIDE."""
        if side != NO_SIDE:
            self.sides[self.find_set(session)] = side + 1
