"""`README.md` of an export: a dataset card as the Hugging Face Hub reads it, and plain text for people.

In English whoever asks for the export: the same samples and options give the same file.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson
from django.utils import translation

from ...exporters.files.sums import SUMS
from ...exporters.files.trainers import INFO, LINES, Written
from .. import words

README = "README.md"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|&])")
# What the rows of each format are checked for when they are written, with the versions that tests give them to.
READERS = {
    "alpaca": "LLaMA-Factory 0.9.5, Axolotl 0.19 and HF `datasets` 4.0 to 5.2",
    "sharegpt": "LLaMA-Factory 0.9.5, Axolotl 0.19 and HF `datasets` 4.0 to 5.2",
    "openai": "OpenAI's fine-tuning and HF `datasets` 4.0 to 5.2",
}
CHECKED = "Every row was checked when it was written, against the rules of {readers}."
UNCHECKED = "These are samples as they are stored, in no form that a training tool reads."
RULES = "Written by openclaw-web {version} under rules {rules}, profile `{profile}`."


def card(name: str, written: Written, manifest: dict[str, Any]) -> bytes:
    """The text of the card. `manifest`: all of it but its files, which name this one."""
    with translation.override("en"):
        parts = [*_front_matter(name, written, manifest), "", *_text(name, written, manifest)]
    return ("\n".join(parts) + "\n").encode()


def _front_matter(name, written, manifest):
    yield "---"
    yield f"pretty_name: {_quoted(name)}"
    yield "# license: choose one before you publish these rows"
    yield "task_categories:\n- text-generation"
    yield f"tags:\n- openclaw\n- {written.kind}"
    yield f"size_categories:\n- {_size(manifest['counts']['rows'])}"
    yield "configs:\n- config_name: default\n  data_files:"
    for side, file in written.files.items():
        yield f"  - split: {side}\n    path: {file}"
    yield "---"


def _text(name, written, manifest):
    title = MARKDOWN.sub(r"\\\1", name)
    yield f"# {title}\n"
    yield f"Turns of OpenClaw agents as training rows. Format: {written.kind}. Task: {manifest['task']}."
    yield from _section("Rows", _rows(written, manifest["counts"]))
    yield from _section("Left out", _left_out(manifest["excluded"]))
    yield from _section("Changed to fit the format", _changed(manifest["transformations"]))
    yield from _section("Possible secrets", _secrets(manifest))
    if notes := manifest["notes"]:
        yield from _section("To know", (str(words.NOTES[name]) for name in notes))
    yield from _section("Options", (f"`{key}`: {_shown(value)}" for key, value in manifest["options"].items()))
    yield from _section("How to load", _loading(written, manifest))
    yield "\n## Before you publish\n"
    yield "Nobody has checked these rows for personal data yet. People wrote them to their agents: read them first."
    yield "\n## Checks\n"
    readers = READERS.get(written.kind)
    yield CHECKED.format(readers=readers) if readers else UNCHECKED
    about = {"rules": manifest["rules"], "version": manifest["app"]["version"], "profile": manifest["profile"]}
    yield f"\n{RULES.format(**about)}"
    yield f"\nTo compare the files with what was written, run `sha256sum -c {SUMS}` in this folder."


def _section(title, lines) -> Iterator[str]:
    found = [f"- {line}" for line in lines]
    yield "\n".join([f"\n## {title}\n", *(found or ["- Nothing."])])


def _rows(written, counts):
    yield from (f"{side}: {counts[side]:,} ({file})" for side, file in written.files.items())
    yield f"samples in them: {counts['samples']:,}, of which approved: {counts['approved']:,}"
    yield f"sessions: {counts['sessions']:,}"


def _left_out(excluded):
    for found in excluded:
        yield f"{words.EXCLUSIONS[found['reason']]}: {found['count']:,}"


def _changed(changes):
    for name, rows in changes.items():
        yield f"{words.CHANGES[name]}: {rows:,} {'row' if rows == 1 else 'rows'}"


def _secrets(manifest):
    where = "in the files" if manifest["options"]["include_flagged"] else "not in the files"
    for kind, rows in words.secrets(manifest):
        yield f"{kind}: {rows:,} {'row' if rows == 1 else 'rows'}, {where}"


def _loading(written, manifest):
    names = {file["name"] for file in manifest["files"]}
    if INFO in names:
        yield (
            f"LLaMA-Factory: copy the rows into its data folder, add the entries of `{INFO}` to its own, and name "
            f"`{written.dataset}` as the data set"
        )
    yield from (f"In this folder: `{line}`" for file, line in LINES.items() if file in names)
    yield f'In Python, from the folder above: `datasets.load_dataset("./{written.dataset}")`'


def _size(rows):
    return next((words for limit, words in SIZES if rows < limit), "1M<n<10M")


def _shown(value):
    return f"`{orjson.dumps(value).decode()}`"


def _quoted(text):
    """As a text of YAML: one of JSON is one."""
    return orjson.dumps(text).decode()
