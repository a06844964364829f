"""A converter for parts of addresses, which Django lacks."""

import re

from django.urls import register_converter

# A browser removes `..` and the part before it from an address, so a link would lead to another page.
DOTS = re.compile(r"(?<![^/])(~*\.{1,2})(?![^/])")
ESCAPED = re.compile(r"(?<![^/])~(~*\.{1,2})(?![^/])")


class Anything:
    """Any name that OpenClaw or a transcript uses, slashes included."""

    regex = r"[\s\S]+"

    def to_python(self, value):
        return ESCAPED.sub(r"\1", value)

    def to_url(self, value):
        # Pieces `.` and `..` become `~.` and `~..`.
        return DOTS.sub(r"~\1", str(value))


register_converter(Anything, "anything")
