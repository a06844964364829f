"""The source files of this checkout, each read, parsed and walked once for all tests."""

import ast
from collections import defaultdict
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# From the lowest app to the highest: each may import those before it.
ORDER = [
    "openclaw_web",
    "people",
    "problems",
    "jobs",
    "agents",
    "search",
    "artifacts",
    "ledger",
    "gate",
    "guardian",
    "findings",
    "datasets",
    "automation",
    "episodes",
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
    """The text of a module, its lines and its syntax tree."""

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
        nodes_by_class = defaultdict(list)
        for number, node in enumerate(ast.walk(self.tree)):
            nodes_by_class[type(node)].append((number, node))
        return nodes_by_class

    def nodes(self, *kinds):
        """Every node of these classes, in the order of `ast.walk`."""
        pairs = [pair for kind in kinds for pair in self._by_kind[kind]]
        return [node for _number, node in (sorted(pairs, key=lambda pair: pair[0]) if len(kinds) > 1 else pairs)]


@cache
def source(path):
    """A module of the checkout."""
    return Source(path.read_text())


def forget():
    """Free the syntax trees after the last test that reads them."""
    source.cache_clear()


def format_dotted_name(node):
    """The name `a.b.c` of an expression; for other expressions its source text."""
    words, inner = [], node
    while isinstance(inner, ast.Attribute):
        words.append(inner.attr)
        inner = inner.value
    return ".".join([inner.id, *reversed(words)]) if isinstance(inner, ast.Name) else ast.unparse(node)


def find_imports(path):
    """Yield (line, dotted name) of every import of `path`.

    Names after `from x import` are yielded as if they were modules too.
    """
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
    """Fail with all problems, one on each line; pass if there is none."""
    messages = list(problems)
    if messages:
        pytest.fail("\n".join(messages), pytrace=False)
