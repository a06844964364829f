"""Caps of an export: at most so many samples of a session, of a tool, and of those that say the same."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from agents import databases

from ..coverage.turn_tools import read_tools
from .split_plan import DUPLICATE, OVER_SESSION, OVER_TOOL, OVER_TWINS


@dataclass(frozen=True, slots=True)
class Caps:
    """The most samples of a session, a tool, and a group of duplicates; None: no limit."""

    session: int | None = None
    tool: int | None = None
    twins: int | None = None


NO_CAPS = Caps()


def read_row_tools(rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    """The tools of samples of one agent, given as rows of features.COLUMNS."""
    places = [(row[0], row[1]) for row in rows]
    tools = read_tools(databases.find_alias(rows[0][3]), places)
    return [tools[place][1] if place in tools else () for place in places]


def apply_caps(caps: Caps, features: Any, groups: Any, is_kept: bytearray) -> bytes:
    """The number that the plan adds to the side of each sample that is left out, 0 for others.

    The better samples of features.rank_places stay, and `is_kept` follows. With a cap on duplicates others
    than the best are kept as well, unless their sessions cannot be on its side.
    """
    roots = groups.teachers()
    sessions, reasons = features.column("session"), bytearray(len(roots))
    tools, tool_sets = features.column("tools"), list(features.tool_sets)
    counts = {OVER_TWINS: Counter[int](), OVER_SESSION: Counter[int](), OVER_TOOL: Counter[str]()}
    for place in range(len(roots)) if caps == NO_CAPS else features.rank_places():
        root = roots[place]
        if not is_kept[place] and not (caps.twins and groups.are_together(place, root)):
            reasons[place] = DUPLICATE
            continue
        keys = {
            OVER_TWINS: (caps.twins, (root,)),
            OVER_SESSION: (caps.session, (sessions[place],)),
            OVER_TOOL: (caps.tool, tool_sets[tools[place]] if caps.tool else ()),
        }
        for name, (most, shared) in keys.items():
            if most and not reasons[place] and any(counts[name][key] >= most for key in shared):
                reasons[place] = name
        is_kept[place] = not reasons[place]
        for name, (most, shared) in keys.items():
            if most and is_kept[place]:
                counts[name].update(shared)
    return bytes(reasons)
