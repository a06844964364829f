"""What an export does with each of its samples. Without numpy, which only the making of a plan needs: 14 MB."""

from array import array
from bisect import bisect_left
from dataclasses import dataclass

# Of samples that say the same one is exported; or all are, and their sessions are on the same side.
ONE, KEEP = DUPLICATES = ("one", "keep")
DUPLICATE = 255  # instead of the number of a side


@dataclass(frozen=True, slots=True)
class Plan:
    """What was decided of each sample, 9 bytes for each: in `keys`, sorted, and beside it in `fates`."""

    keys: "array[int]"
    fates: bytes

    def fate(self, sample_id: str, made_from: bytes) -> int | None:
        """The number of its side, or DUPLICATE; None for a sample that was not there, or said something else."""
        wanted = key(sample_id, made_from)
        place = bisect_left(self.keys, wanted)
        return self.fates[place] if place < len(self.keys) and self.keys[place] == wanted else None


def key(sample_id: str, made_from: bytes) -> int:
    """The number of a sample with the words that it has, as long as this process lives."""
    return hash((sample_id, made_from))
