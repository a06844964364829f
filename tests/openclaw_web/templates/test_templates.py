"""Jinja2 as this site uses it: mistakes in templates, parts of pages, components, texts."""

import ast
import re

import pytest
from django.template import engines
from django.test import RequestFactory
from django.utils import translation
from django.utils.html import format_html
from jinja2 import UndefinedError
from markupsafe import Markup

from openclaw_web import sentences
from openclaw_web.pages import templates
from tests.suite.sources import MODULES, ROOT, TEMPLATES, fail_for, source, where

HOSTILE = "<script>alert(\"1\")</script> & 'x'"
ESCAPED = "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt; &amp; &#39;x&#39;"

TAG = re.compile(
    r"(?<!P)</?(?:a(?=[ {])|article|b|br|button|circle|code|dd|del|details|div|dl|dt|em|form|g|h[1-6]|header|i|img"
    r"|input|ins|kbd|label|li|line|main|mark|nav|ol|option|p|path|pre|rect|script|section|select|small|span|strong"
    r"|style|summary|svg|table|tbody|td|text|textarea|th|thead|time|title|tr|ul|use)(?=[\s/>{]|$)"
)
# Modules that make HTML of texts.
TEXTS_AS_HTML = {
    "datasets/finding_values/sample_findings.py",
    "ledger/markup/documents.py",
    "ledger/markup/markdown.py",
    "openclaw_web/pages/formatting.py",
    "openclaw_web/pages/glyphs.py",
}


class Thing:
    name = "a thing"
    nothing = None

    def is_big(self):
        return False


def draw(source, **context):
    return engines.all()[0].from_string(source).render(context)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("{{ thing.nam }}", UndefinedError),
        ("{% if thing.is_big %}{% endif %}", TypeError),
        ("{{ thing.is_big }}", TypeError),
        ("{{ thing.nothing }}", TypeError),
        ("{{ ui.no_such_component() }}", UndefinedError),
        ('{{ ui.badge("x", colour="red") }}', TypeError),
        ("{{ ui.badge() }}", UndefinedError),
    ],
)
def test_a_slip_is_an_error(source, error):
    with pytest.raises(error):
        draw(source, thing=Thing())


def test_texts_are_escaped_and_html_that_was_made_so_is_not():
    made = format_html("<b>{}</b>", HOSTILE)
    assert draw("{{ a }}|{{ b }}", a=HOSTILE, b=made) == f"{ESCAPED}|{made}"
    assert HOSTILE not in draw("{{ ui.badge(a, tone=a, title=a) }}{{ ui.notice(a) }}{{ ui.command(a) }}", a=HOSTILE)
    assert draw('{{ _("Look for %(name)s", name=a) }}', a=HOSTILE) == f"Look for {ESCAPED}"
    template = (
        "{% trans count=n, name=a %}{{ name }} once{% pluralize count %}{{ name }} {{ count }} times{% endtrans %}"
    )
    assert (
        draw(template, n=1, a=HOSTILE) == f"{ESCAPED} once" and draw(template, n=2, a=HOSTILE) == f"{ESCAPED} 2 times"
    )


def test_a_percent_sign_is_one():
    assert draw('{{ _("100%% of it") }}') == "100% of it"


def test_words_are_those_of_the_language_that_is_asked_for(monkeypatch):
    monkeypatch.setattr(translation, "gettext", lambda text: f"{translation.get_language()}:{text}")
    for language in ("en", "de", "en"):
        with translation.override(language):
            assert draw('{{ _("Only of this test") }}') == Markup(f"{language}:Only of this test")


@pytest.mark.parametrize(
    ("address", "changes", "query"),
    [
        ("/?a=1&b=2", {"b": None}, "?a=1"),
        ("/?a=1", {"a": None}, "?"),
        ("/?a=1&a=2", {"b": "<&>"}, "?a=1&a=2&b=%3C%26%3E"),
    ],
)
def test_a_query_keeps_what_it_is_not_told_to_change(address, changes, query):
    assert templates.querystring(RequestFactory().get(address), **changes) == query


@pytest.mark.django_db
def test_a_part_of_a_page_is_that_block_alone(as_admin, ada):
    whole = as_admin.get("/agents/ada/sessions/").text
    part = as_admin.get("/agents/ada/sessions/", headers={"HX-Request": "true"}).text
    assert "<html" in whole and "<html" not in part and '<form class="filters"' not in part
    assert re.search(r'<div id="list-part".*</div>', part, re.DOTALL)[0] in whole


def test_nothing_says_of_itself_that_it_is_safe():
    marks = re.compile(r"\|\s*safe\b|autoescape|\bMarkup\b")
    lines = (
        (path, *numbered_line) for path in TEMPLATES for numbered_line in enumerate(path.read_text().split("\n"), 1)
    )
    fail_for(f"{where(path, number)}  {line.strip()}" for path, number, line in lines if marks.search(line))
    assert TEMPLATES and all(path.is_relative_to(ROOT) for path in TEMPLATES)


def strings(module):
    """Returns (line, text) of every string in a module, except docstrings."""
    docstring_ids = {id(node.value) for node in source(module).nodes(ast.Expr)}
    texts = (node for node in source(module).nodes(ast.Constant) if isinstance(node.value, str))
    return [(node.lineno, node.value) for node in texts if id(node) not in docstring_ids]


def test_pages_are_drawn_by_templates():
    problems_by_module = {}
    for module in MODULES:
        for line, text in strings(module):
            if tag := TAG.search(text):
                problem = f"{where(module, line)}  {tag[0]}: HTML belongs into a template"
                problems_by_module.setdefault(module.relative_to(ROOT).as_posix(), []).append(problem)
    fail_for(
        problem for name, problems in problems_by_module.items() if name not in TEXTS_AS_HTML for problem in problems
    )
    fail_for(
        f"{name} holds no HTML any more: take it off the list"
        for name in sorted(TEXTS_AS_HTML - set(problems_by_module))
    )


def test_durations_lists_and_spaces_are_those_of_the_language():
    source = '{{ _("Times:") }} <b>{{ long|duration }}</b>, {{ short|duration }}, {{ names|listed }}'
    template = engines["jinja2"].env.from_string(source)
    for language, words in (
        ("en", "Times: <b>3 h 35 min</b>, 4.2 s, a, b"),
        ("zh-hans", "时区：<b>3 小时 35 分钟</b>, 4.2 秒, a、b"),
    ):
        with translation.override(language):
            assert template.render(long=12_900_000, short=4200, names=["a", "b"]) == words
            assert sentences.join_sentences(["A.", "B."]) == ("A. B." if language == "en" else "A.B.")
