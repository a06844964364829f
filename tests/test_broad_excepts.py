"""No code catches every exception that a bug may raise.

The exceptions are in docs/decisions/0009-where-anything-may-be-caught.md.
"""

import ast
import builtins
import contextlib
import importlib

import pytest

from tests.suite.sources import MODULES, ROOT, fail_for, format_dotted_name, where
from tests.suite.sources import source as source_of

# Where anything may be caught, by file and function.
CATCH_ALL = {
    "migrate_agents.run",
    "execution._outcome",
    "check_pass._run",
    "preparation._collect_static",
    "processes._run_child",
    "all_signals.find_answers",
}
# All exceptions that a mistake of ours raises.
MISTAKES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def walk_functions(tree):
    """Yield every node of a module with the name of the function around it."""
    queue = [("", tree)]
    while queue:
        name, node = queue.pop()
        inner_name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else name
        yield inner_name, node
        queue += [(inner_name, child) for child in ast.iter_child_nodes(node)]


def find_caught_expressions(tree):
    """Yield (line, function, expression) of every `except` and `suppress`.

    The expression is None for a bare `except`.
    """
    for function, node in walk_functions(tree):
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            if not (isinstance(last, ast.Raise) and last.exc is None):  # a clean-up that raises again hides nothing
                yield node.lineno, function, node.type
        elif isinstance(node, ast.Call) and format_dotted_name(node.func).endswith("suppress"):
            yield node.lineno, function, ast.Tuple(node.args, ast.Load())


def collect_names(source, module):
    """The values of a module's names, including those that its functions import."""
    imported_module = importlib.import_module(module)
    names = {"__package__": imported_module.__package__}
    for node in source.nodes(ast.Import, ast.ImportFrom):
        exec(ast.unparse(node), names)
    return names | vars(imported_module)


def evaluate_classes(expression, names):
    """The exceptions that an expression names."""
    value = eval(ast.unparse(expression), dict(names)) if expression is not None else BaseException
    queue, flat = [value], []
    while queue:
        exception = queue.pop()
        queue += exception if isinstance(exception, tuple) else ()
        flat += [] if isinstance(exception, tuple) else [exception]
    return tuple(flat)


def find_broad_catches(tree, names):
    """Yield (line, function, problem) of every handler that catches any exception."""
    for line, function, expression in find_caught_expressions(tree):
        words = ast.unparse(expression) if expression is not None else "everything"
        try:
            caught = evaluate_classes(expression, names)
        except NameError:
            yield line, function, f"{words} is known only when it runs: name the exceptions"
            continue
        if issubclass(Exception, caught) or all(issubclass(mistake, caught) for mistake in MISTAKES):
            yield line, function, f"{words} catches whatever a bug raises"


def find_module_problems(path):
    source = source_of(path)
    if any(find_caught_expressions(source.tree)):  # others are not imported: wsgi.py would enter the home
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for line, function, problem in find_broad_catches(source.tree, collect_names(source, module)):
            if f"{path.stem}.{function}" not in CATCH_ALL:
                yield f"{where(path, line)}  {problem}"


def test_nothing_catches_whatever_a_bug_raises():
    fail_for(problem for path in MODULES for problem in find_module_problems(path))


ANY, DATABASE_OR_ANY = Exception, (OSError, (KeyError, Exception))
TRY = "def f(kinds=()):\n  try: g()\n  except {}: {}"


@pytest.mark.parametrize(
    "source",
    [
        "try: g()\nexcept: pass",
        *(
            TRY.format(kinds, "pass")
            for kinds in (
                *("Exception", "BaseException", "(OSError, Exception)", "ANY", "DATABASE_OR_ANY", "kinds"),
                *("(OSError, *DATABASE_OR_ANY)", "builtins.Exception", "(OSError, *MISTAKES)", "ANY as exc"),
            )
        ),
        TRY.format("Exception", "raise ValueError"),
        "with suppress(Exception): g()",
        "with contextlib.suppress(OSError, ANY): g()",
        "with suppress(*DATABASE_OR_ANY): g()",
    ],
)
def test_a_disguise_is_seen_through(source):
    names = globals() | {"builtins": builtins, "suppress": contextlib.suppress}
    assert [*find_broad_catches(ast.parse(source), names)]
    harmless = source.replace("pass", "raise").replace("raise ValueError", "raise") if "kinds" not in source else ""
    assert "suppress" in source or not [*find_broad_catches(ast.parse(harmless), names)]
