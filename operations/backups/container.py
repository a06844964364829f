"""Writes a backup file: a tar archive in separately readable zstd parts.

Every database is a part; then come all other files, the list of them, and the manifest. The last 20 bytes are a frame
that zstd skips: it says where the manifest begins. `tar --zstd -x` reads such an archive as any other.
"""

import hashlib
import struct
import tarfile
from collections.abc import Iterable
from typing import BinaryIO

import zstandard
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

LEVEL, PACKED_LEVEL = 3, -5  # what is compressed already gets no smaller
THREADS = 2
CHUNK = 1024 * 1024
BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
TRAILER = struct.Struct("<II4sQ")  # as zstd has it: a magic number and a length; ours: a word and an offset
SKIPPED, WORD = 0x184D2A50, b"OCWB"


class Writer:
    """Writes the members of a backup file in order.

    `sha256` is the hash of everything written so far.
    """

    def __init__(self, file: BinaryIO):
        self._file = file
        self._digest = hashlib.sha256()
        self._packed: zstandard.ZstdCompressionWriter | None = None
        self._packers = {level: _create_packer(level) for level in (LEVEL, PACKED_LEVEL)}
        self.offset = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def begin_part(self, *, is_packed: bool = False) -> int:
        """End the current part and begin another; returns its offset."""
        self.end_part()
        self._packed = self._packers[PACKED_LEVEL if is_packed else LEVEL].stream_writer(self, closefd=False)
        return self.offset

    def end_part(self) -> None:
        """End the current part, so that it can be read from the file."""
        if self._packed:
            self._packed.flush(zstandard.FLUSH_FRAME)
            self._packed = None
            self._file.flush()

    def add(self, name: str, size: int, chunks: Iterable[bytes], *, is_last: bool = False) -> str:
        """Add a member of `size` bytes; returns its sha256.

        Raises Refused when `chunks` have more or fewer bytes than `size`.
        """
        header = tarfile.TarInfo(name)
        header.size, header.mode = size, 0o600
        digest, written = hashlib.sha256(), 0
        if self._packed is None:
            raise RuntimeError("begin a part first")
        self._packed.write(header.tobuf(tarfile.GNU_FORMAT))
        for chunk in chunks:
            digest.update(chunk)
            written += len(chunk)
            self._packed.write(chunk)
        if written != size:
            raise Refused(_("%(path)s changed while it was being read. Try again.") % {"path": name})
        self._packed.write(bytes(-size % BLOCK) + (END if is_last else b""))
        return digest.hexdigest()

    def finish(self, manifest_offset: int) -> None:
        """End the last part and write the trailer, which holds the offset of the manifest."""
        self.end_part()
        self.write(TRAILER.pack(SKIPPED, TRAILER.size - 8, WORD, manifest_offset))

    def write(self, data: bytes) -> int:
        """Write packed bytes; the packer calls this."""
        self._digest.update(data)
        self._file.write(data)
        self.offset += len(data)
        return len(data)


def read_chunks(file: BinaryIO) -> Iterable[bytes]:
    """Yield the content of a file in chunks."""
    while data := file.read(CHUNK):
        yield data


def _create_packer(level):
    return zstandard.ZstdCompressor(level=level, threads=THREADS, write_checksum=True)
