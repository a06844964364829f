"""Where the value of an assignment begins and ends: quoted, bare, in JSON."""

import re

from .json_layers import BREAK, KEY_BREAK

QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "「": "」", "‘": "’", "『": "』", "”": "”"}
_BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENING = re.compile(r"[ \t*]*(?:[rbfu]{0,2}(?=[\"']))?([\"'`“「‘『”]?)(?:[ \t]*)", re.IGNORECASE)
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|bot|digest)[ \t]+")
# An assignment within an argument: `--from-literal=secret=...`.
_INNER = re.compile(r"(?i)[\"']?[a-z_-]*(?:password|passwd|secret|token|key)=(?=.{4})")
_BARE = re.compile(r"[!#-&(-_a-~]{1,256}")
# What ends a bare value: the next pair of a list, the end of an attribute; in queries and connection strings a sign.
_CUT = re.compile(r"[,;]\s*\w+[=:]|&(?:amp;)?[\w.-]+=|[;,]\Z|\\+\Z|</|;(?=.*;)")
_BRACKET = re.compile(r"[)\]}>]")
_CUT_QUERY, _CUT_CONNECTION = re.compile(r"[&#]|,\w+=|</"), re.compile(r";")
MOST_CHARS = 256


def find_value(text, place, separator):
    """Start and end of a value after a separator, and whether it is quoted.

    Both are equal where there is no value. `separator`: the text before; a quote at its end
    belongs to the value.
    """
    if separator.endswith(KEY_BREAK):
        end = text.find(BREAK, place, place + MOST_CHARS)
        return place, end, True
    if separator[-1:] in QUOTES:
        place -= 1
    opening = _OPENING.match(text, place)
    scheme = _SCHEME.match(text, opening.end())
    start = scheme.end() if scheme else opening.end()
    if opening[1]:
        end = text.find(QUOTES[opening[1]], start, start + MOST_CHARS)
        if end < 0 or "\n" in text[start:end] or text[end - 1 : end] == "\\":
            return start, start, True
        return start, end, True
    match = _BARE.match(text, start)
    return (start, match.end(), False) if match else (start, start, False)


def narrow_value(text, name_start, start, end, is_quoted):
    """Start and end of a value without what follows it in queries, lists and sentences."""
    if inner := _INNER.match(text, start, end):
        start = inner.end()
    value = text[start:end]
    if is_quoted:
        return start + len(value) - len(value.lstrip()), start + len(value.rstrip())
    before = text[max(0, name_start - 1) : name_start]
    cut = (_CUT_QUERY if before in ("?", "&") else _CUT_CONNECTION if before == ";" else _CUT).search(value)
    value = value[: cut.start()] if cut else value
    value = value[: _find_unopened(value)].rstrip(".,;:?*|")
    return start, start + len(value)


def _find_unopened(value):
    """The place of the first closing bracket that nothing opens; else the length."""
    if not _BRACKET.search(value):
        return len(value)
    opened = []
    for place, char in enumerate(value):
        if char in _BRACKETS:
            opened.append(_BRACKETS[char])
        elif char in ")]}>" and (not opened or opened.pop() != char):
            return place
    return len(value)
