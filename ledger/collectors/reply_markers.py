"""Takes out of a reply the markers that OpenClaw acts on and nobody receives: MEDIA lines, reply and voice tags.

They are those of utils/directive-tags and media/parse-output in the npm package `openclaw` (2026.9.6). Code keeps them,
as OpenClaw leaves it. The time is linear in the length of the text. Pure: no Django, no files.
"""

import re
from bisect import bisect

# The last two, without their end, only at the beginning of a reply.
TAG = re.compile(
    r"(?i)(?:\A[\t ]*+)?\[\[\s*+(?:audio_as_voice|reply_to_current|reply_to\s*+:[^\]\n]{1,1000}+)\s*+\]\]"
    r"|\A[\t ]*\[\[\s*+reply_to_current(?:[\t ]*\](?!\])|(?=[\t ]+\S)|\s*+\Z)[\t ]*"
    r"|\A[\t ]*\[\[\s*+reply_to\s*+:(?:[^\]\r\n]{0,1000}+\](?!\])|\s*+\Z)[\t ]*"
)
MEDIA = re.compile(r"(?i)\s*MEDIA:\s*`?(.+)")
FILE_URL = re.compile(r"(?i)^file:(?://)?")
URL = re.compile(
    r"(?i)https://(?!(?:[^/?#:]*\.)?(?:localhost|localdomain|local|internal)\.?(?:[/?#:]|$))"
    r"[\w.-]{1,250}\.[a-z]{2,63}\.?(?:[:/?#]\S*)?"
)
EXTENSION, SCHEME = re.compile(r"\.\w{1,10}$"), re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
SLASH, ROOT = re.compile(r"[\\/]"), re.compile(r"[A-Za-z]:[\\/]|[/~]|\.{1,2}[\\/]|\\\\")
UPWARDS = re.compile(r"~(?![\\/])|(?:.*[\\/])?\.\.(?:[\\/]|$)")  # such files are not attached
FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
INDENTED, TICKS = re.compile(r"(?: {4}| {0,3}\t)\s*\S"), re.compile(r"`+")
WIDE_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
EMPTY_START = re.compile(r"\A(?:[ \t]*+\n)+")
LINE_END = re.compile(r"(?<![ \t])[ \t]+\n")
MARK = "\ue000"  # stands for code while a text is cleaned; a text that has it is left as it is
SIGNS = ("[[", "edia:", "EDIA:")  # a reply without any has no marker


def strip_markers(text: str) -> tuple[str, int]:
    """A reply as a person receives it, and how many files its MEDIA lines attach."""
    files = 0
    if any(sign in text for sign in SIGNS[1:]):
        text, files = _strip_media(text)
    if "[[" in text and (tags := [*TAG.finditer(text)]):
        code, parts, end = _find_code(text), [], 0
        for tag in tags:
            if not _is_inside(text.index("[[", tag.start()), code):
                before, after = text[max(tag.start() - 1, 0) : tag.start()], text[tag.end() : tag.end() + 1]
                is_between_words = before.strip() and after.strip()
                parts += [text[end : tag.start()], " " if is_between_words else ""]
                end = tag.end()
        text = _clean("".join([*parts, text[end:]])) if parts else text
    return text, files


def _strip_media(text):
    lines, files, at, is_changed = [], 0, 0, False
    blocks = _find_blocks(text)
    for line in text.rstrip().split("\n"):
        match = MEDIA.match(line)
        media = _read_media(match[1]) if match and not _is_inside(at, blocks) else None
        at += len(line) + 1
        if media is None:
            lines.append(line)
            continue
        is_changed = True
        files += media[0]
        lines += [media[1]] if media[1] else []
    return (_clean(EMPTY_START.sub("", "\n".join(lines))), files) if is_changed else (text, 0)


def _read_media(payload):
    """The number of files that a MEDIA line attaches, and its other words; None of a usual line."""
    path = _unwrap(payload.strip())
    if ROOT.match(path) or (SLASH.search(path) and not SCHEME.match(path)):  # its name may have blanks
        return (0 if UPWARDS.match(path) else 1), ""
    tokens = payload.split()
    others = [token for token in tokens if not _is_source(_unwrap(token))]
    if len(others) < len(tokens):
        return len(tokens) - len(others), " ".join(others)
    return (1, "") if EXTENSION.search(_unwrap(payload)) and not SCHEME.match(path) else None


def _unwrap(part):
    return FILE_URL.sub("", part.lstrip("`\"'[{(").rstrip("`\"'\\})],"))


def _is_source(token):
    """Whether one word of a MEDIA line is an address or the path of a file."""
    if token.lower().startswith(("http://", "https://")):
        return URL.fullmatch(token) is not None
    return not SCHEME.match(token) and SLASH.search(token) is not None


def _clean(text):
    """A text without the blanks and empty lines that a marker left behind; code stays as it is."""
    if MARK in text:
        return text.strip()
    code = [text[start:end] for start, end in _find_code(text)]
    pieces, end = [], 0
    for start, stop in _find_code(text):
        pieces.append(text[end:start])
        end = stop
    masked = MARK.join([*pieces, text[end:]]).replace("\r\n", "\n")
    masked = re.sub(r"\n{3,}", "\n\n", LINE_END.sub("\n", WIDE_GAP.sub(" ", masked))).strip()
    first, *rest = masked.split(MARK)
    return "".join([first, *(part for pair in zip(code, rest, strict=True) for part in pair)])


def _is_inside(place, spans):
    number = bisect(spans, place, key=lambda span: span[0])
    return number > 0 and place < spans[number - 1][1]


def _find_blocks(text):
    """Where blocks of code begin and end: those between fences, and indented lines after an empty one."""
    spans, at, fence, opened, is_empty = [], 0, "", 0, True
    for line in text.split("\n"):
        end, match = at + len(line), FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                spans.append((opened, end))
                fence = ""
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence, opened = match[1], at + match.start(1)
        elif is_empty and INDENTED.match(line):
            spans.append((at, end))
        is_empty = not line.strip() or (not fence and bool(spans) and spans[-1] == (at, end))
        at = end + 1
    return [*spans, (opened, len(text))] if fence else spans


def _find_code(text):
    """Blocks of code, and code within a line, in their order."""
    spans, at = [], 0
    for start, stop in [*_find_blocks(text), (len(text), len(text))]:
        for paragraph in re.finditer(r"(?:[^\n]++\n?)++", text[at:start]):
            spans += _find_inline(text, at + paragraph.start(), at + paragraph.end())
        spans += [(start, stop)] if stop > start else []
        at = stop
    return spans


def _find_inline(text, start, stop):
    runs = [match.span() for match in TICKS.finditer(text, start, stop)]
    last = {end - begin: number for number, (begin, end) in enumerate(runs)}
    spans, number = [], 0
    while number < len(runs):
        begin, size = runs[number][0], runs[number][1] - runs[number][0]
        close = number + 1
        if last[size] > number:
            while runs[close][1] - runs[close][0] != size:
                close += 1
            spans.append((begin, runs[close][1]))
            number = close
        number += 1
    return spans
