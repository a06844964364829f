"""Stored prompts and tools as columns of rows.

Each is read, judged and encoded as JSON once.
"""

from collections import OrderedDict
from dataclasses import dataclass

import orjson

from artifacts import handles
from artifacts.contents import secret_flags
from artifacts.errors import DamagedArtifact, NoSuchArtifact
from artifacts.store import blobs, layout
from ledger.collectors import placeholders

from ...exporters.changes import OUTPUT_FLAGGED
from ...exporters.formats.tools import UnknownForm
from ...exporters.prompts import (
    FLAGGED,
    LOST,
    SYSTEM,
    TOO_LONG,
    Part,
    build_empty_part,
    build_system_part,
    build_tools_part,
)

MOST_BYTES = 16 * 1024 * 1024  # of a stored content; what is bigger is longer than any row may be
KEPT_CHARACTERS, KEPT_PARTS = 8_000_000, 256


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A stored content: its bytes, and the kinds of secrets found in it, as JSON."""

    bytes: int
    secret_kinds: str


class PartCache:
    """Columns of stored contents; the latest ones stay in memory.

    `characters`: a longer text is left out. `kinds`: of secrets that flag a content. `include_flagged`: an admin asked
    for contents that may hold secrets.
    """

    def __init__(self, characters: int, kinds: frozenset[str], *, include_flagged: bool):
        self.characters = characters
        self.kinds = kinds
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
        is_flagged = secret_flags.is_flagged(stored.secret_kinds, self.kinds)
        if is_flagged and not self.include_flagged:
            return build_empty_part(column, FLAGGED)
        if stored.bytes > MOST_BYTES:
            return build_empty_part(column, TOO_LONG)
        part = _read_part(column, handle, stored)
        if len(part.text) > self.characters:
            return build_empty_part(column, TOO_LONG)
        if is_flagged and not part.left_out:
            return Part(part.text, names=part.names, changes=frozenset({OUTPUT_FLAGGED}))
        return part


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
            return build_empty_part(column, why)
        return build_system_part(text) if column == SYSTEM else build_tools_part(value)
    except (UnicodeDecodeError, orjson.JSONDecodeError, UnknownForm):
        return build_empty_part(column, placeholders.UNKNOWN_FORM)
