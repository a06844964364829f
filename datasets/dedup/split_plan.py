"""What an export does with each of its samples."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from .texts import compute_words_number

# Of samples that say the same one is exported; or all are, and their sessions are on the same side.
ONE, KEEP = DUPLICATES = ("one", "keep")
SHORT = 10  # words: sessions that share no more than that may be on different sides
DOMINANT_SET = "one_set_over_half"  # a note: more than half of the samples are in sessions that share a side
DUPLICATE = 128  # added to the number of the side that the session of a duplicate is on


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """The split of an export: 9 bytes for each sample, in `keys`, sorted, and beside it in `fates`.

    `taught` are numbers of words, sorted, and `taught_on` has beside each the sides that teach them, as bits; both are
    empty where all is on one side. `largest_set`: kept samples of the connected sessions that have the most.
    """

    keys: "array[int]"
    assignments: bytes
    taught: "array[int]" = field(default_factory=lambda: array("Q"))
    taught_on: bytes = b""
    samples: int = 0
    largest_set: int = 0

    def find_assignment(self, sample_id: str, made_from: bytes) -> int | None:
        """The number of its side, with DUPLICATE added; None for one that was not there, or said something else."""
        wanted = key(sample_id, made_from)
        place = bisect_left(self.keys, wanted)
        return self.assignments[place] if place < len(self.keys) and self.keys[place] == wanted else None

    def is_taught_elsewhere(self, side: int, pairs: Iterable[tuple[str, str]]) -> bool:
        """Whether another side than this one teaches an exchange, in one of its spellings as question and answer."""
        if not self.taught:
            return False
        return any(self._sides(compute_words_number(*pair)) & ~(1 << side) for pair in pairs)

    @property
    def has_dominant_set(self) -> bool:
        """Whether more than half of the samples are in sessions that have to share a side."""
        return 2 * self.largest_set > self.samples

    def _sides(self, number):
        place = bisect_left(self.taught, number)
        return self.taught_on[place] if place < len(self.taught) and self.taught[place] == number else 0


def key(sample_id: str, made_from: bytes) -> int:
    """The number of a sample with the words that it has, as long as this process lives."""
    return hash((sample_id, made_from))
