"""Quotes texts for unit files (man systemd.syntax), so that systemd reads exactly the same text again."""

import re
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

# A unit file is UTF-8 text, and a setting ends with its line.
_UNFIT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class NotQuotable(Refused):
    """A text that no unit file can hold."""


def quote_word(text: str | Path) -> str:
    """Quote a word of a list: of `Environment=`, or of the settings that list paths."""
    escaped = _check_text(str(text)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_escape_specifiers(escaped)}"'


def quote_program(path: Path) -> str:
    """Quote the first word of `ExecStart=`.

    The colon turns off the variables (`$`) of the whole line.

    Raises NotQuotable for a path that systemd does not start, however it is quoted.
    """
    if set(str(path)) & set("\"'\\"):
        sentence = _("systemd starts no program with quotation marks or backslashes in its path: %(file)s")
        raise NotQuotable(sentence % {"file": path})
    return quote_word(f":{path}")


def quote_file_pattern(path: Path) -> str:
    """Quote the file of `EnvironmentFile=`.

    That setting has no quotation marks, and its value is a pattern as in a shell.
    """
    return _escape_specifiers(re.sub(r"([\\*?\[])", r"\\\1", _check_text(str(path))))


def _escape_specifiers(text):
    return text.replace("%", "%%")


def _check_text(text):
    if _UNFIT.search(text):
        escaped = text.encode("unicode_escape", "backslashreplace").decode()
        sentence = _("A unit file cannot hold %(text)s: only UTF-8 text without line breaks and control characters.")
        raise NotQuotable(sentence % {"text": escaped})
    return text
