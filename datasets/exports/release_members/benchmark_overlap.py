"""Finds samples whose texts are in a benchmark, by hashes of every eight words."""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

import zstandard

from ...dedup import signatures
from ...dedup.texts import split_words
from ...exporters.samples import UnreadableSample, read_sample
from ...models import Benchmark

GRAM = 8  # words
SHORTEST = 5  # words: texts with fewer have no grams; those up to GRAM have one
LIMIT = 0.5  # the share of a text's grams above which it is contaminated
CONTAMINATED = "contaminated"  # the reason for leaving a sample out
MOST_BYTES = 512 * 1024 * 1024  # of the grams of a benchmark


def hash_grams(text: str) -> Iterator[int]:
    """Yield a 64-bit hash of every eight words in a row of a text.

    A text of five to eight words has one gram, a shorter one none.
    """
    words = split_words(text, "")
    if len(words) < SHORTEST:
        return
    for start in range(max(1, len(words) - GRAM + 1)):
        gram = " ".join(words[start : start + GRAM]).encode(errors="surrogatepass")
        yield int.from_bytes(hashlib.blake2b(gram, digest_size=8).digest())


class BenchmarkOverlap:
    """The grams of a benchmark, to compare samples with.

    Without a benchmark of that id, it has none.
    """

    def __init__(self, benchmark_id: str):
        packed = Benchmark.objects.filter(id=benchmark_id).values_list("grams", flat=True).first()
        self.grams = array("Q")
        if packed:
            self.grams.frombytes(zstandard.ZstdDecompressor().decompress(packed, max_output_size=MOST_BYTES))

    def measure_sample(self, row: Mapping[str, Any]) -> float:
        """The share of a sample's grams that the benchmark has.

        Question and reply are compared each, and the larger share counts. `row` has signatures.SAMPLE_COLUMNS. An
        answer after a copied question does not hide it.
        """
        try:
            pair = signatures.read_pair(read_sample(dict(row)))
        except UnreadableSample:
            return 0.0
        return max(map(self.measure_text, pair))

    def measure_text(self, text: str) -> float:
        """The share of a text's grams that the benchmark has, 0 to 1."""
        count = matches = 0
        for gram in hash_grams(text):
            count += 1
            place = bisect_left(self.grams, gram)
            matches += place < len(self.grams) and self.grams[place] == gram
        return matches / count if count else 0.0

    def is_contaminated(self, row: Mapping[str, Any]) -> bool:
        """Whether the benchmark has more than half of a text of a sample."""
        return self.measure_sample(row) > LIMIT
