"""What a setting is, and the shapes that several share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Key:
    """One setting: its default, what it must look like, and what it does, in words.

    `field` is the field of the page that fits it: switch, number (with `least` and `most`), choices, lines, line, text
    or time. `unit` stands beside that field. `after` is what there is to do once it has been changed.
    """

    default: Any
    accepts: Callable[[Any], bool]
    shape: Any
    field: str
    label: Any
    help: Any
    unit: Any = ""
    least: int | None = None
    most: int | None = None
    after: Any = ""


def number(default, least, most, **words):
    return Key(
        default,
        lambda value: type(value) is int and least <= value <= most,
        format_lazy(_("a whole number from {least} to {most}"), least=least, most=most),
        "number",
        least=least,
        most=most,
        **words,
    )


def switch(default, **words):
    return Key(default, lambda value: isinstance(value, bool), _("true or false"), "switch", **words)


def is_texts(value: Any) -> bool:
    """Whether a value is a list of texts that are not empty."""
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
