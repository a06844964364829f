"""The settings in the card of an export, as its reader copies them.

Imported by the readers, inside a consumer's environment, and by tests of exports.
"""

import re
from pathlib import Path

BLOCK = re.compile(r"^### (?P<program>.+)\n\n.+\n\n```(?P<language>\w+)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)


def read_blocks(folder):
    """The text of each block by program and language."""
    card = Path(folder, "README.md").read_text(encoding="utf-8")
    return {(block["program"], block["language"]): block["text"] for block in BLOCK.finditer(card)}


def run_python(folder, *programs):
    """The names that the Python for these programs defines; it runs in this folder, which must be the current one."""
    blocks, names = read_blocks(folder), {}
    for program in programs:
        if text := blocks.get((program, "python")):
            exec(text, names)  # what a reader pastes
    return names
