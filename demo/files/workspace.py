"""An agent's workspace while the stories run: reads return what was written before."""

import os
from functools import cache
from pathlib import Path

SHIPPED = Path(__file__).parent.parent / "workspaces"


@cache
def read_shipped_files(agent):
    """The files an agent starts with, `main` or `research`."""
    folder = SHIPPED / agent
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.md"))
    }


class Workspace:
    """Files by their path in the workspace; `folder` is the path the transcripts name."""

    def __init__(self, agent, folder):
        self.folder = folder
        self.files = dict(read_shipped_files(agent))
        self.changed_ms = {}  # when each file was changed last
        self.changes = []  # of memory files, every change: files/memory.py

    def holds(self, path, line):
        """Whether a file has this line already."""
        return line in self.files[path].split("\n")

    def append_to(self, path, section, text):
        """The old and new text of an edit that adds `text` to a section.

        It is added at the end of the section, or without one at the end of the file.
        """
        lines = self.files[path].rstrip("\n").split("\n")
        first, last = 0, len(lines)
        if section:
            first = next(i for i, line in enumerate(lines) if line.lstrip("# ") == section)
            last = next((i for i in range(first + 1, last) if lines[i].startswith("#")), last)
        while not lines[last - 1].strip():
            last -= 1
        # Two lines where a single line is not unique: an edit must name exactly the text that it replaces.
        start = last - 1
        while start > first and self.files[path].count("\n".join(lines[start:last])) > 1:
            start -= 1
        old = "\n".join(lines[start:last])
        return old, f"{old}\n{text}"

    def edit(self, path, old, new):
        """Replace text; return the diff and first changed line as the tool reports them."""
        before = self.files.get(path)
        if before is None or old not in before:
            return _build_diff(old, new, 12)
        self.files[path] = before.replace(old, new, 1)
        return _build_diff(old, new, before[: before.index(old)].count("\n") + 1)

    def write_to(self, root, *, since_ms):
        """Write every file under `root`, with the times of their changes; return their number.

        A file that was not changed gets the time `since_ms`.
        """
        for path, text in sorted(self.files.items()):
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            changed = self.changed_ms.get(path, since_ms) * 1_000_000
            os.utime(file, ns=(changed, changed))
        return len(self.files)


def _build_diff(old, new, first):
    before, after = old.split("\n"), new.split("\n")
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    lines = ["   ..."]
    lines += [f" {first + i} {line}" for i, line in enumerate(before[:same])]
    lines += [f"-{first + same + i} {line}" for i, line in enumerate(before[same:])]
    lines += [f"+{first + same + i} {line}" for i, line in enumerate(after[same:])]
    return "\n".join(lines), first + same
