"""The index of a compacted part: what was in it, in lists of limited length, from records that pass by once."""

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
    """Collects from records; `listed` is the outcome."""

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

    def note(self, seen: PartRecord) -> None:
        """Look at the next record of the part."""
        self.record_count += 1
        self.first, self.last = self.first or seen, seen
        at = seen.row["created_at"]
        self.started_at = at if self.started_at is None else min(at, self.started_at)
        self.ended_at = at if self.ended_at is None else max(at, self.ended_at)
        if seen.row["kind"] == "withheld":
            self.withheld_count += 1
            return
        self._note_turn(seen)
        self.work.note(seen)
        self.artifacts.note(seen)
        for decision in find_stated_decisions(seen):
            self.decide(decision)

    def decide(self, decision: Decision) -> None:
        """Add a decision; the same words of the same record are one."""
        item = decision.as_item()
        self.decisions.put((item["source"], item["record_id"], item["text"]), item)

    def _note_turn(self, seen):
        number = seen.row["turn_number"]
        if number is None:
            return
        if seen.row["kind"] == "user":
            self.turn_ids.add(seen.record_id)
        turn = self.turns.get(number) or _begun(number, seen)
        turn["last_record_id"], turn["ended_at"] = seen.record_id, seen.row["created_at"]
        turn["record_count"] += 1
        turn["calls"] += len(seen.said.calls)
        turn["failures"] += bool(seen.row["is_failed"])
        if seen.row["kind"] == "assistant" and not seen.row["is_synthetic"]:
            _answered(turn, seen)
        self.turns.put(number, turn)


def build_index(compaction: Compaction, part: Part) -> PartIndex:
    """The index of a part; what was kept is looked at only for how open things ended."""
    index = PartIndex()
    for seen in read_records(compaction, part.first_seq, part.end_seq):
        index.note(seen)
    index.work.end_part()
    if index.work.has_open:
        for seen in read_records(compaction, part.end_seq, compaction.seq):
            index.work.note(seen)
    return index


def to_pack_list(found: RecentItems, items: Iterable[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A list of a pack, with how many more there were."""
    return {"items": found.items if items is None else list(items), "more": found.more}


def _begun(number, seen):
    is_user = seen.row["kind"] == "user"
    return {
        "number": number,
        "user_record_id": seen.record_id if is_user else None,
        "is_continued": not is_user,  # its question is in the part before
        "first_record_id": seen.record_id,
        "last_record_id": seen.record_id,
        "record_count": 0,
        "started_at": seen.row["created_at"],
        "ended_at": seen.row["created_at"],
        "words": clip_line(seen.said.text, WORDS) if is_user else "",
        "injected": clip_line(str(seen.said.sender.get("injected", "")), 40) if is_user else "",
        "reply": "",
        "models": [],
        "calls": 0,
        "failures": 0,
    }


def _answered(turn, seen):
    model = clip_line(seen.said.model or "", 100)
    if model and model not in turn["models"] and len(turn["models"]) < MODELS:
        turn["models"].append(model)
    if seen.said.text.strip() and seen.said.stop_reason not in STOP_WORDS:
        turn["reply"] = clip_line(seen.said.text, REPLY)
