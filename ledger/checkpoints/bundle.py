"""The text of a pack for a prompt, within a budget of characters.

It is the same for the same pack, and says how much it leaves out.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from . import texts

USUAL_CHARS, LEAST_CHARS, MOST_CHARS = 4_000, 1_200, 20_000
# As `artifacts.contents.adoption` knows context that was put into a prompt: it is never stashed again.
BEGIN, END = '<injected-context kind="checkpoint">', "</injected-context>"
BORDER = re.compile(r"<(?=/?\s*injected-context)", re.IGNORECASE)  # texts of a record must not end the block
SUMMARY_TITLE, SUMMARY_SHARE = "## Summary", 0.35


@dataclass(slots=True)
class Section:
    """Lines under a title, of which as many are taken as fit.

    `share` of the budget is reserved for this section; what remains of the budget is given to sections in their order.
    """

    name: str
    title: str
    lines: list[str]
    share: float
    taken: int = 0

    def cost(self) -> int:
        """The characters of the next line, and of the title before the first line."""
        return len(self.lines[self.taken]) + 1 + (0 if self.taken else len(self.title) + 1)

    def taken_lines(self) -> list[str]:
        """The title and the taken lines in order; the latest lines were taken first."""
        return [self.title, *reversed(self.lines[: self.taken])] if self.taken else []


@dataclass(slots=True)
class Filling:
    """The characters that are left of a budget."""

    room: int
    sections: list[Section] = field(default_factory=list)

    def take(self, section: Section, most: int) -> None:
        """Take whole lines while they fit into `most` characters and into the budget."""
        while section.taken < len(section.lines) and (cost := section.cost()) <= min(most, self.room):
            section.taken += 1
            most -= cost
            self.room -= cost


def compose_bundle(pack: dict[str, Any], budget: int) -> dict[str, Any]:
    """The `bundle` of a pack: its `text`, and how much of each section is left out.

    `budget` is the longest text in characters, LEAST_CHARS or more: the head and the foot need that many.
    """
    compaction, part = pack["compaction"], pack["part"]
    before, after = compaction["context_before"], compaction["context_after"]
    # Not “tokens”: that word alone would flag every pack as one that may hold a secret.
    sizes = f", context {before:,} before" if before is not None else ""
    sizes += f", {after:,} after" if after is not None else ""
    session_id, agent_id = texts.clip_line(pack["session"]["id"], 80), texts.clip_line(pack["agent"], 60)
    at = datetime.fromtimestamp(compaction["at"] / 1000, UTC)
    lines = [
        f"Checkpoint of session {session_id} (agent {agent_id}).",
        f"Compaction {texts.clip_line(compaction['record_id'], 80)}, {at:%Y-%m-%d %H:%M:%S} UTC{sizes}.",
        f"It took {part['record_count']:,} records of {part['turn_count']:,} turns out of sight.",
    ]
    if part["withheld_count"]:
        lines.append(f"{part['withheld_count']:,} of them are withheld: their sender opted out.")
    head, sections, full_summary = lines, _build_sections(pack), _summary_text(pack)
    beyond = pack["summary"]["length"] - len(pack["summary"]["text"])
    everything = {section.name: len(section.lines) + pack[section.name]["more"] for section in sections}
    longest_foot = _build_foot(pack, {"summary": beyond + len(full_summary), **everything})
    filling = Filling(budget - len("\n".join([BEGIN, *head, longest_foot, END])))
    summary = _cut_summary(full_summary, min(int(budget * SUMMARY_SHARE), filling.room))
    filling.room -= _cost(summary)
    for section in sections:
        filling.take(section, int(budget * section.share))
    for section in sections:
        filling.take(section, filling.room)
    summary = _cut_summary(full_summary, filling.room + _cost(summary))
    left_out = {"summary": beyond + len(full_summary) - len(summary)}
    left_out |= {section.name: everything[section.name] - section.taken for section in sections}
    left_out = {name: count for name, count in left_out.items() if count}
    body = [SUMMARY_TITLE, summary + ("" if summary == full_summary else f"\n{texts.CUT}")] if summary else []
    body += [line for section in sections for line in section.taken_lines()]
    inner = BORDER.sub("‹", "\n".join([*head, *body, _build_foot(pack, left_out)]))
    text = f"{BEGIN}\n{inner}\n{END}"
    return {"budget_chars": budget, "text": text, "left_out": left_out}


def _build_foot(pack, left_out):
    words = ["checkpoint", "show", "--session", pack["session"]["id"]]
    show = shlex.join(["openclaw-web", *words, *([] if pack["agent"] == "main" else ["--agent", pack["agent"]])])
    if len(show) > 120 or texts.clip_line(show, 120) != show:
        show = "openclaw-web checkpoint show"
    if not left_out:
        return "Nothing was left out."
    parts = [f"{count:,} {LEFT_OUT[name]}" for name, count in left_out.items()]
    return f"Left out: {', '.join(parts)}. All of it: {show}"


LEFT_OUT = {
    "summary": "characters of the summary",
    "open_calls": "open calls",
    "open_errors": "open errors",
    "decisions": "decisions",
    "files_modified": "modified files",
    "artifacts": "artifacts",
    "files_read": "files read",
    "turns": "turns",
}


def _build_sections(pack):
    shapes: list[tuple[str, str, Callable[[dict[str, Any]], str], float]] = [
        ("open_calls", "## Calls without a result", _format_call, 0.08),
        ("open_errors", "## Errors that were not put right", _format_error, 0.1),
        ("decisions", "## Decisions", _format_decision, 0.1),
        ("files_modified", "## Files modified", _format_file, 0.06),
        ("artifacts", "## Outputs to look into", _format_output, 0.12),
        ("files_read", "## Files read", _format_file, 0.03),
        ("turns", "## Turns", _format_turn, 0.1),
    ]
    return [
        Section(name, title, [shape(item) for item in reversed(pack[name]["items"])], share)
        for name, title, shape, share in shapes
    ]


def _summary_text(pack):
    if pack["summary"]["is_withheld"]:
        return "It is withheld: it would tell of people who opted out."
    return "\n".join(texts.split_lines(pack["summary"]["text"])).strip("\n")


def _cut_summary(text, room):
    """The beginning of the summary that fits into `room` characters with its title.

    It is cut at the end of a line where possible.
    """
    if _cost(text) <= room:
        return text
    end = texts.find_cut(text, max(0, room - _cost(" ") + 1))
    line = text.rfind("\n", end * 3 // 4, end)
    return text[: line if line > 0 else end].rstrip()


def _cost(summary):
    """The characters of a summary with its title, and with the mark of a cut."""
    return len(SUMMARY_TITLE) + len(summary) + 4 if summary else 0


def _format_call(item):
    answered = f" (answered by {texts.clip_line(item['answered_by'], 60)})" if item["answered_by"] else ""
    return f"- {item['tool']} {item['argument']}{_format_turn_number(item)}{answered}"


def _format_error(item):
    code = f" exit {item['exit_code']}" if item["exit_code"] else ""
    times = f" ({item['count']:,} times)" if item["count"] > 1 else ""
    right = f" (put right by {texts.clip_line(item['put_right_by'], 60)})" if item["put_right_by"] else ""
    failed_call = " ".join(part for part in (item["tool"] or "model", item["argument"]) if part)
    return f"- {failed_call}{code}{times}: {item['text']}{_format_turn_number(item)}{right}"


def _format_decision(item):
    return f"- {item['text']} [{item['source']}{_format_turn_number(item, ', ')}]"


def _format_file(item):
    return f"- {texts.clip_line(item['path'], 300)}"


def _format_output(item):
    description = " ".join(part for part in (item["tool"], item["summary"] or "not known here") if part)
    return f"- {description}{_format_turn_number(item)}: {item['fetch']}"


def _format_turn(item):
    words = item["words"] or ("(goes on)" if item["is_continued"] else "(no words)")
    reply = f" → {item['reply']}" if item["reply"] else ""
    return f"- {item['number']}: {words}{reply}"


def _format_turn_number(item, before=" (", after=")"):
    after = after if before == " (" else ""
    return f"{before}turn {item['turn']}{after}" if item["turn"] is not None else ""
