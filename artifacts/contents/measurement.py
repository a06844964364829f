"""Measures a content in the one pass in which it is stored."""

import codecs
import hashlib
from functools import cached_property

from . import content_types
from .secrets import Scan

HEAD, TAIL = 1024 * 1024, 16 * 1024


class Measure:
    """Hash, sizes, ends and secrets of a content that comes in chunks.

    `chars` are of UTF-8, bad bytes replaced.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._scan = Scan()
        self._chars = 0
        self.bytes = self.newlines = 0
        self.head = self.tail = b""

    def feed(self, chunk: bytes) -> None:
        """Measure the next chunk."""
        self._hash.update(chunk)
        self._scan.feed(chunk)
        self._chars += len(self._decoder.decode(chunk))
        self.bytes += len(chunk)
        self.newlines += chunk.count(b"\n")
        if len(self.head) < HEAD:
            self.head += chunk[: HEAD - len(self.head)]
        self.tail = chunk[-TAIL:] if len(chunk) >= TAIL else (self.tail + chunk)[-TAIL:]

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    @cached_property
    def chars(self) -> int:
        """The number of characters, once all chunks were fed."""
        return self._chars + len(self._decoder.decode(b"", final=True))

    @property
    def lines(self) -> int:
        """The number of lines; the last one need not end with a line break."""
        return self.newlines + (self.bytes > 0 and not self.tail.endswith(b"\n"))

    @cached_property
    def content_type(self) -> str:
        """The type of the content, once all chunks were fed."""
        return content_types.guess(self.head, self.tail, is_whole=self.bytes <= HEAD)

    @property
    def secret_kinds(self) -> list[str]:
        return self._scan.kinds


def measure_content(content: bytes) -> Measure:
    """The measure of a content that is in memory."""
    measured = Measure()
    measured.feed(content)
    return measured
