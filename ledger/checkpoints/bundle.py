"""The text of a pack for a prompt: within a budget, the same for the same pack, honest about what it lacks."""

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
BORDER = re.compile(r"<(?=/?\s*injected-context)", re.IGNORECASE)  # what was said must not end the block
SUMMARY_TITLE, SUMMARY_SHARE = "## Summary", 0.35


@dataclass(slots=True)
class Section:
    """Lines under a title. `share` of the budget is theirs before what is left goes to whoever comes first."""

    name: str
    title: str
    lines: list[str]
    share: float
    taken: int = 0

    def cost(self) -> int:
        """The characters of the next line, with the title when it is the first."""
        return len(self.lines[self.taken]) + 1 + (0 if self.taken else len(self.title) + 1)

    def shown(self) -> list[str]:
        """What was taken; the latest things were taken first and are shown last."""
        return [self.title, *reversed(self.lines[: self.taken])] if self.taken else []


@dataclass(slots=True)
class Filling:
    """How many characters are left."""

    room: int
    sections: list[Section] = field(default_factory=list)

    def take(self, section: Section, most: int) -> None:
        """Take whole lines while they fit into `most` characters and into what is left."""
        while section.taken < len(section.lines) and (cost := section.cost()) <= min(most, self.room):
            section.taken += 1
            most -= cost
            self.room -= cost


def compose_bundle(pack: dict[str, Any], budget: int) -> dict[str, Any]:
    """The `bundle` of a pack: `text` of at most `budget` characters, and how much of what was left out.

    `budget` is LEAST_CHARS or more: that much is needed to say what it is about.
    """
    head, sections, whole = _head(pack), _sections(pack), _summary_text(pack)
    beyond = pack["summary"]["length"] - len(pack["summary"]["text"])
    everything = {section.name: len(section.lines) + pack[section.name]["more"] for section in sections}
    longest_foot = _foot(pack, {"summary": beyond + len(whole), **everything})
    filling = Filling(budget - len("\n".join([BEGIN, *head, longest_foot, END])))
    kept = _kept(whole, min(int(budget * SUMMARY_SHARE), filling.room))
    filling.room -= _cost(kept)
    for section in sections:
        filling.take(section, int(budget * section.share))
    for section in sections:
        filling.take(section, filling.room)
    kept = _kept(whole, filling.room + _cost(kept))
    left_out = {"summary": beyond + len(whole) - len(kept)}
    left_out |= {section.name: everything[section.name] - section.taken for section in sections}
    left_out = {name: count for name, count in left_out.items() if count}
    body = [SUMMARY_TITLE, kept + ("" if kept == whole else f"\n{texts.CUT}")] if kept else []
    body += [line for section in sections for line in section.shown()]
    inner = BORDER.sub("‹", "\n".join([*head, *body, _foot(pack, left_out)]))
    text = f"{BEGIN}\n{inner}\n{END}"
    return {"budget_chars": budget, "text": text, "left_out": left_out}


def _head(pack):
    compaction, part = pack["compaction"], pack["part"]
    before, after = compaction["context_before"], compaction["context_after"]
    # Not “tokens”: that word alone would flag every pack as one that may hold a secret.
    sizes = f", context {before:,} before" if before is not None else ""
    sizes += f", {after:,} after" if after is not None else ""
    lines = [
        f"Checkpoint of session {texts.clip_line(pack['session']['id'], 80)} (agent {texts.clip_line(pack['agent'], 60)}).",
        f"Compaction {texts.clip_line(compaction['record_id'], 80)}, {_time(compaction['at'])}{sizes}.",
        f"It took {part['record_count']:,} records of {part['turn_count']:,} turns out of sight.",
    ]
    if part["withheld_count"]:
        lines.append(f"{part['withheld_count']:,} of them are withheld: their sender opted out.")
    return lines


def _foot(pack, left_out):
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


def _sections(pack):
    shapes: list[tuple[str, str, Callable[[dict[str, Any]], str], float]] = [
        ("open_calls", "## Calls without a result", _call, 0.08),
        ("open_errors", "## Errors that were not put right", _error, 0.1),
        ("decisions", "## Decisions", _decision, 0.1),
        ("files_modified", "## Files modified", _file, 0.06),
        ("artifacts", "## Outputs to look into", _output, 0.12),
        ("files_read", "## Files read", _file, 0.03),
        ("turns", "## Turns", _turn, 0.1),
    ]
    return [
        Section(name, title, [shape(item) for item in reversed(pack[name]["items"])], share)
        for name, title, shape, share in shapes
    ]


def _summary_text(pack):
    if pack["summary"]["is_withheld"]:
        return "It is withheld: it would tell of people who opted out."
    return "\n".join(texts.split_lines(pack["summary"]["text"])).strip("\n")


def _kept(text, room):
    """The beginning of the summary that fits into so many characters with its title, cut at a line if possible."""
    if _cost(text) <= room:
        return text
    end = texts.find_cut(text, max(0, room - _cost(" ") + 1))
    line = text.rfind("\n", end * 3 // 4, end)
    return text[: line if line > 0 else end].rstrip()


def _cost(kept):
    """The characters of a summary with its title, and with the mark of a cut."""
    return len(SUMMARY_TITLE) + len(kept) + 4 if kept else 0


def _call(item):
    answered = f" (answered by {texts.clip_line(item['answered_by'], 60)})" if item["answered_by"] else ""
    return f"- {item['tool']} {item['argument']}{_where(item)}{answered}"


def _error(item):
    code = f" exit {item['exit_code']}" if item["exit_code"] else ""
    times = f" ({item['count']:,} times)" if item["count"] > 1 else ""
    right = f" (put right by {texts.clip_line(item['put_right_by'], 60)})" if item["put_right_by"] else ""
    what = " ".join(part for part in (item["tool"] or "model", item["argument"]) if part)
    return f"- {what}{code}{times}: {item['text']}{_where(item)}{right}"


def _decision(item):
    return f"- {item['text']} [{item['source']}{_where(item, ', ')}]"


def _file(item):
    return f"- {texts.clip_line(item['path'], 300)}"


def _output(item):
    about = " ".join(part for part in (item["tool"], item["summary"] or "not known here") if part)
    return f"- {about}{_where(item)}: {item['fetch']}"


def _turn(item):
    words = item["words"] or ("(goes on)" if item["is_continued"] else "(no words)")
    reply = f" → {item['reply']}" if item["reply"] else ""
    return f"- {item['number']}: {words}{reply}"


def _where(item, before=" (", after=")"):
    after = after if before == " (" else ""
    return f"{before}turn {item['turn']}{after}" if item["turn"] is not None else ""


def _time(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
