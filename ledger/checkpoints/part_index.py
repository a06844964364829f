"""The index of a compacted part: its turns, files, calls, errors, decisions and artifacts.

Its lists have a limited length. It is built from records that are read once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..words import STOP_WORDS
from .artifacts import PartArtifacts
from .compactions import Compaction, Part, PartRecord, read_records
from .decisions import DECISIONS, Decision, find_stated_decisions
from .recent_items import RecentItems
from .texts import clip_line
from .work import Work

TURNS, WORDS, REPLY, MODELS = 300, 160, 200, 5


@dataclass(slots=True)
class PartIndex:
    """Collects the contents of a part from its records."""

    turns: RecentItems = field(default_factory=lambda: RecentItems(TURNS))
    decisions: RecentItems = field(default_factory=lambda: RecentItems(DECISIONS))
    artifacts: PartArtifacts = field(default_factory=PartArtifacts)
    work: Work = field(default_factory=Work)
    turn_ids: set[str] = field(default_factory=set)
    record_count: int = 0
    withheld_count: int = 0
    first: PartRecord | None = None
    last: PartRecord | None = None
    started_at: int | None = None
    ended_at: int | None = None

    def note(self, part_record: PartRecord) -> None:
        """Add the next record of the part."""
        self.record_count += 1
        self.first, self.last = self.first or part_record, part_record
        at = part_record.row["created_at"]
        self.started_at = at if self.started_at is None else min(at, self.started_at)
        self.ended_at = at if self.ended_at is None else max(at, self.ended_at)
        if part_record.row["kind"] == "withheld":
            self.withheld_count += 1
            return
        self._note_turn(part_record)
        self.work.note(part_record)
        self.artifacts.note(part_record)
        for decision in find_stated_decisions(part_record):
            self.decide(decision)

    def decide(self, decision: Decision) -> None:
        """Add a decision; the same words of the same record are one."""
        item = decision.as_item()
        self.decisions.put((item["source"], item["record_id"], item["text"]), item)

    def _note_turn(self, part_record):
        number = part_record.row["turn_number"]
        if number is None:
            return
        if part_record.row["kind"] == "user":
            self.turn_ids.add(part_record.record_id)
        turn = self.turns.get(number) or _begin_turn(number, part_record)
        turn["last_record_id"], turn["ended_at"] = part_record.record_id, part_record.row["created_at"]
        turn["record_count"] += 1
        turn["calls"] += len(part_record.facts.calls)
        turn["failures"] += bool(part_record.row["is_failed"])
        if part_record.row["kind"] == "assistant" and not part_record.row["is_synthetic"]:
            model = clip_line(part_record.facts.model or "", 100)
            if model and model not in turn["models"] and len(turn["models"]) < MODELS:
                turn["models"].append(model)
            # The agent's last words of the part, which were in the context; the answer of the turn may be after it.
            if part_record.facts.text.strip() and part_record.facts.stop_reason not in STOP_WORDS:
                turn["reply"] = clip_line(part_record.facts.text, REPLY)
        self.turns.put(number, turn)


def build_index(compaction: Compaction, part: Part) -> PartIndex:
    """The index of a part.

    The records after it, up to the compaction, tell only how open calls and errors ended.
    """
    index = PartIndex()
    for part_record in read_records(compaction, part.first_seq, part.end_seq):
        index.note(part_record)
    index.work.end_part()
    if index.work.has_open:
        for part_record in read_records(compaction, part.end_seq, compaction.seq):
            index.work.note(part_record)
    return index


def to_pack_list(recent: RecentItems, items: Iterable[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A list of a pack: its items, and how many more there were."""
    return {"items": recent.items if items is None else list(items), "more": recent.more}


def _begin_turn(number, part_record):
    is_user = part_record.row["kind"] == "user"
    return {
        "number": number,
        "user_record_id": part_record.record_id if is_user else None,
        "is_continued": not is_user,  # its question is in the part before
        "first_record_id": part_record.record_id,
        "last_record_id": part_record.record_id,
        "record_count": 0,
        "started_at": part_record.row["created_at"],
        "ended_at": part_record.row["created_at"],
        "words": clip_line(part_record.facts.text, WORDS) if is_user else "",
        "injected": clip_line(str(part_record.facts.sender.get("injected", "")), 40) if is_user else "",
        "reply": "",
        "models": [],
        "calls": 0,
        "failures": 0,
    }
