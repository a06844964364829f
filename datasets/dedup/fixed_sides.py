"""Sides of sessions that a split plan has to keep.

Those of earlier releases, or by a day.
"""

from collections.abc import Collection, Set
from typing import Protocol

NO_SIDE = -1


class FixedSides(Protocol):
    """Knows the sides that are set, and the samples that an earlier release has."""

    def find_side(self, agent_id: str, session_id: str) -> int:
        """The number of a session's side, or NO_SIDE."""

    def find_members(self, sample_ids: Collection[str]) -> Set[str]:
        """Those of these samples that the earlier release has."""
