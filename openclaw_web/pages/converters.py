"""Parts of addresses that Django has no converter for."""

import re

from django.urls import register_converter

# A browser takes `..` in an address away together with what stands before it: a button would lead to another page.
DOTS = re.compile(r"(?<![^/])(~*\.{1,2})(?![^/])")
ESCAPED = re.compile(r"(?<![^/])~(~*\.{1,2})(?![^/])")


def without_dots(name: str) -> str:
    """A name for an address, in which no piece between slashes is `.` or `..`: they are `~.` and `~..`."""
    return DOTS.sub(r"~\1", name)


class Anything:
    """Whatever OpenClaw or a transcript calls it, slashes included."""

    regex = r"[\s\S]+"

    def to_python(self, value):
        return ESCAPED.sub(r"\1", value)

    def to_url(self, value):
        return without_dots(str(value))


register_converter(Anything, "anything")
