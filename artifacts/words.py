"""Texts for values of artifacts, in templates and sentences.

Formatting only: no queries.
"""

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from people.configuration.catalogue import SECRET_KINDS

from .contents import content_types

OUTPUT = "tool_output"
# Kinds that this site stores; other programs name the kinds that they store.
KIND_WORDS = {
    OUTPUT: gettext_lazy("Tool output"),
    "checkpoint": gettext_lazy("Checkpoint"),
    "system_prompt": gettext_lazy("System prompt"),
    "tool_schemas": gettext_lazy("Tool schemas"),
    "page": gettext_lazy("Web page"),
    "gate_response": gettext_lazy("Response of the gate's model"),
}
CONTENT_WORDS = {
    content_types.TEXT: gettext_lazy("Text"),
    content_types.JSON: "JSON",
    content_types.JSON_LINES: gettext_lazy("JSON lines"),
    content_types.HTML: gettext_lazy("Web page"),
    content_types.PDF: gettext_lazy("PDF document"),
    content_types.BINARY: gettext_lazy("Binary data"),
    "application/gzip": gettext_lazy("gzip archive"),
    "application/vnd.sqlite3": gettext_lazy("SQLite database"),
    "application/zip": gettext_lazy("ZIP archive"),
    "image/gif": gettext_lazy("GIF image"),
    "image/jpeg": gettext_lazy("JPEG image"),
    "image/png": gettext_lazy("PNG image"),
}


def secret_word(kind):
    """`aws_key` as “AWS key”; an unknown kind as it is."""
    return SECRET_KINDS.get(kind, kind)


def artifact_word(kind):
    """`tool_output` as “Tool output”; another kind by the name that it was stored with."""
    return str(KIND_WORDS.get(kind) or capfirst(kind.replace("_", " ")))


def content_word(content_type):
    """`text/html` as “Web page”."""
    return str(CONTENT_WORDS.get(content_type) or _("File of type %(type)s") % {"type": content_type})


WORDS = (secret_word, artifact_word, content_word)
FILTERS = {function.__name__: function for function in WORDS}
