"""Compiles regular expressions of users so that they match in linear time (RE2).

The time grows with the text only, for any expression.
"""

import re

import re2
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..errors import WrongSelector

MAX_PATTERN = 500
# `\C`, any one byte, is the only thing in RE2 that crosses the end of a line whatever the options say: each of many
# lines would be searched to the end of the content.
MAX_REPEAT = 100  # each of them is a state: with many, RE2 falls back to a walk through all of them at every byte
MAX_SIZE = 3_000  # instructions: repeats within repeats multiply, and each may be walked through at every byte
MEMORY = 8 * 1024 * 1024
_BEYOND = ("invalid perl operator", "invalid escape sequence")  # RE2's words for look-around and back-references
_REPEAT = re.compile(r"(?<!\\)\{(?:\d*,)?(\d{3,})(?:,\d*)?\}")
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")


def compile_pattern(pattern: str, *, ignore_case: bool = False, longest: int = MAX_PATTERN, memory: int = MEMORY):
    """An expression that matches within a line.

    Raises Refused for one that RE2 does not know or that is too big.
    """
    if not pattern or len(pattern) > longest:
        raise WrongSelector(_("A pattern must have 1 to %(most)s characters.") % {"most": longest})
    if _ANY_BYTE.search(pattern):
        raise WrongSelector(_("A pattern matches characters: \\C (any byte) is not supported."))
    if any(int(count) > MAX_REPEAT for count in _REPEAT.findall(pattern)):
        raise Refused(_("A pattern can repeat something at most %(most)s times.") % {"most": MAX_REPEAT})
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = not ignore_case
    options.max_mem = memory
    try:
        re2.compile(pattern, options)  # alone, so that no bracket of it can close ours
        expression = re2.compile(f"(?m:{pattern})", options)
    except re2.error as exc:
        reason = exc.args[0].decode("utf-8", "replace") if exc.args and isinstance(exc.args[0], bytes) else str(exc)
        raise WrongSelector(_describe_problem(reason)) from exc
    except UnicodeEncodeError as exc:
        raise WrongSelector(_("This pattern contains an incomplete character.")) from exc
    if expression.programsize > MAX_SIZE:
        raise Refused(
            _(
                "This pattern is too large: use fewer repetitions, and \\pL (a letter of any language) only once "
                "or twice."
            )
        )
    return expression


def _describe_problem(reason):
    words = {"reason": reason}
    if reason.startswith(_BEYOND):
        return _("This pattern cannot be used: %(reason)s. Look-around and back-references are not supported.") % words
    return _("This pattern cannot be used: %(reason)s.") % words
