"""Parses JSON5, the format of the configuration of OpenClaw and its plugins.

JSON5 allows comments, trailing commas, bare names and single quotes.

Such files hold keys of providers, and the parser's messages quote the text that it read. So only the line of a fault is
reported.
"""

import re
from typing import Any

import orjson
from django.utils.translation import gettext as _

DEPTH = 100
_PLACE = re.compile(r"near (\d+)")


class NotJson(Exception):
    """A text that is no JSON5. The message says why, and quotes nothing."""


def loads(data: bytes) -> Any:
    """The value of a JSON or JSON5 text in UTF-8. Raises NotJson."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass  # most files are plain JSON; others are tried as JSON5
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotJson(_("the text is not UTF-8")) from None
    import pyjson5  # 1 MB that most processes do not need

    try:
        return pyjson5.decode(text, DEPTH)
    except pyjson5.Json5DecoderException as exc:
        fault = _describe_fault(exc, text, is_deep=isinstance(exc, pyjson5.Json5NestingTooDeep))
    raise NotJson(fault)  # raised here, so that no traceback holds the text


def _describe_fault(exc, text, *, is_deep):
    if is_deep:
        return _("the text is nested more than %(most)s levels deep") % {"most": DEPTH}
    place = _PLACE.search(str(exc.args[0]))
    line = text.count("\n", 0, int(place[1])) + 1 if place else 1
    return _("the text is neither JSON nor JSON5 from line %(line)s on") % {"line": line}
