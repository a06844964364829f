"""Finds lines of prompts and playbooks that would put whole outputs into a context.

These are the lines that the spec bans.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import re2
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused

LINT_SCHEMA = "openclaw-mem.artifact.lint.v1"
MAX_BYTES = 4 * 1024 * 1024
SHORTEST = 10  # characters of a line that can break a rule
SUFFIXES = {".md", ".txt", ".json", ".jsonl", ".yaml", ".yml", ".sh", ".toml", ".prompt", ""}

_STASHED = r"artifact\s+stash"
_SHOW = r"(?:paste|include|insert|embed|dump|print|post|send|copy|quote|attach|put)"
_WHOLE = r"(?:full|whole|entire|complete|raw|all(?:\s+of)?)"


@dataclass(frozen=True, slots=True)
class Rule:
    """A banned pattern; a line that also has `unless` is fine."""

    id: str
    pattern: str
    words: Any
    better: Any
    unless: str = ""


RULES = (
    Rule(
        "json-dump",
        r"\bopenclaw(?:-mem|-web)?\s[^|;&\n]*--json\b",
        gettext_lazy("JSON output in full"),
        gettext_lazy("Store the output and keep the handle: openclaw … --json | openclaw-web artifact stash"),
        rf"--json\b.*\|.*{_STASHED}|--json\b[^|]*>>?\s*[^&\s]|\bartifact\s+(?:stash|fetch|peek|list|rm|gc|verify|import|lint)\b",
    ),
    Rule(
        "paste-json",
        rf"\b{_SHOW}\b[^.\n]{{0,40}}\b{_WHOLE}\b[^.\n]{{0,30}}\bJSON\b",
        gettext_lazy("Pasted JSON"),
        gettext_lazy(
            "Store the JSON, then give its handle and a one-line summary; fetch single values with --mode jsonpath."
        ),
        rf"\b(?:never|not|don.t|without)\b|{_STASHED}",
    ),
    Rule(
        "paste-page",
        rf"\b{_SHOW}\b[^.\n]{{0,40}}\b{_WHOLE}\b[^.\n]{{0,30}}\b(?:HTML|web\s?pages?|pages?\s+source|DOM|snapshot)\b",
        gettext_lazy("Pasted page"),
        gettext_lazy("Store the page, then fetch a limited part: openclaw-web artifact fetch HANDLE --max-chars 8000"),
        rf"\b(?:never|not|don.t|without)\b|{_STASHED}",
    ),
    Rule(
        "paste-pdf",
        rf"\b{_SHOW}\b[^.\n]{{0,40}}\b{_WHOLE}\b[^.\n]{{0,30}}\bPDFs?\b",
        gettext_lazy("Pasted PDF"),
        gettext_lazy(
            "Store the PDF's text, then fetch a limited part: openclaw-web artifact fetch HANDLE --max-chars 8000"
        ),
        rf"\b(?:never|not|don.t|without)\b|{_STASHED}",
    ),
    Rule(
        "fetch-without-cap",
        r"\bartifact\s+fetch\b",
        gettext_lazy("Fetch without a limit"),
        gettext_lazy("Set a limit: --max-chars 8000 or less."),
        r"--max-chars\b",
    ),
    Rule(
        "fetch-too-much",
        r"--max-chars[ =](?:800[1-9]|80[1-9]\d|8[1-9]\d{2}|9\d{3}|\d{5,})\b",
        gettext_lazy("Fetch above the limit"),
        gettext_lazy("Fetch at most 8,000 characters, or up to 20,000 with --reason."),
        r"--max-chars[ =](?:\d{1,4}|1\d{4}|20000)\b.*--reason|--reason.*--max-chars[ =](?:\d{1,4}|1\d{4}|20000)\b",
    ),
    Rule(
        "delete-sessions",
        r"\b(?:rm|unlink|del|shred|truncate)\b[^|;\n]*\bsessions/[^\s|;]*\.jsonl\b",
        gettext_lazy("Deleted sessions"),
        gettext_lazy("Do not delete sessions to save tokens: compact, and keep a checkpoint."),
    ),
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that a rule bans."""

    file: str
    line: int
    rule: str
    text: str
    better: str

    @property
    def words(self) -> str:
        """The name of the rule on pages."""
        return str(_BY_ID[self.rule].words)


def lint_text(text: str, *, file: str = "") -> Iterator[Hit]:
    """Every line of a text that a rule bans.

    A line that ends with a backslash is joined with the next one.
    """
    if not _ANY.search(text.replace("\\\n", "  ")):
        return
    number, parts = 1, []
    for offset, line in enumerate(text.split("\n"), start=1):
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        joined = " ".join([*parts, line])
        yield from (
            Hit(file, number, rule.id, joined.strip()[:200], str(rule.better)) for rule in _find_broken_rules(joined)
        )
        number, parts = offset + 1, []


def lint_paths(paths: Iterable[Path]) -> Iterator[Hit]:
    """Every banned line of files and, in folders, of files that look like text.

    Raises Refused for a missing path.
    """
    for path in paths:
        if not path.exists():
            raise Refused(_("%(path)s does not exist.") % {"path": path})
        for file in _list_files(path):
            yield from lint_text(file.read_bytes()[:MAX_BYTES].decode("utf-8", "replace"), file=str(file))


def _find_broken_rules(line):
    if len(line) < SHORTEST or not _ANY.search(line):
        return
    for rule in RULES:
        pattern, unless = _COMPILED[rule.id]
        if pattern.search(line) and not (unless and unless.search(line)):
            yield rule


def _list_files(path):
    if path.is_file():
        return [path]
    paths = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and not _is_hidden(file, path))
    return [file for file in paths if file.is_file() and not file.is_symlink()]


def _is_hidden(file, path):
    return any(part.startswith(".") for part in file.relative_to(path).parts)


def _compile(pattern):
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    return re2.compile(pattern, options) if pattern else None


_BY_ID = {rule.id: rule for rule in RULES}
_COMPILED = {rule.id: (_compile(rule.pattern), _compile(rule.unless)) for rule in RULES}
_ANY = _compile("|".join(rule.pattern for rule in RULES))  # most texts break no rule: they are read once
