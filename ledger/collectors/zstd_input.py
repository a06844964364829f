"""Reads zstd from outside: single records and whole transcripts, unpacked up to a limit.

No Django.
"""

import io
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from .jsonl import MAX_LINE, Line, read_lines

MAX_TRANSCRIPT = 1024 * 1024 * 1024
MAX_WINDOW = 128 * 1024 * 1024  # memory that a frame may ask for

_records = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)


def unpack_record(packed: bytes) -> bytes:
    """One unpacked record.

    Raises ValueError for damaged bytes and for more than a line may have.
    """
    try:
        if zstandard.frame_content_size(packed) > MAX_LINE:
            raise ValueError(f"over {MAX_LINE} bytes")
        return _records.decompress(packed, max_output_size=MAX_LINE)
    except zstandard.ZstdError as exc:
        raise ValueError(str(exc)) from exc


def read_packed_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines of a packed transcript, placed by their unpacked bytes.

    Damage ends it with a rejected line.
    """
    unpacked = _Unpacked(file)
    end = 0
    try:
        for line in read_lines(unpacked, is_closed=True):  # type: ignore[arg-type]  # all it does is seek(0) and readline
            end = line.end
            yield line
    except (zstandard.ZstdError, ValueError) as exc:
        yield Line(end, end + 1, b"", reason="bad_zstd", detail=str(exc))


def read_unpacked_start(file: BinaryIO, most: int) -> bytes:
    """The first `most` bytes of a packed file's content. Raises ZstdError for damaged bytes."""
    return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(file, closefd=False).read(most)


class _Unpacked:
    """A packed file from which lines are read once."""

    def __init__(self, file):
        reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
            file, read_across_frames=True, closefd=False
        )
        self._lines = io.BufferedReader(reader)
        self._size = 0

    def seek(self, offset):
        if offset:
            raise ValueError("a packed file is read from its start")

    def readline(self, limit):
        line = self._lines.readline(limit)
        self._size += len(line)
        if self._size > MAX_TRANSCRIPT:
            raise ValueError(f"over {MAX_TRANSCRIPT} bytes")
        return line
