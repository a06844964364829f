"""Parts of addresses that Django has no converter for."""

from django.urls import register_converter


class Anything:
    """Whatever OpenClaw or a transcript calls it, slashes included."""

    regex = r"[\s\S]+"

    def to_python(self, value):
        return value

    def to_url(self, value):
        return str(value)


register_converter(Anything, "anything")
