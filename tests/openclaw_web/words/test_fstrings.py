"""No text for translators is inside an f-string, because extraction does not search there."""

import ast

import pytest

from tests.suite.sources import MODULES, Source, fail_for, where
from tests.suite.sources import source as source_of

GETTEXT = {
    "format_plural",
    "gettext",
    "ngettext",
    "pgettext",
    "npgettext",
    "gettext_lazy",
    "ngettext_lazy",
    "gettext_noop",
}


def find_calls(source):
    """Returns every call of a gettext function inside an f-string, under any imported name."""
    names = GETTEXT | {
        alias.asname or alias.name
        for node in source.nodes(ast.ImportFrom)
        for alias in node.names
        if alias.name in GETTEXT
    }
    calls = (call for text in source.nodes(ast.JoinedStr) for call in ast.walk(text) if isinstance(call, ast.Call))
    return [call for call in calls if getattr(call.func, "id", getattr(call.func, "attr", "")) in names]


def test_no_text_for_translators_is_inside_of_an_fstring():
    fail_for(
        f"{where(path, call.lineno)}  {ast.unparse(call)} is not extracted here: give it a name first"
        for path in MODULES
        for call in find_calls(source_of(path))
    )


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("from django.utils.translation import gettext as _\nf'{_(\"a\")} b'", 1),
        ("from django.utils.translation import gettext_lazy as _later\nf'{name}: {_later(\"a\")!s:>5}'", 1),
        ('f\'{translation.ngettext("a", "b", 2)}\'', 1),
        ("from django.utils.translation import gettext as _\nf'{x:{_(\"a\")}}'", 1),
        ("from django.utils.translation import gettext as _\nword = _('a')\nf'{word} {len(word)}'", 0),
        ("from somewhere import _\nf'{_}'", 0),
    ],
)
def test_the_rule_finds_them(code, count):
    assert len({call.lineno for call in find_calls(Source(code))}) == min(count, 1)
    assert bool(find_calls(Source(code))) == bool(count)
