"""Streams files as a ZIP archive without compression.

Its length is known before, and its bytes are always the same.

Every file is read twice, the first time for its checksum, which precedes it: programs that unpack while they receive
need it there.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CHUNK = 256 * 1024
WIDE = 0xFFFFFFFF  # in a field of four bytes: the number is in a field of eight
MOST = WIDE - 1
VERSION, VERSION_64 = 20, 45
UTF8_NAMES = 0x800
MIDNIGHT, NEW_YEAR_1980 = 0, 0x21  # every file has the same time
UNIX, READABLE = 3 << 8, 0o100644 << 16
LOCAL = struct.Struct("<4s5H3L2H")
ENTRY = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
END_64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR_64 = struct.Struct("<4sLQL")


class FileChanged(OSError):
    """The size of a file changed while it was read; the download is aborted."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """A file in a ZIP: name in the archive, path, size in bytes."""

    name: str
    path: Path
    size: int


def compute_length(files: Sequence[ZipEntry]) -> int:
    """The number of bytes that `stream_zip` sends."""
    total = directory = 0
    for file in files:
        directory += len(_pack_directory_entry(file, 0, total))
        total += len(_pack_local_header(file, 0)) + file.size
    return total + directory + len(_pack_end(len(files), directory, total))


def stream_zip(files: Sequence[ZipEntry]) -> Iterator[bytes]:
    """Yield the ZIP in small parts. Raises FileChanged when a file changed its size."""
    offset, directory = 0, []
    for file in files:
        checksum = 0
        for part in _read_parts(file):
            checksum = zlib.crc32(part, checksum)
            yield b""  # lets pages go first while the checksum is computed
        directory.append(_pack_directory_entry(file, checksum, offset))
        head = _pack_local_header(file, checksum)
        yield head
        yield from _read_parts(file)
        offset += len(head) + file.size
    entries = b"".join(directory)
    yield entries + _pack_end(len(files), len(entries), offset)


def _read_parts(file):
    remaining = file.size
    with file.path.open("rb") as stream:
        while part := stream.read(CHUNK):
            remaining -= len(part)
            if remaining < 0:
                break
            yield part
    if remaining:
        raise FileChanged(f"{file.path} changed while it was sent")


def _pack_local_header(file, checksum):
    name = file.name.encode()
    large = struct.pack("<2H2Q", 1, 16, file.size, file.size) if file.size > MOST else b""
    size = WIDE if large else file.size
    version = VERSION_64 if large else VERSION
    numbers = (version, UTF8_NAMES, 0, MIDNIGHT, NEW_YEAR_1980, checksum, size, size, len(name), len(large))
    return LOCAL.pack(b"PK\3\4", *numbers) + name + large


def _pack_directory_entry(file, checksum, offset):
    """The entry of a file in the directory at the end of the ZIP."""
    name = file.name.encode()
    wide = [file.size, file.size] if file.size > MOST else []
    wide += [offset] if offset > MOST else []
    large = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    size = _limit_field(file.size)
    version = VERSION_64 if wide else VERSION
    numbers = (UNIX | version, version, UTF8_NAMES, 0, MIDNIGHT, NEW_YEAR_1980, checksum, size, size)
    more = (len(name), len(large), 0, 0, 0, READABLE, _limit_field(offset))
    return ENTRY.pack(b"PK\1\2", *numbers, *more) + name + large


def _pack_end(count, size, offset):
    """The end of a ZIP; `size` and `offset` are those of its directory."""
    large = b""
    if offset > MOST or size > MOST:
        numbers = (END_64.size - 12, VERSION_64, VERSION_64, 0, 0, count, count, size, offset)
        large = END_64.pack(b"PK\6\6", *numbers) + LOCATOR_64.pack(b"PK\6\7", 0, offset + size, 1)
    return large + END.pack(b"PK\5\6", 0, 0, count, count, _limit_field(size), _limit_field(offset), 0)


def _limit_field(number):
    return WIDE if number > MOST else number
