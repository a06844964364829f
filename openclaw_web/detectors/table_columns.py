"""Finds passwords and secrets in the columns of Markdown tables and of CSV."""

import re
from collections.abc import Iterator

from .placeholders import DIGIT_AND_LETTER, UUID, is_password, is_strong
from .scan_text import ScanText, compile_pattern, finder
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
_NAME = re.compile(rf"(?i)(?:(?P<password>{_PASSWORDS})|{_SECRETS})\Z")
_LINE_BELOW_HEAD = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*")
_BLANKS = " \t*`\r"
MOST_CHARS = 2_000  # of a line of a table


@finder(_CELLS)
def find_table_values(text: ScanText) -> Iterator[Span]:
    """Yield the values below a head that names a password or secret; each line is read once."""
    place = 0
    for start, _end in text.find(_CELLS):
        if start >= place:
            head = text.text.rfind("\n", max(place, start - MOST_CHARS), start) + 1 or max(place, start - MOST_CHARS)
            stop = text.text.find("\n", start, start + MOST_CHARS)
            if stop < 0:
                return
            place = yield from _judge_table(text.text, head, stop)


def _judge_table(text, head, stop):
    """Yield the values of a table; return the end of its last line."""
    first = text[head:stop]
    sign = "|" if "|" in first else re.search(r"[,;\t]", first)[0]
    if sign != "|" and not _HEAD.fullmatch(first.rstrip("\r")):
        return stop
    lines = _read_lines(text, stop + 1)
    if sign == "|" and not _LINE_BELOW_HEAD.fullmatch(next(lines)[1].rstrip()):
        return stop
    names = first.split(sign)
    columns = _find_columns(names)
    for start, line in lines:
        cells = line.split(sign)
        if len(cells) != len(names):
            break
        place = start
        for number, cell in enumerate(cells):
            if number in columns and (span := _judge_cell(cell, place, columns[number])):
                yield span
            place += len(cell) + 1
        if sign != "|":
            columns |= _find_columns(cells)  # a line of a file can be the head of those below
        stop = start + len(line)
    return stop


def _find_columns(cells):
    """The kind of the values in each column whose name says so."""
    names = ((number, _NAME.match(cell.strip(_BLANKS))) for number, cell in enumerate(cells))
    return {number: PASSWORD if match["password"] else SECRET for number, match in names if match}


def _judge_cell(cell, place, kind):
    value = cell.strip(_BLANKS)
    if kind == SECRET:
        is_value = is_strong(value) and not UUID.fullmatch(value)
    else:
        is_value = DIGIT_AND_LETTER.fullmatch(value) and is_password(value, False)
    if not is_value:
        return None
    place += cell.index(value)
    return Span(place, place + len(value), kind, f"column-{kind}", 0.7)


def _read_lines(text, place):
    end = place
    while end >= 0:
        end = text.find("\n", place, place + MOST_CHARS)
        yield place, text[place : end if end >= 0 else place + MOST_CHARS]
        place = end + 1
