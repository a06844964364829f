"""Files as one ZIP while it is sent: not packed, so its length is known before and its bytes are always the same.

Every file is read twice, once for its checksum, which stands before it: programs that unpack while they receive need
it there.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CHUNK = 256 * 1024
WIDE = 0xFFFFFFFF  # in a field of four bytes: the number stands in one of eight
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
    """A file is not as long as it was a moment ago: the download is broken off."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """A file in a ZIP: its name in there, where it is, and its bytes."""

    name: str
    path: Path
    size: int


def compute_length(files: Sequence[ZipEntry]) -> int:
    """How many bytes `zipped` sends."""
    total = directory = 0
    for file in files:
        directory += len(_entry(file, 0, total))
        total += len(_local(file, 0)) + file.size
    return total + directory + len(_end(len(files), directory, total))


def stream_zip(files: Sequence[ZipEntry]) -> Iterator[bytes]:
    """The ZIP in small parts. Raises Changed when a file has become longer or shorter."""
    offset, directory = 0, []
    for file in files:
        checksum = 0
        for part in _parts(file):
            checksum = zlib.crc32(part, checksum)
            yield b""  # pages go first here as well
        directory.append(_entry(file, checksum, offset))
        head = _local(file, checksum)
        yield head
        yield from _parts(file)
        offset += len(head) + file.size
    entries = b"".join(directory)
    yield entries + _end(len(files), len(entries), offset)


def _parts(file):
    left = file.size
    with file.path.open("rb") as opened:
        while part := opened.read(CHUNK):
            left -= len(part)
            if left < 0:
                break
            yield part
    if left:
        raise FileChanged(f"{file.path} changed while it was sent")


def _local(file, checksum):
    name = file.name.encode()
    large = struct.pack("<2H2Q", 1, 16, file.size, file.size) if file.size > MOST else b""
    size = WIDE if large else file.size
    version = VERSION_64 if large else VERSION
    numbers = (version, UTF8_NAMES, 0, MIDNIGHT, NEW_YEAR_1980, checksum, size, size, len(name), len(large))
    return LOCAL.pack(b"PK\3\4", *numbers) + name + large


def _entry(file, checksum, offset):
    """A file in the directory at the end."""
    name = file.name.encode()
    wide = [file.size, file.size] if file.size > MOST else []
    wide += [offset] if offset > MOST else []
    large = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    size = _narrow(file.size)
    version = VERSION_64 if wide else VERSION
    numbers = (UNIX | version, version, UTF8_NAMES, 0, MIDNIGHT, NEW_YEAR_1980, checksum, size, size)
    more = (len(name), len(large), 0, 0, 0, READABLE, _narrow(offset))
    return ENTRY.pack(b"PK\1\2", *numbers, *more) + name + large


def _end(count, size, offset):
    """What closes a ZIP; `size` and `offset` are those of its directory."""
    large = b""
    if offset > MOST or size > MOST:
        numbers = (END_64.size - 12, VERSION_64, VERSION_64, 0, 0, count, count, size, offset)
        large = END_64.pack(b"PK\6\6", *numbers) + LOCATOR_64.pack(b"PK\6\7", 0, offset + size, 1)
    return large + END.pack(b"PK\5\6", 0, 0, count, count, _narrow(size), _narrow(offset), 0)


def _narrow(number):
    return WIDE if number > MOST else number
