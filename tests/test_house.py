"""Imports point down, and no modules of an app import each other."""

import ast

from tests.suite.sources import MODULES, ORDER, ROOT, fail_for, find_imports, source, where

# These put the apps together, so only they may import apps above them.
ROOF = {
    ROOT / "openclaw_web" / name
    for name in ("urls.py", "api.py", "settings.py", "declared_kinds.py", "settings_test.py")
}


def dotted(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


DOTTED = {dotted(path) for path in MODULES}


def find_string_imports(path):
    """Yield (line, dotted name) of each string that names a module of ours.

    Django and our settings import by such names.
    """
    for node in source(path).nodes(ast.Constant):
        if isinstance(node.value, str):
            name = node.value
            if any("." in dotted_name and dotted_name in DOTTED for dotted_name in (name, name.rpartition(".")[0])):
                yield node.lineno, name


def find_upward_imports(path):
    own = path.relative_to(ROOT).parts[0]
    for line, name in [*find_imports(path), *find_string_imports(path)]:
        app = name.partition(".")[0]
        if app in ORDER and ORDER.index(app) > ORDER.index(own):
            yield f"{where(path, line)}  {own} names {name}, which stands above it"


def test_imports_point_down():
    fail_for(problem for path in MODULES if path not in ROOF for problem in find_upward_imports(path))


def test_a_name_in_a_string_is_an_import():
    assert "jobs.kinds" in DOTTED
    settings = ROOT / "openclaw_web" / "settings.py"
    assert any(
        "operations names" not in problem and "stands above it" in problem for problem in find_upward_imports(settings)
    )


def find_sibling_imports(path):
    """The modules of its own app that a module imports, anywhere in its code."""
    names = (name if name in DOTTED else name.rpartition(".")[0] for _line, name in find_imports(path))
    app = path.relative_to(ROOT).parts[0]
    return {name for name in names if name in DOTTED and name.partition(".")[0] == app} - {dotted(path)}


def keep_circles(graph):
    """Reduce an import graph to the modules that are in circles or between two circles.

    Modules that import none of the rest are removed, and those that none of the rest imports.
    """
    while ends := {name for name, others in graph.items() if not others & graph.keys()}:
        graph = {name: others for name, others in graph.items() if name not in ends}
    while heads := graph.keys() - set().union(*graph.values()):
        graph = {name: others for name, others in graph.items() if name not in heads}
    return graph


def test_no_modules_of_an_app_import_each_other():
    graph = keep_circles({dotted(path): find_sibling_imports(path) for path in MODULES if path not in ROOF})
    fail_for(f"{name}  is in a circle with {sorted(others & graph.keys())}" for name, others in sorted(graph.items()))


def test_a_circle_is_told_from_what_leads_to_it():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert keep_circles(graph).keys() == {"b", "c"}
