"""Names and first lines of docstrings, read from the source."""

import ast
import builtins
import re

from tests.suite.sources import ALL_MODULES, ROOT, fail_for, source, where

# Pronouns, particles and participles: a reader who knows the field cannot guess from them what a value is.
UNTELLING = frozenset(
    ["one", "some", "found", "asked", "told", "said", "wanted", "left", "kept", "here", "what", "of", "shown"]
)
UNTELLING_MODULES = UNTELLING | frozenset(
    [
        "seen",
        "looking",
        "around",
        "beside",
        "behind",
        "together",
        "fates",
        "settling",
        "sayable",
        "building",
        "reading",
        "making",
        "telling",
        "gathered",
        "alike",
    ]
)
# Names that stay: (module, name) and the reason. Fields of schemas, forms and tables are fixed by what reads them.
FIXED = {
    **dict.fromkeys(
        [
            ("datasets/word_diff.py", "left"),
            ("openclaw_web/diffs/line_diff.py", "left"),
            ("openclaw_web/diffs/word_marks.py", "left"),
        ],
        "the left side of a comparison",
    ),
    **dict.fromkeys(
        [
            ("datasets/schemas.py", "left"),
            ("guardian/detail/api.py", "left"),
            ("guardian/schemas.py", "left"),
            ("operations/doctor/api.py", "what"),
            ("operations/retention/api.py", "what"),
            ("operations/retention/api.py", "kept"),
        ],
        "a field of the API",
    ),
    ("datasets/kinds/sample_store.py", "left"): "the API's field is read from it",
    ("operations/doctor/forms.py", "what"): "a field of a form that pages post",
    ("guardian/models/rollbacks.py", "told"): "a column",
    ("ledger/checkpoints/schemas.py", "kept"): "a field of the format of packs",
    ("openclaw_web/sqlite/fields.py", "shown"): "the keyword of every shown column",
}

RIDDLES = ("What", "Whatever", "Whoever", "Whose", "Nothing")


def names_in(path):
    """Every (line, kind, name) that a module gives to functions, classes, parameters, variables and fields."""
    yield 1, "module", path.parent.name if path.stem == "__init__" else path.stem
    for node in source(path).nodes(ast.FunctionDef, ast.ClassDef, ast.arg, ast.Name, ast.ExceptHandler):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, "function" if isinstance(node, ast.FunctionDef) else "class", node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, "parameter", node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, "variable", node.id
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.lineno, "variable", node.name


def test_names_say_what_they_name():
    def untelling(path):
        module = str(path.relative_to(ROOT))
        for line, kind, name in names_in(path):
            words = UNTELLING_MODULES if kind == "module" else UNTELLING
            if name.strip("_") in words and (module, name) not in FIXED:
                yield f"{where(path, line)}  {kind} {name}"

    fail_for(problem for path in ALL_MODULES for problem in untelling(path))


def test_docstrings_are_no_riddles():
    fail_for(
        f"{where(path, getattr(node, 'lineno', 1))}  begins with {text.split()[0]}: {text.splitlines()[0]}"
        for path in ALL_MODULES
        for node in source(path).nodes(ast.Module, ast.ClassDef, ast.FunctionDef)
        if (text := ast.get_docstring(node)) and text.split()[0] in RIDDLES
    )


RAISED = re.compile(r"\b[Rr]aises? ((?:`?[A-Z]\w+`?(?:, (?:and |or )?| or | and )?)+)")
FOREIGN = {"Django", "ReadTimeout", "ZstdError"}  # exceptions of libraries that are not imported by name, and a subject


def test_docstrings_name_exceptions_that_exist():
    classes = {node.name for path in ALL_MODULES for node in source(path).nodes(ast.ClassDef)} | FOREIGN
    imported = {
        name.asname or name.name
        for path in ALL_MODULES
        for node in source(path).nodes(ast.Import, ast.ImportFrom)
        for name in node.names
    }

    def unknown(path):
        for node in source(path).nodes(ast.Module, ast.ClassDef, ast.FunctionDef):
            for names in RAISED.findall(ast.get_docstring(node) or ""):
                for name in re.findall(r"[A-Z]\w+", names):
                    if name not in classes | imported | vars(builtins).keys():
                        yield f"{where(path, getattr(node, 'lineno', 1))}  raises {name}, which is no class"

    fail_for(problem for path in ALL_MODULES for problem in unknown(path))


def test_fixed_names_are_used():
    used = {(str(path.relative_to(ROOT)), name) for path in ALL_MODULES for _line, _kind, name in names_in(path)}
    fail_for(f"{module}  has no {name} any more" for module, name in sorted(FIXED.keys() - used))
