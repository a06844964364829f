"""The declaration of a setting, and the types that several settings share."""

import re
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Any, Self

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

Words = str | Promise
MOST_TEXT = 20_000
DAILY = re.compile(r"([0-9]|[1-5][0-9]) ([0-9]|1[0-9]|2[0-3]) \* \* \*", re.ASCII)


@dataclass(frozen=True)
class Setting:
    """One setting: its default, its valid values and its words.

    `field` is the kind of the form field: switch, number or fraction (with `least` and `most`), choices, lines, line,
    text or time. `unit` stands beside the field. `after` tells what to do after a change. `explain` says what is wrong
    with a list of texts, as a sentence.
    """

    default: Any
    accepts: Callable[[Any], bool]
    shape: Words
    field: str
    unit: Words = ""
    least: int | None = None
    most: int | None = None
    label: Words = ""
    help: Words = ""
    after: Words = ""
    explain: Callable[[Any], str] | None = None

    def with_words(self, label: Words, help: Words, after: Words = "") -> Self:
        """The same setting with words for people."""
        return replace(self, label=label, help=help, after=after)

    def with_explanation(self, explain: Callable[[Any], str]) -> Self:
        """The same setting with a sentence for each wrong value."""
        return replace(self, explain=explain)

    def refusal(self, name: Words, value: Any = None) -> str:
        """The sentence for a refused value.

        `name` is the name by which the sender knows the setting.
        """
        sentence = gettext("%(key)s must be %(shape)s.") % {"key": name, "shape": self.shape}
        more = self.explain(value) if self.explain and _is_texts(value) else ""
        return f"{sentence} {more}" if more else sentence


def switch(default: bool) -> Setting:
    return Setting(default, lambda value: isinstance(value, bool), _("true or false"), "switch")


def number(default: int, least: int, most: int, unit: Words) -> Setting:
    def accepts(value):
        return type(value) is int and least <= value <= most

    shape = format_lazy(_("a whole number from {least} to {most}"), least=least, most=most)
    return Setting(default, accepts, shape, "number", unit, least, most)


def fraction(default: float) -> Setting:
    """A number from 0 to 1."""

    def accepts(value):
        return type(value) in (int, float) and 0 <= value <= 1

    return Setting(default, accepts, _("a number from 0 to 1"), "fraction", least=0, most=1)


def line(accepts: Callable[[str], object], shape: Words) -> Setting:
    """A text of one line, empty at first."""
    return Setting("", lambda value: isinstance(value, str) and bool(accepts(value)), shape, "line")


def folder() -> Setting:
    return line(lambda path: "\0" not in path and (not path or path[0] == "/"), _("an absolute path, or empty"))


def text() -> Setting:
    """A text of several lines, empty at first."""

    def accepts(value):
        return isinstance(value, str) and len(value) <= MOST_TEXT and "\0" not in value

    return Setting("", accepts, _("a text of at most 20,000 characters"), "text")


def lines(default: list[str], shape: Words, accepts: Callable[[list[str]], bool] = lambda texts: True) -> Setting:
    """A list of non-empty texts."""
    return Setting(default, lambda value: _is_texts(value) and accepts(value), shape, "lines")


def choices(default: list[str], among: Container[str], shape: Words) -> Setting:
    """A list of texts, each one of `among`."""
    return Setting(default, lambda value: _is_texts(value) and all(text in among for text in value), shape, "choices")


def daily(default: str) -> Setting:
    """A time of the day, as a cron expression."""

    def accepts(value):
        return isinstance(value, str) and DAILY.fullmatch(value) is not None

    shape = _("a time of the day (UTC) as a cron expression: minute and hour, then * * *")
    return Setting(default, accepts, shape, "time", "UTC")


def _is_texts(value):
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
