"""No text for translators stands inside of an f-string: the extraction of texts does not look there."""

import ast

import pytest

from tests.test_architecture import MODULES, fail_for, where

GETTEXT = {"gettext", "ngettext", "pgettext", "npgettext", "gettext_lazy", "ngettext_lazy", "gettext_noop"}


def calls_within(tree):
    """Every call of a function of gettext, under any name it was imported as, that stands inside of an f-string."""
    names = GETTEXT | {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in GETTEXT
    }
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr))
    calls = (call for text in texts for call in ast.walk(text) if isinstance(call, ast.Call))
    return [call for call in calls if getattr(call.func, "id", getattr(call.func, "attr", "")) in names]


def test_no_text_for_translators_is_inside_of_an_fstring():
    fail_for(
        f"{where(path, call.lineno)}  {ast.unparse(call)} is not extracted here: give it a name first"
        for path in MODULES
        for call in calls_within(ast.parse(path.read_text()))
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
    assert len({call.lineno for call in calls_within(ast.parse(code))}) == min(count, 1)
    assert bool(calls_within(ast.parse(code))) == bool(count)
