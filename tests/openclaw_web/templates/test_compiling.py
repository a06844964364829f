"""Every template compiles, and all names in it exist.

Otherwise a page that no test renders would fail for its readers.
"""

import pytest
from django.template import engines
from django.urls import get_resolver
from django.urls.resolvers import get_ns_resolver
from jinja2 import TemplateSyntaxError, nodes

from tests.suite.sources import ROOT, TEMPLATES, fail_for

FOLDER = ROOT / "templates"
OF_ROUTES = {"url", "url_or_none", "addresses"}


def problems(name, text):
    """Yields every (line, problem) of a template with this name."""
    env = engines["jinja2"].env
    try:
        unknown = list(unknown_names(env, env.parse(text, name)))
        yield from unknown
        if not unknown:
            env.compile(text, name)
    except TemplateSyntaxError as exc:
        yield exc.lineno, exc.message


def unknown_names(env, tree):
    """Yields every (line, problem) of a filter, test, template, component or route that does not exist.

    Rarely used branches are searched as well.
    """
    for kind, known in ((nodes.Filter, env.filters), (nodes.Test, env.tests)):
        for node in tree.find_all(kind):
            if node.name not in known:
                yield node.lineno, f"there is no {kind.__name__.lower()} {node.name}"
    for node in tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
        if isinstance(node.template, nodes.Const) and not (FOLDER / node.template.value).is_file():
            yield node.lineno, f"there is no template {node.template.value}"
    for node in tree.find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and node.node.name == "ui" and node.attr not in env.globals["ui"].macros:
            yield node.lineno, f"there is no component {node.attr}"
    yield from unknown_routes(tree)


def unknown_routes(tree):
    """Yields every (line, problem) of a route that does not exist."""
    for call in tree.find_all(nodes.Call):
        is_route = isinstance(call.node, nodes.Name) and call.node.name in OF_ROUTES and call.args
        if is_route and isinstance(call.args[0], nodes.Const) and not is_routed(call.args[0].value):
            yield call.lineno, f"there is no page {call.args[0].value}"


def is_routed(route):
    namespace, _colon, name = route.rpartition(":")
    try:
        resolver = get_resolver().namespace_dict[namespace][1] if namespace else get_resolver()
    except KeyError:
        return False
    return name in get_ns_resolver("", resolver, ()).reverse_dict  # as links resolve it


def test_every_template_is_whole():
    fail_for(
        f"templates/{name}:{line}  {problem}"
        for path in TEMPLATES
        for name in [path.relative_to(FOLDER).as_posix()]
        for line, problem in problems(name, path.read_text())
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ 1|no_such }}", "there is no filter no_such"),
        ("{{ 2|no_such if a else 1 }}", "there is no filter no_such"),
        ("{% if a is no_such %}{% endif %}", "there is no test no_such"),
        ("{% if a %}", "Unexpected end of template"),
        ("{% include 'no/such.html' %}", "there is no template no/such.html"),
        ("{{ ui.no_such() }}", "there is no component no_such"),
        ("{{ url('people:no_such') }}", "there is no page people:no_such"),
        ("{{ url_or_none('no_such:page', 1) }}", "there is no page no_such:page"),
    ],
)
def test_a_slip_is_found(text, problem):
    ((line, message),) = problems("a.html", f"<p>\n{text}")
    assert line == 2 and message.startswith(problem)


def test_what_is_there_is_no_slip():
    text = "{% if a is defined %}{{ ui.badge(a|readable) }}{{ url('people:account') }}{{ url(route) }}{% endif %}"
    assert list(problems("a.html", text)) == []
