"""SQLite's dialect and hand-written SQL stand only where docs/databases.md says so."""

import ast
import re

from tests.suite.sources import MODULES, ROOT, fail_for, source, where

DIALECT = ROOT / "openclaw_web" / "sqlite"
# Calls that bypass the ORM, and words that other databases do not know.
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


def read_named_modules(heading):
    """The modules that a section of docs/databases.md names."""
    text = (ROOT / "docs" / "databases.md").read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {ROOT / name for name in NAMED.findall(text)}


def find_texts(path):
    """Yield (line, text) of a module's strings except docstrings; parts of f-strings by themselves."""
    nodes = source(path).nodes(ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {id(node.body[0].value) for node in nodes if node.body and isinstance(node.body[0], ast.Expr)}
    for node in source(path).nodes(ast.Constant):
        if isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def find_dialect(path):
    """Yield (line, word) of everything in a module that is only used with SQLite."""
    for node in source(path).nodes(ast.Import, ast.ImportFrom, ast.Call, ast.Attribute):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None), *(name.name for name in node.names)]
            yield from ((node.lineno, name) for name in names if name in ("sqlite3", "RawSQL"))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
            yield node.lineno, f".{node.func.attr}("
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.lineno, f".{node.attr}"
    for line, text in find_texts(path):
        yield from ((line, word) for word in WORDS.findall(text))


OTHERS = [path for path in MODULES if DIALECT not in path.parents]


def test_one_folder_speaks_to_sqlite():
    """Only `openclaw_web.sqlite` and readers of other programs' files use the dialect."""
    readers = read_named_modules("Readers of other programs' databases")
    fail_for(f"{where(path, line)}  {word}" for path in {*OTHERS} - readers for line, word in find_dialect(path))


def test_sql_is_written_out_where_the_docs_say_so():
    known = read_named_modules("Hand-written SQL") | read_named_modules("Readers of other programs' databases")
    sql_lines = {path: [line for line, text in find_texts(path) if SQL.match(text)] for path in OTHERS}
    fail_for(f"{where(path, line)}  SQL" for path in sql_lines.keys() - known for line in sql_lines[path])
    fail_for(f"docs/databases.md  {path.relative_to(ROOT)} has no SQL" for path in known if not sql_lines.get(path))
