"""The signatures of many samples in a file without a name: a million of them are 512 MB, of which few are in memory."""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from .minhash import BYTES, NUMBERS

BANDS = 32
WIDTH = NUMBERS // BANDS  # numbers of a band
AT_ONCE = 4_096  # rows: 2 MB
# Odd numbers of 64 bits: they spread the four numbers of a band over one.
SPREAD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
Array = np.ndarray[Any, Any]


class Numbers:
    """Signatures in the order in which they were added."""

    def __init__(self, folder: Path):
        self.count = 0
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`

    def add(self, signatures: Sequence[bytes]) -> None:
        """Append signatures; an empty one takes the room of one."""
        self._file.write(b"".join([found or bytes(BYTES) for found in signatures]))
        self.count += len(signatures)

    def close(self) -> None:
        """Give the room back."""
        self._file.close()

    def rows(self, places: Array) -> Array:
        """The signatures at these places, a row of 128 numbers each."""
        self._file.flush()
        file = self._file.fileno()
        data = b"".join([os.pread(file, BYTES, BYTES * place) for place in places.tolist()])
        return np.frombuffer(data, dtype="<u4").reshape(-1, NUMBERS)

    def keys(self, band: int) -> Array:
        """Of every signature one number that two of them share when they share this band."""
        self._file.flush()
        file = self._file.fileno()
        keys = np.empty(self.count, dtype=np.uint64)
        for start in range(0, self.count, AT_ONCE):
            data = os.pread(file, BYTES * AT_ONCE, BYTES * start)
            pairs = np.frombuffer(data, dtype="<u8").reshape(-1, NUMBERS // 2)[:, 2 * band : 2 * band + 2]
            mixed = pairs[:, 0] * SPREAD[0]
            keys[start : start + AT_ONCE] = (mixed ^ (mixed >> np.uint64(29))) + pairs[:, 1] * SPREAD[1]
        return keys
