"""Texts with a number have forms for one and for many: `1 session`, `2 sessions`."""

import ast
import re

import pytest
from jinja2 import Environment

from openclaw_web import amounts
from openclaw_web.pages.formatting import size
from tests.suite.sources import ORDER as APPS
from tests.suite.sources import ROOT, source

ONE_FORM = {"_", "gettext", "gettext_lazy"}
# A number and a plural after it. Exceptions are below: bounds, and texts whose number is never one.
PLURAL = re.compile(r"%\((\w+)\)[sd] (?:(?:more|new|of its|of these|damaged) )?([a-z-]+[^s\W]s)\b")
BOUNDS = {
    *("most", "limit", "least", "usual", "seconds", "minutes", "days", "n", "low", "high", "chars_per_token"),
    *("window",),
}
NO_NOUNS = {
    *("was", "is", "has", "unpacks", "needs", "says", "holds", "does", "invites", "looks", "differs", "contains"),
    *("refers", "breaks", "accepts", "redirects", "offers", "asks", "uses", "names", "belongs", "--as"),
}
# Sentences whose number is never one: of a list that was cut, or of characters of a text that is too long.
ONLY_MANY = {
    "Enter a shorter reason: at most %(count)s characters.",
    "The gate of %(agent)s saw no user message in %(unseen)s of %(count)s decisions.",
    "The last %(count)s calls of the gate's model for %(agent)s failed. Check its endpoint.",
    "The worker died %(count)s times at the same place. Check the server log.",
    "The seed may have at most %(count)s characters.",
    "The description may have at most %(count)s characters.",
    "The notes may have at most %(count)s characters.",
    "--notes may have at most %(count)s characters.",
    "A name is a single line of at most %(count)s characters.",
    "every %(count)s days from the first of the month",
    "The metadata has %(length)s characters; the limit is %(most)s. Put content into the artifact instead.",
}
# In a template: the length of a list or text that was cut, which is never one.
CUT = re.compile(
    r"^(More than|At most|Only the first|First |The latest|All |None of these|The lists below)"
    r"|were searched|contains %\(count\)s of these|of {{ all }}"
)
# Things that pages call otherwise than the code:
PAGE_NAMES = {"contents": "artifacts", "cron jobs": "scheduled tasks", "rejected lines": "rejected records"}
# Characters of long texts:
LONG = {"datasets/conversation.html", "datasets/export_detail.html", "ledger/savings_parts.html"}


def sentences():
    """Yields every text that has only one form, with its place."""
    for app in APPS:
        for file in sorted((ROOT / app).rglob("*.py")):
            for node in source(file).nodes(ast.Call):
                is_call = isinstance(node.func, ast.Name) and node.func.id in ONE_FORM
                if is_call and node.args and isinstance(node.args[0], ast.Constant):
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", node.args[0].value


def test_a_number_decides_between_one_and_many():
    wrong = [
        f"{place}: {text}"
        for place, text in sentences()
        for name, noun in PLURAL.findall(text)
        if name not in BOUNDS and noun not in NO_NOUNS and text not in ONLY_MANY
    ]
    assert not wrong, "use ngettext, or openclaw_web.amounts:\n" + "\n".join(wrong)


def test_templates_as_well():
    texts = Environment(extensions=["jinja2.ext.i18n"])
    wrong = [
        f"{file.name}:{line}: {text}"
        for file in sorted((ROOT / "templates").rglob("*.html"))
        if file.relative_to(ROOT / "templates").as_posix() not in LONG
        for line, function, text in texts.extract_translations(file.read_text())
        if function != "ngettext"
        for name, noun in PLURAL.findall(text if isinstance(text, str) else text[0])
        if name not in BOUNDS and noun not in NO_NOUNS and not CUT.search(str(text).lstrip("(\"'"))
    ]
    assert not wrong, "use trans with pluralize, or ngettext:\n" + "\n".join(wrong)


def test_sizes_count_by_1000_everywhere():
    """Sizes are written as `4.2 kB`, by the filter `size`; Django's filter counts by 1,024."""
    files = [file for app in (*APPS, "templates") for file in sorted((ROOT / app).rglob("*.*"))]
    texts = {file: file.read_text() for file in files if file.suffix in (".py", ".html")}
    assert not [file.name for file, text in texts.items() if "filesizeformat" in text]
    assert (size(4_200), size(1_048_576)) == ("4.2 kB", "1.0 MB")


@pytest.mark.parametrize("thing", amounts.WORDS)
def test_amounts(thing):
    singular, plural = amounts.format_amount(thing, 1), amounts.format_amount(thing, 1_234)
    assert singular.startswith("1 ") and plural.startswith(f"1,234 {PAGE_NAMES.get(thing, thing)}")
    assert singular.removeprefix("1 ") != plural.removeprefix("1,234 ")
