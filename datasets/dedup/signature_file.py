"""The signatures of many samples in temporary files without names.

A million signatures take 768 MB, of which little is in memory at a time.
"""

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from struct import Struct
from tempfile import TemporaryFile

from .minhash import BYTES, NUMBERS

BANDS = 32
WIDTH = NUMBERS // BANDS  # numbers of a band
BAND_BYTES = BYTES // BANDS
HALVES = Struct("<QQ")
AT_ONCE = 4_096  # signatures: 2 MB
# Odd numbers of 64 bits: they spread the four numbers of a band over one.
SPREAD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
MOST = 2**64 - 1


class SignatureFile:
    """Signatures in the order in which they were added."""

    def __init__(self, folder: Path):
        self.count = 0
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        # The first halves of all bands: AT_ONCE of one band, then those of the next, so that a band is read alone.
        self._halves = TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`

    def add(self, signatures: Sequence[bytes]) -> None:
        """Append signatures; an empty one takes the space of a full one."""
        self._file.write(b"".join([signature or bytes(BYTES) for signature in signatures]))
        self.count += len(signatures)

    def complete(self) -> None:
        """Make all added signatures readable."""
        self._file.flush()
        for start in range(0, self.count, AT_ONCE):
            numbers = array("Q", os.pread(self._file.fileno(), BYTES * AT_ONCE, BYTES * start))
            for band in range(BANDS):
                self._halves.write(numbers[2 * band :: NUMBERS // 2])
        self._halves.flush()

    def close(self) -> None:
        """Close the files, which frees their space."""
        self._file.close()
        self._halves.close()

    def signature(self, place: int) -> int:
        """The signature at a place as one number, the first of 128 at the lower end."""
        return int.from_bytes(os.pread(self._file.fileno(), BYTES, BYTES * place), "little")

    def halves(self, band: int) -> "array[int]":
        """The first half of a band of every signature.

        Signatures that share the band share this half, and so do some others.
        """
        halves = array("Q")
        for start in range(0, self.count, AT_ONCE):
            size = 8 * min(AT_ONCE, self.count - start)
            halves.frombytes(os.pread(self._halves.fileno(), size, 8 * BANDS * start + size * band))
        return halves

    def key(self, place: int, band: int) -> int:
        """One number that two signatures share when they share a band."""
        first, second = HALVES.unpack(os.pread(self._file.fileno(), BAND_BYTES, BYTES * place + BAND_BYTES * band))
        mixed = first * SPREAD[0] & MOST
        return ((mixed ^ (mixed >> 29)) + second * SPREAD[1]) & MOST
