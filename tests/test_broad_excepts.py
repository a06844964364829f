"""Nothing catches whatever a bug raises, under whatever name: docs/decisions/0009-where-anything-may-be-caught.md."""

import ast
import builtins
import contextlib
import importlib

import pytest

from tests.suite.sources import MODULES, ROOT, dotted, fail_for, where
from tests.suite.sources import source as source_of

# Where anything may be caught, by file and function.
CATCH_ALL = {"migrate_agents.run", "running._outcome", "checking._run", "preparation._collect_static", "processes._be"}
# Together they are all that a mistake of ours raises.
MISTAKES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def functions(tree):
    """Every node of a module with the name of the function around it."""
    waiting = [("", tree)]
    while waiting:
        name, node = waiting.pop()
        own = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else name
        yield own, node
        waiting += [(own, child) for child in ast.iter_child_nodes(node)]


def catches(tree):
    """Every (line, function, expression) that an `except` or a `suppress` names; None for an `except` of anything."""
    for function, node in functions(tree):
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            if not (isinstance(last, ast.Raise) and last.exc is None):  # who cleans up hides nothing
                yield node.lineno, function, node.type
        elif isinstance(node, ast.Call) and dotted(node.func).endswith("suppress"):
            yield node.lineno, function, ast.Tuple(node.args, ast.Load())


def names_of(source, module):
    """What the names of a module mean, those that its functions import included."""
    found = importlib.import_module(module)
    names = {"__package__": found.__package__}
    for node in source.nodes(ast.Import, ast.ImportFrom):
        exec(ast.unparse(node), names)
    return names | vars(found)


def classes(expression, names):
    """The exceptions that an expression names."""
    found = eval(ast.unparse(expression), dict(names)) if expression is not None else BaseException
    waiting, flat = [found], []
    while waiting:
        one = waiting.pop()
        waiting += one if isinstance(one, tuple) else ()
        flat += [] if isinstance(one, tuple) else [one]
    return tuple(flat)


def broad(tree, names):
    """Every (line, function, what) of a module that catches any exception, under whatever name."""
    for line, function, expression in catches(tree):
        words = ast.unparse(expression) if expression is not None else "everything"
        try:
            found = classes(expression, names)
        except NameError:
            yield line, function, f"{words} is known only when it runs: name the exceptions"
            continue
        if issubclass(Exception, found) or all(issubclass(mistake, found) for mistake in MISTAKES):
            yield line, function, f"{words} catches whatever a bug raises"


def broad_in(path):
    source = source_of(path)
    if any(catches(source.tree)):  # what catches nothing is not imported: wsgi.py would enter the home
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for line, function, what in broad(source.tree, names_of(source, module)):
            if f"{path.stem}.{function}" not in CATCH_ALL:
                yield f"{where(path, line)}  {what}"


def test_nothing_catches_whatever_a_bug_raises():
    fail_for(problem for path in MODULES for problem in broad_in(path))


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
    assert [*broad(ast.parse(source), names)]
    harmless = source.replace("pass", "raise").replace("raise ValueError", "raise") if "kinds" not in source else ""
    assert "suppress" in source or not [*broad(ast.parse(harmless), names)]
