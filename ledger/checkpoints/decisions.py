"""Which records state a decision, by marks that anybody can check: nothing is guessed from what a text means."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .compactions import PartRecord
from .texts import clip_line

DECISIONS, LENGTH = 100, 300
EACH = 5  # of one record
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
    """One decision: `source` says by which rule it was found, `record_id` which record states it."""

    source: str
    text: str
    record_id: str | None
    turn: int | None
    at: int | None

    def as_item(self) -> dict[str, Any]:
        """As a pack holds it."""
        return {**asdict(self), "text": clip_line(self.text, LENGTH)}


# What an app above adds: given database, session and the time until which, the decisions that it knows of.
DecisionSource = Callable[[str, str, int], Iterable[Decision]]


def find_stated_decisions(seen: PartRecord) -> Iterator[Decision]:
    """The decisions that a record states: a label, an event called a decision, or lines of an answer that say so."""
    place = (seen.record_id, seen.row["turn_number"], seen.row["created_at"])
    kind = seen.row["kind"]
    if kind == "label" and seen.said.text.strip():
        yield Decision("label", seen.said.text, *place)
    elif kind in ("custom", "custom_message"):
        name = seen.record.get("customType")
        if isinstance(name, str) and "decision" in name.lower() and (text := _text(seen)):
            yield Decision("event", text, *place)
    elif kind == "assistant" and not seen.row["is_synthetic"]:
        marked = (MARKED.match(line) for line in seen.said.text[:LOOKED_AT].splitlines())
        found = [match[1] for match in marked if match]
        yield from (Decision("answer", text, *place) for text in found[:EACH])


def find_summary_decisions(summary: str, record_id: str, at: int) -> Iterator[Decision]:
    """The points under the headings of a compaction's summary that name decisions, each once."""
    is_about, found = False, {}
    for line in summary[:LOOKED_AT].splitlines():
        if heading := HEADING.match(line):
            is_about = bool(ABOUT_DECISIONS.search(heading[1]))
        elif is_about and (point := BULLET.match(line)) and point[1].strip().strip("()").lower() not in ("", "none"):
            found[point[1]] = None
    yield from (Decision("summary", text, record_id, None, at) for text in found)


def _text(seen):
    texts = (seen.said.details.get(name) for name in ("decision", "summary", "text", "content"))
    return seen.said.text or next((text for text in texts if isinstance(text, str) and text), "")
