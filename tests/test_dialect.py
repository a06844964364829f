"""Who speaks SQLite's dialect, and who writes SQL out, read from the source and held against docs/databases.md."""

import ast
import re

from tests.suite.sources import MODULES, ROOT, fail_for, source, where

DIALECT = ROOT / "openclaw_web" / "sqlite"
# Ways past the ORM, and words that other databases do not know.
CALLS = {"cursor", "executemany", "executescript", "extra", "raw", "set_progress_handler", "RawSQL"}
NAMES = {"vendor", "in_transaction"}
WORDS = re.compile(
    r"\b(?:PRAGMA|ATTACH|DETACH|VACUUM|BEGIN \w+|INSERT OR \w+|rowid|json_each|json_extract|IFNULL|init_command)\b"
    r"|IS NOT \w+\.|sqlite_(?:master|schema)|\?mode=r|no such table|disk I/O|is malformed|is locked"
)
SQL = re.compile(
    r"\s*(?:SELECT\b|INSERT\b|UPDATE (?:\w+ SET\b|$)|DELETE FROM|WITH \w+|CREATE [A-Z]+ |DROP [A-Z]+ |ALTER TABLE)"
)
NAMED = re.compile(r"`([\w/]+\.py)`")


def named(heading):
    """The modules that a part of docs/databases.md names."""
    text = (ROOT / "docs" / "databases.md").read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {ROOT / name for name in NAMED.findall(text)}


def texts(path):
    """Every (line, text) of a module that is no docstring; parts of f-strings by themselves."""
    nodes = source(path).nodes(ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {id(node.body[0].value) for node in nodes if node.body and isinstance(node.body[0], ast.Expr)}
    for node in source(path).nodes(ast.Constant):
        if isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def dialect(path):
    """Every (line, word) of a module that only who speaks to SQLite needs."""
    for node in source(path).nodes(ast.Import, ast.ImportFrom, ast.Call, ast.Attribute):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None), *(name.name for name in node.names)]
            yield from ((node.lineno, name) for name in names if name in ("sqlite3", "RawSQL"))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
            yield node.lineno, f".{node.func.attr}("
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.lineno, f".{node.attr}"
    for line, text in texts(path):
        yield from ((line, found) for found in WORDS.findall(text))


OTHERS = [path for path in MODULES if path.parent != DIALECT]


def test_one_folder_speaks_to_sqlite():
    """All others say it to the ORM or to `openclaw_web.sqlite`, but for readers of files that are not ours."""
    readers = named("Readers of other programs' databases")
    fail_for(f"{where(path, line)}  {word}" for path in {*OTHERS} - readers for line, word in dialect(path))


def test_sql_is_written_out_where_the_docs_say_so():
    known = named("Hand-written SQL") | named("Readers of other programs' databases")
    found = {path: [line for line, text in texts(path) if SQL.match(text)] for path in OTHERS}
    fail_for(f"{where(path, line)}  SQL" for path in found.keys() - known for line in found[path])
    fail_for(f"docs/databases.md  {path.relative_to(ROOT)} has no SQL" for path in known if not found.get(path))
