"""The changes of the memory files while the stories ran.

Each has its time, its author and the contents of the file.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace

from ..moments import DAY, HOUR
from .workspace import Workspace

NAME = "openclaw-web-demo-memory.json"


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A change of a memory file: `new` in the place of `old`.

    An empty `old` adds `new` as the last line of a section.

    `by`: "tool" (the agent itself), "plugin", "later" (the plugin has not written it yet), or "hand" and
    "consolidation", which nobody reported and which have neither session nor turn.
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
        """The fact, without the mark of a list."""
        return self.new.removeprefix("- ")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change with the whole file before and after; equal if the fact was there."""

    memory_change: MemoryChange
    before: str
    after: str


# Changes besides those of the stories; their moments count back from the end.
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
    """Bring the memory files to their last contents, and write every change to a file.

    The file of the changes is beside the transcripts.
    """
    changes_by_agent = {}
    for agent, workspace in workspaces.items():
        untold = [
            replace(memory_change, at_ms=until_ms - memory_change.at_ms) for memory_change in UNTOLD.get(agent, ())
        ]
        memory_changes = sorted([*workspace.changes, *untold], key=lambda memory_change: memory_change.at_ms)
        for change in replay_changes(agent, memory_changes):
            workspace.files[change.memory_change.file] = change.after
            if change.after != change.before:
                workspace.changed_ms[change.memory_change.file] = change.memory_change.at_ms
        changes_by_agent[agent] = [asdict(memory_change) for memory_change in memory_changes]
    text = json.dumps(changes_by_agent, ensure_ascii=False, indent=1)
    (out / NAME).write_text(text, encoding="utf-8", newline="\n")


def read_changes(out) -> dict[str, list[MemoryChange]]:
    """The changes of each agent's files, in the order of time; empty before they are written."""
    file = out / NAME
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {agent: [MemoryChange(**fields) for fields in changes] for agent, changes in stored.items()}


def replay_changes(agent: str, changes: Iterable[MemoryChange]) -> Iterator[FileChange]:
    """Yield each change with the contents of the file before and after.

    Sessions overlap, so `changes` are in the order of time.
    """
    workspace = Workspace(agent, "")
    for change in changes:
        if change.by == "later":
            continue
        before = workspace.files[change.file]
        yield FileChange(change, before, apply_change(workspace, change))


def apply_change(workspace: Workspace, change: MemoryChange) -> str:
    """Apply a change to a file; return the file's content."""
    if change.old:
        workspace.edit(change.file, change.old, change.new)
    elif not workspace.holds(change.file, change.new):
        workspace.edit(change.file, *workspace.append_to(change.file, change.section, change.new))
    return workspace.files[change.file]
