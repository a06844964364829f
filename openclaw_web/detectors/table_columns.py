"""Finds passwords and secrets in the columns of Markdown tables and of CSV."""

import re
from collections.abc import Iterator

from .placeholders import is_password, is_strong
from .scan_text import ScanText, compile_pattern
from .spans import PASSWORD, SECRET, Span

_PASSWORDS = (
    r"password|passwort|passwd|pwd|pw|pass|passphrase|psk|kennwort|contraseña|mot de passe|clave|登录密码|密码|口令"
)
_SECRETS = r"token|secret|api[ _-]?key|access[ _-]?key|client[ _-]?secret|密钥|令牌"
_CELLS = compile_pattern(rf"(?i)[,;\t|][ *`]{{0,4}}(?:{_PASSWORDS}|{_SECRETS})[ *`]{{0,4}}[\r\n,;\t|]")
_HEAD = re.compile(
    r"[^\n,;\t\"'(){}=:.|]{1,24}(?:,[^\n,;\t\"'(){}=:.|]{1,24}){1,12}|"
    r"[^\n,;\t\"'(){}=:.|]{1,24}(?:;[^\n,;\t\"'(){}=:.|]{1,24}){1,12}|"
    r"[^\n,;\t\"'(){}=:.|]{1,24}(?:\t[^\n,;\t\"'(){}=:.|]{1,24}){1,12}"
)
_PASSWORD_NAME = re.compile(rf"(?i)(?:{_PASSWORDS})\Z")
_NAME = re.compile(rf"(?i)(?:{_PASSWORDS}|{_SECRETS})\Z")
_LINE_BELOW_HEAD = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*")
_MIXED = re.compile(r"(?=.*\d)(?=.*[A-Za-z]).{6,}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_BLANKS = " \t*`\r"
MOST_ROWS, MOST_CHARS = 200, 2_000  # of a table, and of one of its lines


def find_table_values(text: ScanText) -> Iterator[Span]:
    """Yield the values below a head that names a password or secret."""
    place = 0
    for start, _end in text.find(_CELLS):
        if start >= place:
            head = text.text.rfind("\n", max(place, start - MOST_CHARS), start) + 1 or max(place, start - MOST_CHARS)
            stop = text.text.find("\n", start, start + MOST_CHARS)
            if stop < 0:
                return
            yield from _judge_table(text.text, head, stop)
            place = stop


def _judge_table(text, head, stop):
    first = text[head:stop]
    sign = "|" if "|" in first else re.search(r"[,;\t]", first)[0]
    if sign != "|" and not _HEAD.fullmatch(first.rstrip("\r")):
        return
    names = [cell.strip(_BLANKS) for cell in first.split(sign)]
    lines = _read_lines(text, stop + 1)
    if sign == "|" and not _LINE_BELOW_HEAD.fullmatch(next(lines)[1].rstrip()):
        return
    for start, line in lines:
        cells = line.split(sign)
        if len(cells) != len(names):
            return
        for number, name in enumerate(names):
            if _NAME.match(name) and (span := _judge_cell(cells, number, start, name)):
                yield span


def _judge_cell(cells, number, start, name):
    kind = PASSWORD if _PASSWORD_NAME.match(name) else SECRET
    value = cells[number].strip(_BLANKS)
    if not _is_value(value, kind):
        return None
    place = start + sum(len(cell) + 1 for cell in cells[:number]) + cells[number].index(value)
    return Span(place, place + len(value), kind, f"column-{kind}", 0.7)


def _is_value(value, kind):
    if kind == SECRET:
        return is_strong(value) and not _UUID.fullmatch(value)
    return bool(_MIXED.fullmatch(value)) and is_password(value, False)


def _read_lines(text, place):
    for _number in range(MOST_ROWS):
        end = text.find("\n", place, place + MOST_CHARS)
        stop = end if end >= 0 else min(len(text), place + MOST_CHARS)
        yield place, text[place:stop]
        if end < 0:
            return
        place = end + 1
