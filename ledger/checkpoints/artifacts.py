"""Artifacts of a compacted part: stashed outputs, mentioned handles, and the command that reads each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from artifacts import handles
from artifacts.contents import content_types
from artifacts.excerpts.selectors import Selector
from artifacts.models import Artifact

from ..transcripts.trimming import parse_stashed
from .compactions import PartRecord
from .recent_items import RecentItems
from .texts import clip_line

ARTIFACTS, SUMMARY = 100, 240
CHARS = 2_000  # that the command of an artifact reads
JSON_BYTES = 16 * 1024 * 1024  # beyond it a path is refused
# First words of the summaries that `artifacts.contents.summaries` writes.
TYPES = {
    "JSON": content_types.JSON,
    "JSON lines": content_types.JSON_LINES,
    "HTML": content_types.HTML,
    "text": content_types.TEXT,
}
LIST = re.compile(r"\bkeys: (?:[^()]*, )?([A-Za-z_][A-Za-z0-9_]{0,60}) \([0-9,]+\)")
ITEMS = re.compile(r" · [0-9,]+ items$")
FAILED = re.compile(r" · (?:exit code -?[1-9]|first error: )")
ERRORS = "error|exception|traceback|fatal|fail"


@dataclass(slots=True)
class PartArtifacts:
    """Collects handles from records."""

    entries: RecentItems = field(default_factory=lambda: RecentItems(ARTIFACTS))

    def note(self, part_record: PartRecord) -> None:
        """Add the handles of the next record."""
        outputs = {output.handle: output for output in parse_stashed(part_record.row["trim_json"])}
        for handle, output in outputs.items():
            values = {"chars": output.chars, "bytes": output.bytes, "lines": output.lines}
            values |= {"summary": clip_line(output.summary, SUMMARY), "content_type": _parse_type(output.summary)}
            self._put(handle, part_record, "output", values)
        for handle in _find_handles(part_record.record):
            if handle not in outputs:
                self._put(handle, part_record, "mentioned", {})

    def items(self, db: str, agent_id: str) -> list[dict[str, Any]]:
        """The artifacts, the latest last, each with the command that reads it."""
        items = self.entries.items
        unknown = [item["handle"] for item in items if item["bytes"] is None]
        rows = Artifact.objects.using(db).filter(handle__in=unknown).order_by("-created_at", "-id")
        known = {row.handle: row for row in rows}  # of several uses the first one stays
        for item in items:
            if row := known.get(item["handle"]):
                item |= {name: getattr(row, name) for name in ("chars", "bytes", "lines", "content_type")}
                item["summary"] = clip_line(row.summary, SUMMARY)
            item["fetch"] = command(item, agent_id)
        return items

    def _put(self, handle, part_record, relation, values):
        empty = dict.fromkeys(("chars", "bytes", "lines", "content_type"))
        before = self.entries.get(handle) or {"handle": handle, "relation": relation, "uses": 0, "summary": "", **empty}
        place = {
            "record_id": part_record.record_id,
            "turn": part_record.row["turn_number"],
            "tool": clip_line(part_record.facts.tool_name or "", 100),
        }
        if relation == "mentioned" and before["relation"] == "output":
            place = {}  # where it came from says more than where it was named again
        relation = "output" if "output" in (relation, before["relation"]) else relation
        self.entries.put(handle, {**before, **place, **values, "relation": relation, "uses": before["uses"] + 1})


def command(item: dict[str, Any], agent_id: str) -> str:
    """The command that reads an artifact, with a selector that suits its content type."""
    return handles.build_fetch_command(item["handle"], agent_id, _choose_selector(item).as_options())


def _choose_selector(item):
    kind, summary = item["content_type"], item["summary"]
    if kind == content_types.JSON and (item["bytes"] or 0) <= JSON_BYTES:
        path = "$[:3]" if ITEMS.search(summary) else "$.*"
        if match := LIST.search(summary):
            path = f"$.{match[1]}[:3]"
        return Selector("jsonpath", CHARS, path=path)
    if kind == content_types.JSON_LINES:
        return Selector("head", CHARS)
    if kind == content_types.TEXT:
        if FAILED.search(summary):
            return Selector("grep", CHARS, pattern=ERRORS, ignore_case=True, context=2)
        return Selector("tail", CHARS)
    return Selector("headtail", CHARS)


def _parse_type(summary):
    begin = summary.partition(" · ")[0]
    return TYPES.get(begin, begin if "/" in begin else None)


def _find_handles(value: Any) -> Iterator[str]:
    """Every handle in the texts of a record, each as often as it occurs.

    Records may be nested too deeply for recursion.
    """
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if handles.PREFIX in value:
                yield from handles.find_handles(value)
        elif isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
