"""The samples of an export as numbers: what they are compared, ranked and split by, some 100 bytes for each."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..models import DatasetSample, SampleSignature
from . import signatures
from .numbers import Numbers
from .signatures import Signature

# What the rows of `gathered` must have; the signature's own columns may be None.
SIGNATURE_COLUMNS = tuple(f"signature__{name}" for name in ("id", *signatures.COLUMNS))
COLUMNS = (
    *("id", "agent_id", "session_id", "turn_number", "output", "annotation_status", "quality_score"),
    *SIGNATURE_COLUMNS,
)
LONG_COLUMN = "signature__numbers"
STATUSES = {DatasetSample.Status.APPROVED: 0, DatasetSample.Status.AUTO_APPROVED: 1}
Row = dict[str, Any]
Array = np.ndarray[Any, Any]


class Gathered:
    """One number for each sample in each column, in the order of the samples' places."""

    def __init__(self, numbers: Numbers, seed: str):
        self.numbers = numbers
        self.seed = seed.encode(errors="surrogatepass")
        self.keys, self.words, self.pairs, self.sides = (array("Q") for _ in range(4))
        self.handles, self.turns, self.sessions = array("q"), array("q"), array("L")
        self.judgements, self.has_numbers = array("B"), array("B")
        self.qualities = array("d")
        self.contents = array("Q")  # of sessions
        self._place: tuple[str, str] | None = None

    def add(self, rows: Iterable[tuple[Row, Signature]]) -> None:
        """Append samples with their signatures."""
        added = []
        for row, found in rows:
            self._open(row["agent_id"], row["session_id"])
            judgement = 3 * (row["output"] is None) + STATUSES.get(row["annotation_status"], 2)
            quality = -1.0 if row["quality_score"] is None else row["quality_score"]
            self.keys.append(key(row["id"], found.made_from))
            self.words.append(int.from_bytes(found.words[:8]))
            self.pairs.append(int.from_bytes(found.made_from[:8]))
            self.sides.append(_hashed(self.seed, found.made_from))
            self.handles.append(row["signature__id"])
            self.turns.append(row["turn_number"])
            self.sessions.append(len(self.contents) - 1)
            self.judgements.append(judgement)
            self.qualities.append(quality)
            told = _hashed(found.made_from, f"{row['turn_number']} {judgement} {quality}".encode())
            self.contents[-1] = (self.contents[-1] + told) % 2**64
            self.has_numbers.append(len(found.numbers) > 0)
            added.append(found.numbers)
        self.numbers.add(added)

    def column(self, name: str) -> Array:
        """A column as numpy has it, without a copy."""
        values: array[Any] = getattr(self, name)
        return np.frombuffer(values, dtype=values.typecode) if values else np.empty(0, dtype=values.typecode)

    def best_first(self) -> Array:
        """The places of the samples, the better ones first.

        Edited by a person, approved by a person, approved by rule, of higher quality, earlier in its session; then by
        what is said and what else is said in the session. Names decide between sessions that say the same.
        """
        order = ("pairs", "turns", "qualities", "judgements")  # the last one counts most
        contents = self.column("contents")[self.column("sessions")]
        columns = [self.column(name) for name in order]
        columns[2] = -columns[2]
        return np.lexsort((contents, *columns))

    def _open(self, *place):
        if place != self._place:
            self._place = place
            self.contents.append(0)


def gather(batches: Iterable[list[Row]], into: Gathered, hear: Callable[[int], None]) -> None:
    """Read samples in the order of their places; signatures that are missing, outdated or damaged are made anew.

    `hear` is told now and then how many were read. A sample that is removed or edited meanwhile is left out.
    """
    count = 0
    for batch in batches:
        for rows in _parts(batch):
            into.add(_sound(rows))
            count += len(rows)
            hear(count)


def key(sample_id: str, made_from: bytes) -> int:
    """The number of a sample with the words that it has."""
    return _hashed(sample_id.encode(errors="surrogatepass"), b"\x00", made_from)


def _parts(batch):
    """A batch, in small parts where much of it has to be made anew: somebody wants to hear how far that is."""
    size = len(batch) if all(row["signature__rule"] == signatures.RULE for row in batch) else signatures.BATCH
    return (batch[start : start + size] for start in range(0, len(batch), size or 1))


def _sound(rows: list[Row]) -> Iterator[tuple[Row, Signature]]:
    stored = [(row, Signature(*[row[f"signature__{name}"] for name in signatures.COLUMNS])) for row in rows]
    broken = {row["id"] for row, found in stored if not signatures.is_sound(row["id"], found)}
    renewed = _renewed(broken) if broken else {}
    for row, found in stored:
        if row["id"] not in broken:
            yield row, found
        elif row["id"] in renewed:
            row["signature__id"], *columns = renewed[row["id"]]
            yield row, Signature(*columns)


def _renewed(sample_ids):
    signatures.renew(sample_ids)
    rows = SampleSignature.objects.filter(sample__in=sample_ids)
    return {sample_id: found for sample_id, *found in rows.values_list("sample_id", "id", *signatures.COLUMNS)}


def _hashed(*parts):
    return int.from_bytes(hashlib.blake2b(b"".join(parts), digest_size=8).digest())
