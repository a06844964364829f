"""Reads stories of stories/*.txt, and parses each into a list of beats.

== name | agent=main on=telegram,webchat by=mei
    user: What a person says. Further lines are indented by two spaces.
    think: What the agent thinks, then calls, next to each other when they run in parallel.
    call exec: shop orders show 4182
    result exit 2: What the tool answers; left out, the stage makes it up for tools that change files.
    agent: What the agent says.

The other kinds of beats are the keys of BEATS, with what they do.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "stories"
BEATS = {
    "user": "a person's message; `user mei:` says whose in a group",
    "photo": "the same, with a picture",
    "assistant": "thinking, text and calls of one answer of the model",
    "error": "a call to the model that failed",
    "aborted": "an answer somebody stopped",
    "cut": "an answer that reached its length",
    "command": "the gateway's answer to a slash command",
    "mirror": "a copy of what was delivered to the channel",
    "model": "another model from here on",
    "thinking": "another thinking level from here on",
    "set": "names for what [[...]] puts into the texts from here on",
    "wait": "time passes: 40m, 6h",
    "rewind": "back to before the last user message, or the n-th last",
    "compact": "the conversation so far becomes a summary",
    "label": "a bookmark on the last record",
    "title": "a name for the session",
    "notice": "a message of the program's own",
    "spawned": "a sub-agent reports its result",
    "remember": "the plugin writes a fact: `remember MEMORY.md Shop:`; with `later` before the file, on another day",
}
HEADS = (*(kind for kind in BEATS if kind != "assistant"), "think", "agent", "call", "result")
LINE = re.compile(rf"({'|'.join(HEADS)})(?: ([^:]*))?:(?: (.*))?$")
ANSWERS_ITSELF = frozenset({"read", "write", "edit", "append", "note", "message", "memory_get"})
TURNS = frozenset({"user", "photo", "spawned"})


@dataclass(slots=True)
class Result:
    """A tool's answer: `how` is empty, `exit N`, `failed`, `thrown` or `running`."""

    how: str
    text: str


@dataclass(slots=True)
class Call:
    """A tool call: its main argument, and for some tools a text."""

    tool: str
    target: str
    text: str
    result: Result | None = None


@dataclass(slots=True)
class Beat:
    """One event of a story; `kind` is one of BEATS."""

    kind: str
    head: str = ""
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """A piece of conversation that can be performed with other names and numbers."""

    name: str
    tags: dict[str, frozenset[str]]
    beats: tuple[Beat, ...]
    turns: int
    waits_ms: int

    @property
    def limit(self):
        """How often the story may be played in one home."""
        return int(next(iter(self.tags.get("limit", ("1000000",)))))

    def fits(self, **conditions):
        """Whether each tag of the story allows the given value; missing tags allow all."""
        return all(value in self.tags[tag] for tag, value in conditions.items() if tag in self.tags)


@cache
def read_stories():
    """Every story, by name."""
    by_name = {}
    for file in sorted(FOLDER.glob("*.txt")):
        for story in parse_stories(file.read_text(encoding="utf-8")):
            if story.name in by_name:
                raise ValueError(f"two stories are called {story.name}")
            by_name[story.name] = story
    return by_name


def parse_stories(text):
    """Yield the stories of one file, in order."""
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        name, _, tags = title.partition("|")
        beats = tuple(_build_beats(_read_entries(body)))
        waits = sum(parse_duration(beat.text) for beat in beats if beat.kind == "wait")
        turns = sum(beat.kind in TURNS for beat in beats)
        for call in (call for beat in beats for call in beat.calls):
            if call.result is None and call.tool not in ANSWERS_ITSELF:
                raise ValueError(f"{name.strip()}: nothing answers {call.tool} {call.text}")
        yield Story(name.strip(), _parse_tags(tags), beats, turns, waits)


def parse_duration(text):
    """The milliseconds of `40m`, `6h` or `2d`."""
    return int(text[:-1]) * {"m": 60_000, "h": 3_600_000, "d": 86_400_000}[text[-1]]


def _parse_tags(text):
    pairs = (item.partition("=") for item in text.split())
    return {name: frozenset(values.split(",")) for name, _, values in pairs}


def _read_entries(body):
    """Yield (kind, head, text) of each entry, its indented lines joined."""
    entry = None
    for line in body.splitlines():
        if line.startswith("  ") or not line:
            if entry:
                entry[2].append(line[2:])
            continue
        if line.startswith("#"):
            continue
        if not (match := LINE.match(line)):
            raise ValueError(f"not a line of a story: {line}")
        if entry:
            yield entry[0], entry[1], "\n".join(entry[2]).strip("\n")
        entry = (match[1], match[2] or "", [match[3]] if match[3] else [])
    if entry:
        yield entry[0], entry[1], "\n".join(entry[2]).strip("\n")


def _build_beats(entries):
    """Yield beats; thinking, text, calls and results in a row are one answer."""
    draft, has_results = None, False
    for kind, head, text in entries:
        if kind == "result":
            next(call for call in draft.calls if call.result is None).result = Result(head, text)
            has_results = True
            continue
        if kind not in ("think", "agent", "call"):
            if draft:
                yield draft
            draft, has_results = None, False
            yield Beat(kind, head, text)
            continue
        if draft and (has_results or (draft.calls and kind != "call") or (draft.text and kind != "call")):
            yield draft
            draft, has_results = None, False
        draft = draft or Beat("assistant")
        if kind == "call":
            tool, _, target = head.partition(" ")
            draft.calls += (Call(tool, target, text),)
        else:
            setattr(draft, "thinking" if kind == "think" else "text", text)
    if draft:
        yield draft
