"""Finds the records that state a decision, by marks in their text or type.

The marks can be checked by anybody: no decision is guessed from the meaning of a text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .compactions import PartRecord
from .texts import clip_line

DECISIONS, LENGTH = 100, 300
EACH = 5  # decisions of one record
LOOKED_AT = 40_000  # characters of one text
# Line by line: "Decision: ...", "**Decided:** ...", "- 决定：...".
MARKED = re.compile(
    r"^[ \t>*_#-]{0,8}(?:decisions?|decided|conclusion|决定|结论)[*_]{0,2}\s?[:：][*_]{0,2}\s*(\S.*)$", re.I
)
HEADING = re.compile(r"^#{1,6} (.*)$")
ABOUT_DECISIONS = re.compile(r"decision|决定|决策", re.I)
BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)]) +(.*)$")


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: `source` names the rule that found it, `record_id` the record that states it."""

    source: str
    text: str
    record_id: str | None
    turn: int | None
    at: int | None

    def as_item(self) -> dict[str, Any]:
        """The decision as an item of a pack."""
        return {**asdict(self), "text": clip_line(self.text, LENGTH)}


# A function of another app: given database, session id and latest time (ms), it returns more decisions.
DecisionSource = Callable[[str, str, int], Iterable[Decision]]


def find_stated_decisions(part_record: PartRecord) -> Iterator[Decision]:
    """The decisions that a record states.

    It is a label, an event whose type names a decision, or an answer with lines marked as decisions.
    """
    place = (part_record.record_id, part_record.row["turn_number"], part_record.row["created_at"])
    kind = part_record.row["kind"]
    if kind == "label" and part_record.facts.text.strip():
        yield Decision("label", part_record.facts.text, *place)
    elif kind in ("custom", "custom_message"):
        name = part_record.record.get("customType")
        if isinstance(name, str) and "decision" in name.lower() and (text := _find_event_text(part_record)):
            yield Decision("event", text, *place)
    elif kind == "assistant" and not part_record.row["is_synthetic"]:
        marked = (MARKED.match(line) for line in part_record.facts.text[:LOOKED_AT].splitlines())
        texts = [match[1] for match in marked if match]
        yield from (Decision("answer", text, *place) for text in texts[:EACH])


def find_summary_decisions(summary: str, record_id: str, at: int) -> Iterator[Decision]:
    """The points under headings of a compaction's summary that name decisions, each once."""
    is_decision_heading, points = False, {}
    for line in summary[:LOOKED_AT].splitlines():
        if heading := HEADING.match(line):
            is_decision_heading = bool(ABOUT_DECISIONS.search(heading[1]))
        elif (
            is_decision_heading
            and (point := BULLET.match(line))
            and point[1].strip().strip("()").lower() not in ("", "none")
        ):
            points[point[1]] = None
    yield from (Decision("summary", text, record_id, None, at) for text in points)


def _find_event_text(part_record):
    texts = (part_record.facts.details.get(name) for name in ("decision", "summary", "text", "content"))
    return part_record.facts.text or next((text for text in texts if isinstance(text, str) and text), "")
