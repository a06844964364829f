"""Names and first lines of docstrings, read from the source."""

import ast
import builtins
import re
from collections import Counter

from tests.suite.sources import ALL_MODULES, MODULES, ROOT, fail_for, find_imports, source, where

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
            ("guardian/detail/schemas.py", "left"),
            ("guardian/schemas.py", "left"),
            ("operations/doctor/api.py", "what"),
            ("operations/retention/api.py", "what"),
            ("operations/retention/api.py", "kept"),
        ],
        "a field of the API",
    ),
    ("datasets/kinds/results.py", "left"): "the API's field is read from it",
    ("operations/doctor/forms.py", "what"): "a field of a form that pages post",
    ("guardian/models/rollbacks.py", "told"): "a column",
    ("ledger/checkpoints/pack.py", "kept"): "a field of the format of packs",
    ("openclaw_web/sqlite/fields.py", "shown"): "the keyword of every shown column",
}

MOST_WORDS = 16
RIDDLES = ("What", "Whatever", "Whoever", "Whose", "Nothing")

FEWEST_LINES = 60
# What a module is by its place (docs/map.md); these stand alone however short they are.
ROLES = re.compile(r"(?:.*_)?(?:views|api|schemas|forms|urls|models|list|checks|problems|columns|apps|__init__)$")
SMALL = {
    "gate/collectors/plugin_events.py": "the reader of the plugin's log is long by itself",
    "gate/statistics/prompt_history.py": "one of four parts of an answer, each in its module",
    "guardian/collectors/write_log.py": "its importer is a stage of the import, no reader",
    "guardian/standing/last_writer.py": "queries; its importer declares a kind of problem",
    "ledger/session/jumps.py": "rules, which views do not hold",
    "ledger/transcripts/opt_out_filter.py": "the one place that withholds (decision 0058)",
    "openclaw_web/endpoints/etags.py": "its importer is in another app",
    "operations/doctor/store/recovery_hints.py": "about backups; its importer is about integrity",
    "overview/memory_standings.py": "its importer is long by itself",
    "people/api_auth/openapi_access.py": "it imports the middleware of its package",
    "people/audit/audited_routes.py": "a table that every new page of content extends",
    "people/authentication/browsers.py": "patterns of user agents, no table",
}
FEWEST_MODULES = 5
# Packages that every app may have (docs/map.md), however few modules they hold.
ROLE_PACKAGES = {"collectors", "commands", "lists", "management", "markup", "migrations", "models", "problems"}
SMALL_PACKAGES = {
    "agents/layout": "the folder above holds as many modules as it may",
    "ledger/outputs": "the topic of docs/artifacts.md",
    "operations/checkpoints": "views, api and schemas exist once in a folder",
    "operations/lint": "views, api and schemas exist once in a folder",
}


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


def test_docstrings_begin_with_a_short_sentence():
    def unclear(path):
        for node in source(path).nodes(ast.Module, ast.ClassDef, ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                head = re.split(r"\n\s*\n", text)[0].split()
                line = getattr(node, "lineno", 1)
                if len(head) > MOST_WORDS:
                    yield f"{where(path, line)}  {len(head)} words, {MOST_WORDS} at most: {' '.join(head)}"
                if head[0] in RIDDLES:
                    yield f"{where(path, line)}  begins with {head[0]}: {' '.join(head)}"

    fail_for(problem for path in ALL_MODULES for problem in unclear(path))


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


def importers():
    """Names of modules, each with the modules of ours that import it."""
    known = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}
    users: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for _line, imported in find_imports(path):
            target = imported if imported in known else imported.rpartition(".")[0]
            if target in known and target != name:
                users[target].add(name)
    return known, users


def test_modules_are_topics():
    """A short module with one importer belongs into it, unless a reason is given."""
    known, users = importers()
    short = {
        str(path.relative_to(ROOT))
        for name, path in known.items()
        if len(users[name]) == 1
        and len(source(path).lines) < FEWEST_LINES
        and not ROLES.match(path.stem)
        and not {"commands", "models", "verbs"} & set(path.parts)
    }
    fail_for(f"{name}  has less than {FEWEST_LINES} lines and one importer" for name in sorted(short - SMALL.keys()))
    fail_for(f"{name}  needs no reason any more" for name in sorted(SMALL.keys() - short))


def test_packages_are_topics():
    counts = Counter(path.parent for path in MODULES if path.stem != "__init__")
    small = {
        str(folder.relative_to(ROOT))
        for folder, count in counts.items()
        if count < FEWEST_MODULES and folder.name not in ROLE_PACKAGES and folder.parent != ROOT
    }
    fail_for(f"{name}  has fewer than {FEWEST_MODULES} modules" for name in sorted(small - SMALL_PACKAGES.keys()))
    fail_for(f"{name}  needs no reason any more" for name in sorted(SMALL_PACKAGES.keys() - small))


def test_fixed_names_are_used():
    used = {(str(path.relative_to(ROOT)), name) for path in ALL_MODULES for _line, _kind, name in names_in(path)}
    fail_for(f"{module}  has no {name} any more" for module, name in sorted(FIXED.keys() - used))
