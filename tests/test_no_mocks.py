"""Tests mock nothing of ours; they may change the clock, and bounds that are too big.

CONTRIBUTING.md says why.
"""

import ast

from tests.suite.sources import ALL_MODULES, ORDER, ROOT, Source
from tests.suite.sources import source as source_of

TESTS = ROOT / "tests"
OURS = tuple(ORDER)
# (file, what): each with its reason.
ALLOWED = {
    ("conftest.py", "_template"),  # the empty agent file is made once for all tests, not once for each
    ("datasets/exports/test_exports.py", "name"),  # the bounds of PlainRows, by name
    ("datasets/releases/test_changed_releases.py", "list_columns"),  # a table of another version, with fewer columns
}


def find_our_names(source):
    """Yield the names in a test module that come from our packages."""
    for node in source.nodes(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            yield from (alias.asname or alias.name for alias in node.names)
        if isinstance(node, ast.Import):
            yield from (alias.asname or alias.name for alias in node.names if alias.name.split(".")[0] in OURS)


def find_replacements(source):
    """Yield (line, name) of everything of ours that a test replaces."""
    ours = set(find_our_names(source))
    for node in source.nodes(ast.Call):
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "setattr"):
            continue
        target = node.args[0]
        if isinstance(target, ast.Constant):
            path = str(target.value).split(".")
            if path[0] in OURS:
                yield node.lineno, path[-1]
        elif _find_root(target) in ours:
            name = node.args[1]
            yield node.lineno, name.value if isinstance(name, ast.Constant) else ast.unparse(name)


def _find_root(node):
    """The first name of an expression such as `garbage.inventory`.

    Empty for a module of somebody else's, as in `limits.time`.
    """
    while isinstance(node, ast.Attribute):
        if node.attr in ("time", "os", "shutil", "sys"):
            return ""
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def test_nothing_of_ours_is_replaced():
    wrong = []
    for file in (path for path in ALL_MODULES if path.is_relative_to(TESTS)):
        place = file.relative_to(TESTS).as_posix()
        for line, name in find_replacements(source_of(file)):
            is_bound_or_clock = name.isupper() or name == "now_ms"
            if not is_bound_or_clock and (place, name) not in ALLOWED:
                wrong.append(f"{place}:{line}: {name}")
    assert not wrong, "go through the outside (tests/faults.py):\n" + "\n".join(wrong)


def test_a_replacement_would_be_found():
    code = "from artifacts import garbage\ndef test(monkeypatch):\n    monkeypatch.setattr(garbage, '_remove', None)\n"
    assert list(find_replacements(Source(code))) == [(3, "_remove")]
    code = "def test(monkeypatch):\n    monkeypatch.setattr('jobs.services.start', None)\n"
    assert list(find_replacements(Source(code))) == [(2, "start")]
