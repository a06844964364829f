"""Compressed bytes in a database row: packed with zstd, unpacked with a limit."""

import hashlib
import threading

import zstandard
from django.utils.translation import gettext as _

from ..errors import Refused

LEVEL = 3
MAX_BYTES = 256 * 1024 * 1024

_packer = zstandard.ZstdCompressor(level=LEVEL)


class _Unpacker(threading.local):
    """The decompressor of a thread: creating one takes longer than a small text."""

    def __init__(self):
        self.decompress = zstandard.ZstdDecompressor().decompress


_unpacker = _Unpacker()


def pack(data: bytes) -> bytes:
    """Compress bytes with zstd; the frame says how long they are."""
    return _packer.compress(data)


def unpack(packed: bytes, *, limit: int = MAX_BYTES, sha256: str = "") -> bytes:
    """Decompress the result of `pack`.

    Raises Refused for damaged bytes, for more than `limit` bytes, and for another hash than `sha256`.
    """
    try:
        size = zstandard.frame_content_size(packed)
        if size < 0 or size > limit:
            raise Refused(_("A stored record is damaged: its packed size is not possible."))
        data = _unpacker.decompress(packed, max_output_size=limit)
        if sha256 and hashlib.sha256(data).hexdigest() != sha256:
            raise Refused(_("A stored record is damaged and cannot be unpacked."))
        return data
    except zstandard.ZstdError as exc:
        raise Refused(_("A stored record is damaged and cannot be unpacked.")) from exc
