"""Run inside TRL's environment: messages as the chat templates of vendors render them.

Prints one JSON object.
"""

import contextlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import trl
from card_blocks import run_python
from tiny_tokenizer import tiny_tokenizer

TEMPLATES = Path(trl.__file__).parent / "chat_templates"


def read(folder):
    """Each row as each template renders it, by template; an error as its words."""
    os.chdir(folder)
    rows = run_python(".", "HF datasets", "TRL")["trl_rows"]["train"]
    return {name: [render(name, row) for row in rows] for name in sys.argv[2].split()}


def render(name, row):
    """A row as a template of TRL's package renders it."""
    tokenizer = tiny_tokenizer((TEMPLATES / f"{name}.jinja").read_text())
    tokenizer.bos_token = "<s>"
    try:
        return tokenizer.apply_chat_template(row["messages"], tools=json.loads(row["tools"]) or None, tokenize=False)
    except Exception as exc:
        return f"refused: {exc}"


with contextlib.redirect_stdout(sys.stderr):
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": version("trl"), "answers": answers}))
