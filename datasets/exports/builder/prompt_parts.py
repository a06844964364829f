"""Stored prompts and tools as columns of rows.

Each is read, judged and encoded as JSON once.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace

import orjson

from artifacts import handles
from artifacts.errors import DamagedArtifact, NoSuchArtifact
from artifacts.store import blobs, layout
from ledger.collectors import placeholders

from ...exporters.formats.tools import UnknownForm
from ...exporters.markers import has_open
from ...exporters.prompts import (
    FLAGGED,
    LOST,
    SYSTEM,
    TOO_LONG,
    WITH_PLACEHOLDERS,
    Part,
    build_empty_part,
    build_system_part,
    build_tools_part,
)
from ...exporters.redaction import Redactor

MOST_BYTES = 16 * 1024 * 1024  # of a stored content; what is bigger is longer than any row may be
KEPT_CHARACTERS, KEPT_PARTS = 8_000_000, 256


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A stored content, by the number of its bytes."""

    bytes: int


class PartCache:
    """Columns of stored contents; the latest ones stay in memory.

    `characters`: a longer text is left out. Texts have the markers of `redactor`. `include_flagged`: an admin asked
    for contents with open findings of keys and passwords.
    """

    def __init__(self, characters: int, redactor: Redactor, *, include_flagged: bool):
        self.characters = characters
        self.redactor = redactor
        self.include_flagged = include_flagged
        self._cache: OrderedDict[tuple[str, str], Part] = OrderedDict()
        self._size = 0

    def get_part(self, column: str, handle: str, stored: StoredContent) -> Part:
        """The column that a content becomes; empty when the content is not fit for it."""
        key = (column, handle)
        if cached := self._cache.get(key):
            self._cache.move_to_end(key)
            return cached
        cached = self._cache[key] = self._build_fitting(column, handle, stored)
        self._size += len(cached.text)
        while len(self._cache) > 1 and (self._size > KEPT_CHARACTERS or len(self._cache) > KEPT_PARTS):
            self._size -= len(self._cache.popitem(last=False)[1].text)
        return cached

    def _build_fitting(self, column, handle, stored):
        if stored.bytes > MOST_BYTES:
            return build_empty_part(column, TOO_LONG)
        part = _read_part(column, handle, stored)
        return build_empty_part(column, TOO_LONG) if len(part.text) > self.characters else self.redact(column, part)

    def redact(self, column: str, part: Part) -> Part:
        """The column with markers; empty with an open key or password."""
        text = self.redactor.redact(part.text)
        if not self.include_flagged and has_open(text.encode(errors="surrogatepass")):
            return build_empty_part(column, FLAGGED)
        return replace(part, text=text)


def _read_part(column, handle, stored) -> Part:
    try:
        data = blobs.read_whole(layout.get_root(), handles.parse(handle), expected=stored.bytes)
    except (NoSuchArtifact, DamagedArtifact, handles.NotAHandle):
        return build_empty_part(column, LOST)
    return build_part(column, data)


def build_part(column: str, data: bytes) -> Part:
    """The column of a stored prompt or list of tools.

    Empty when the content is not whole, or of no known form.
    """
    try:
        text = data.decode("utf-8-sig")
        value = text if column == SYSTEM else orjson.loads(text)
        if why := placeholders.find_nested_placeholder(value):
            if column == SYSTEM and placeholders.has_only_runtime_values(text):
                return build_system_part(text, WITH_PLACEHOLDERS)
            return build_empty_part(column, why)
        return build_system_part(text) if column == SYSTEM else build_tools_part(value)
    except (UnicodeDecodeError, orjson.JSONDecodeError, UnknownForm):
        return build_empty_part(column, placeholders.UNKNOWN_FORM)
