"""Writing an archive: a tar file, packed with zstd in parts that can be read on their own.

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
    """The members of an archive, one after the other. `sha256` is that of everything written so far."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._digest = hashlib.sha256()
        self._packed: zstandard.ZstdCompressionWriter | None = None
        self._packers = {level: _packer(level) for level in (LEVEL, PACKED_LEVEL)}
        self.offset = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def begin_part(self, *, is_packed: bool = False) -> int:
        """End the part before and begin another one; where it begins."""
        self.end_part()
        self._packed = self._packers[PACKED_LEVEL if is_packed else LEVEL].stream_writer(self, closefd=False)
        return self.offset

    def end_part(self) -> None:
        """End the part, so that it can be read out of the file."""
        if self._packed:
            self._packed.flush(zstandard.FLUSH_FRAME)
            self._packed = None
            self._file.flush()

    def add(self, name: str, size: int, chunks: Iterable[bytes], *, is_last: bool = False) -> str:
        """Add a member of `size` bytes; its sha256. Raises Refused when there are more or fewer bytes."""
        about = tarfile.TarInfo(name)
        about.size, about.mode = size, 0o600
        digest, seen = hashlib.sha256(), 0
        if self._packed is None:
            raise RuntimeError("begin a part first")
        self._packed.write(about.tobuf(tarfile.GNU_FORMAT))
        for chunk in chunks:
            digest.update(chunk)
            seen += len(chunk)
            self._packed.write(chunk)
        if seen != size:
            raise Refused(_("%(path)s changed while it was being read. Try again.") % {"path": name})
        self._packed.write(bytes(-size % BLOCK) + (END if is_last else b""))
        return digest.hexdigest()

    def finish(self, manifest_offset: int) -> None:
        """End the last part and say where the manifest is."""
        self.end_part()
        self.write(TRAILER.pack(SKIPPED, TRAILER.size - 8, WORD, manifest_offset))

    def write(self, data: bytes) -> int:
        """What the packer calls with packed bytes."""
        self._digest.update(data)
        self._file.write(data)
        self.offset += len(data)
        return len(data)


def read_chunks(file: BinaryIO) -> Iterable[bytes]:
    """A file, a piece at a time."""
    while data := file.read(CHUNK):
        yield data


def _packer(level):
    return zstandard.ZstdCompressor(level=level, threads=THREADS, write_checksum=True)
