"""The split plan of an export: each sample's side, and whether it is a duplicate."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from .texts import compute_words_number

# Of duplicates, one is exported; or all are, and their sessions are on the same side.
ONE, KEEP = DUPLICATES = ("one", "keep")
SHORT = 10  # words: sessions that share no more than that may be on different sides
DOMINANT_SET = "one_set_over_half"  # a note: more than half of the samples are in sessions that share a side
MOVING_SIDES = "sides_may_move"  # a note: of exports whose sides no release keeps
# Added to the number of the side of a sample that is left out, and the reason.
SIDE_NUMBERS = 16
OVER_SESSION, OVER_TOOL, OVER_TWINS, DUPLICATE = 16, 32, 64, 128
LEFT_OUT = {
    0: "",
    OVER_SESSION: "over_session_cap",
    OVER_TOOL: "over_tool_cap",
    OVER_TWINS: "over_twins_cap",
    DUPLICATE: "duplicate",
}


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """The split of an export, in 13 bytes for each sample.

    `keys` are the sorted keys of samples, and `assignments` has beside each the number of its side. `taught` are hashes
    of words, sorted, and `taught_on` has beside each the sides that teach them, as bits; both are empty where all is on
    one side. `largest_set` counts the kept samples of the connected sessions that have the most;
    `session_sizes` has beside each key those of its session.
    """

    keys: "array[int]"
    assignments: bytes
    taught: "array[int]" = field(default_factory=lambda: array("Q"))
    taught_on: bytes = b""
    samples: int = 0
    largest_set: int = 0
    session_sizes: "array[int]" = field(default_factory=lambda: array("I"))

    def find_assignment(self, sample_id: str, made_from: bytes) -> tuple[int, str, int] | None:
        """The number of a sample's side, the reason why it is left out, and the kept samples of its session.

        None for a sample that was not there, or had other words.
        """
        sample_key = compute_key(sample_id, made_from)
        place = bisect_left(self.keys, sample_key)
        if place == len(self.keys) or self.keys[place] != sample_key:
            return None
        reason, side = divmod(self.assignments[place], SIDE_NUMBERS)
        return side, LEFT_OUT[reason * SIDE_NUMBERS], self.session_sizes[place]

    def is_taught_elsewhere(self, side: int, pairs: Iterable[tuple[str, str]]) -> bool:
        """Whether another side teaches an exchange in one of these spellings.

        `pairs` are the spellings, each as question and answer.
        """
        if not self.taught:
            return False
        return any(self._find_sides(compute_words_number(*pair)) & ~(1 << side) for pair in pairs)

    @property
    def has_dominant_set(self) -> bool:
        """Whether more than half of the samples are in sessions that have to share a side."""
        return 2 * self.largest_set > self.samples

    def _find_sides(self, number):
        place = bisect_left(self.taught, number)
        return self.taught_on[place] if place < len(self.taught) and self.taught[place] == number else 0


def compute_key(sample_id: str, made_from: bytes) -> int:
    """The number of a sample with these words, valid in this process only."""
    return hash((sample_id, made_from))
