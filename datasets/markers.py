"""Markers that stand for redacted values, until the line of a row has numbered tokens.

A marker is nine private-use characters: four that this process drew by lot, so that no text can hold them, one for the
kind, and four for a keyed hash of the value. It is written to no file. JSON and CSV keep it as it is, at any depth.
"""

import re
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from openclaw_web.detectors.spans import CUSTOM, KINDS, NOT_FULLY_SCANNED

Changes = frozenset[str]  # names of changes of a row: see exports.changes
NO_CHANGES: Changes = frozenset()
REDACTED = "redacted"
OPEN_FINDINGS = "open_findings"  # of a key or a password: a row with one is written when an admin asked for it
FIRST, CHARACTERS = 0xE000, 6_400  # private-use characters of the basic plane, each three bytes in UTF-8
HASHED = 4  # characters: 50 bits
KEY = secrets.token_bytes(32)
SIGN = "".join(chr(FIRST + secrets.randbelow(CHARACTERS)) for _ in range(4))
SIGN_BYTES = SIGN.encode()
LENGTH = len(SIGN) + 1 + HASHED
MARKER = re.compile(f"{SIGN}(.)(.{{{HASHED}}})", re.DOTALL)
MARKER_BYTES = re.compile(re.escape(SIGN_BYTES) + rb"(.{3})(.{%d})" % (3 * HASHED), re.DOTALL)
TOKENS = {kind: f"{kind.upper()}_" for kind in KINDS}
# A token in a file, for pages that mark it: `[EMAIL_1]`.
TOKEN = re.compile(rf"\[(?:{'|'.join(kind.upper() for kind in KINDS)})_[1-9][0-9]*\]")


def build_marker(kind: str, identity: str, *, is_open: bool = False) -> str:
    """The marker of a value.

    `identity` is the same text for the same value of a kind. `is_open`: nobody judged the finding, and rows with it
    are left out.
    """
    number = int.from_bytes(blake2b(identity.encode(errors="surrogatepass"), key=KEY, digest_size=8).digest())
    characters = [chr(FIRST + 2 * KINDS.index(kind if kind in KINDS else CUSTOM) + is_open)]
    for _place in range(HASHED):
        number, rest = divmod(number, CHARACTERS)
        characters.append(chr(FIRST + rest))
    return SIGN + "".join(characters)


def has_marker(text: str | bytes) -> bool:
    """Whether a text, or its bytes in UTF-8, has a marker."""
    return SIGN_BYTES in text if isinstance(text, bytes) else SIGN in text


def has_unscanned(text: str) -> bool:
    """Whether a text has the marker of a text that was not fully scanned."""
    return SIGN in text and any(_read_kind(match[1])[0] == NOT_FULLY_SCANNED for match in MARKER.finditer(text))


def has_open(line: bytes) -> bool:
    """Whether a line has a marker of an open finding that leaves its row out."""
    return has_marker(line) and any(_read_kind(match[1].decode())[1] for match in MARKER_BYTES.finditer(line))


def replace_by_kinds(text: str) -> str:
    """The text with the name of its kind in place of each marker, such as `[EMAIL]`."""
    return MARKER.sub(lambda match: f"[{_read_kind(match[1])[0].upper()}]", text) if SIGN in text else text


def cut_before_marker(text: str, length: int) -> int:
    """The length, at most `length`, to cut a text to without cutting a marker."""
    start = text.rfind(SIGN, max(0, length - LENGTH + 1), length + len(SIGN) - 1)
    return start if 0 <= start < length < start + LENGTH else length


class TokenNumbers:
    """Numbers the tokens of one row, by kind in the order of their first appearance.

    The same value has the same token throughout the row. `places` counts the tokens by kind.
    """

    __slots__ = ("_counts", "_line", "_tokens", "has_open", "places")

    def __init__(self) -> None:
        # Plain dictionaries: each row has such numbers, and most rows have no token.
        self.places: defaultdict[str, int] = defaultdict(int)
        self.has_open = False
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._tokens: dict[tuple[str, bytes], bytes] = {}
        self._line = b""

    @property
    def changes(self) -> Changes:
        """The changes to name for the row."""
        if not self.places:
            return NO_CHANGES
        unscanned = {NOT_FULLY_SCANNED} & self.places.keys()
        return frozenset({REDACTED, *unscanned, *({OPEN_FINDINGS} if self.has_open else ())})

    def encode(self, line: bytes) -> bytes:
        """The line with a token in place of each marker. Nothing else of it changes."""
        return self.encode_parts([line])[0]

    def encode_parts(self, parts: Sequence[bytes]) -> list[bytes]:
        """The parts of a line, each with a token in place of each marker."""
        if not any(SIGN_BYTES in part for part in parts):
            return list(parts)
        self._line = b"".join(parts)
        return [MARKER_BYTES.sub(self._replace, part) for part in parts]

    def encode_cells(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The cells of a table, which are numbered as one line."""
        texts = {name: value for name, value in row.items() if isinstance(value, str)}
        encoded = self.encode_parts([text.encode() for text in texts.values()])
        return {**row, **dict(zip(texts, map(bytes.decode, encoded), strict=True))}

    def _replace(self, match):
        kind, is_open = _read_kind(match[1].decode())
        self.has_open |= is_open
        self.places[kind] += 1
        key = (kind, match[2])
        if key not in self._tokens:
            self._tokens[key] = self._build_token(kind)
        return self._tokens[key]

    def _build_token(self, kind):
        """The next token of a kind that nobody wrote into the line."""
        while True:
            self._counts[kind] += 1
            token = f"[{TOKENS[kind]}{self._counts[kind]}]".encode()
            if token not in self._line:
                return token


def _read_kind(character):
    index, is_open = divmod(ord(character) - FIRST, 2)
    return (KINDS[index] if index < len(KINDS) else CUSTOM), bool(is_open)
