"""What became of the memory files while the stories ran: every change, when, by whom, and what the file held."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace

from ..moments import DAY, HOUR
from .workspace import Workspace

NAME = "openclaw-web-demo-memory.json"


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A change of a memory file: `new` in the place of `old`, or with an empty `old` as the last line of a section.

    `by`: "tool" (the agent itself), "plugin", "later" (the plugin has yet to write it), or "hand" and "consolidation",
    which nobody told of and which have neither session nor turn.
    """

    at_ms: int
    by: str
    file: str
    section: str
    old: str
    new: str
    session_key: str = ""
    turn: str = ""

    @property
    def fact(self) -> str:
        """What is remembered, without the mark of a list."""
        return self.new.removeprefix("- ")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change with the whole file on both sides; equal where the file says so already."""

    kept: MemoryChange
    before: str
    after: str


# What changed files besides the stories; moments count back from the end.
UNTOLD = {
    "main": (
        MemoryChange(
            12 * DAY + 5 * HOUR,
            "consolidation",
            "MEMORY.md",
            "",
            "- Orders close at 20:00 for the next morning.",
            "- Orders close at 20:00 for the next morning, on Mondays for Tuesday.",
        ),
        MemoryChange(
            2 * DAY + 13 * HOUR,
            "hand",
            "TOOLS.md",
            "",
            "- The label printer eats every second emoji. Use none.",
            "- The label printer was replaced. Emoji are printed.",
        ),
    )
}


def write_changes(out, workspaces: dict[str, Workspace], until_ms: int) -> None:
    """Bring the memory files to what they held at the end, and write every change of them beside the transcripts."""
    told = {}
    for agent, workspace in workspaces.items():
        untold = [replace(one, at_ms=until_ms - one.at_ms) for one in UNTOLD.get(agent, ())]
        kept = sorted([*workspace.kept, *untold], key=lambda one: one.at_ms)
        for change in replay_changes(agent, kept):
            workspace.files[change.kept.file] = change.after
            if change.after != change.before:
                workspace.changed_ms[change.kept.file] = change.kept.at_ms
        told[agent] = [asdict(one) for one in kept]
    text = json.dumps(told, ensure_ascii=False, indent=1)
    (out / NAME).write_text(text, encoding="utf-8", newline="\n")


def read_changes(out) -> dict[str, list[MemoryChange]]:
    """The changes of each agent's files, in the order of time; none where nothing was written yet."""
    file = out / NAME
    told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {agent: [MemoryChange(**one) for one in some] for agent, some in told.items()}


def replay_changes(agent: str, kept: Iterable[MemoryChange]) -> Iterator[FileChange]:
    """Each change with what the file held before and after: sessions overlap, so it is done in the order of time."""
    workspace = Workspace(agent, "")
    for one in kept:
        if one.by == "later":
            continue
        before = workspace.files[one.file]
        yield FileChange(one, before, apply_change(workspace, one))


def apply_change(workspace: Workspace, one: MemoryChange) -> str:
    """Change a file; what it holds then."""
    if one.old:
        workspace.edit(one.file, one.old, one.new)
    elif not workspace.holds(one.file, one.new):
        workspace.edit(one.file, *workspace.append_to(one.file, one.section, one.new))
    return workspace.files[one.file]
