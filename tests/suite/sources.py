"""The files of this checkout as tests read them: each read, parsed and walked once for all of them."""

import ast
from collections import defaultdict
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# From the ground up: each may import what stands before it. The roof puts the house together.
ORDER = [
    "openclaw_web",
    "people",
    "problems",
    "jobs",
    "agents",
    "artifacts",
    "ledger",
    "gate",
    "guardian",
    "datasets",
    "automation",
    "overview",
    "collecting",
    "operations",
    "demo",
]
MODULES = sorted(f for app in ORDER for f in (ROOT / app).rglob("*.py") if "migrations" not in f.parts)
ALL_MODULES = MODULES + sorted(f for folder in ("tests", "benchmarks") for f in (ROOT / folder).rglob("*.py"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "static").rglob("*.js"))


class Source:
    """The text of a module, and what it is parsed into."""

    def __init__(self, text):
        self.text = text

    @cached_property
    def lines(self):
        return self.text.splitlines()

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @cached_property
    def _by_kind(self):
        found = defaultdict(list)
        for number, node in enumerate(ast.walk(self.tree)):
            found[type(node)].append((number, node))
        return found

    def nodes(self, *kinds):
        """Every node of these classes, as `ast.walk` comes by."""
        found = [pair for kind in kinds for pair in self._by_kind[kind]]
        return [node for _number, node in (sorted(found, key=lambda pair: pair[0]) if len(kinds) > 1 else found)]


@cache
def source(path):
    """A module of the checkout."""
    return Source(path.read_text())


def forget():
    """Give the memory back: of the trees, which nobody reads after the last test that does."""
    source.cache_clear()


def dotted(node):
    """The words of `a.b.c`; other expressions as Python writes them."""
    words, inner = [], node
    while isinstance(inner, ast.Attribute):
        words.append(inner.attr)
        inner = inner.value
    return ".".join([inner.id, *reversed(words)]) if isinstance(inner, ast.Name) else ast.unparse(node)


def imports(path):
    """Every (line, dotted name) that `path` imports; names after `from x import` are tried as modules too."""
    package = list(path.relative_to(ROOT).with_suffix("").parts)
    for node in source(path).nodes(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        else:
            base = package[: -node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{name.name}") for name in node.names)


def where(path, line):
    return f"{path.relative_to(ROOT)}:{line}"


def lines_matching(text, pattern):
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.end()) + 1, match


def fail_for(problems):
    """Fail with every problem, one to a line; pass when there is none."""
    found = list(problems)
    if found:
        pytest.fail("\n".join(found), pytrace=False)
