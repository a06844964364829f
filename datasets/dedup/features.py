"""Features of an export's samples: the numbers to compare, rank and split them by.

They take some 100 bytes for each sample.
"""

from array import array
from collections.abc import Callable, Iterable
from typing import Any

from ..models import DatasetSample, SampleSignature
from . import signatures
from .fixed_sides import FixedSides
from .places import sort_places
from .signature_file import SignatureFile
from .signatures import Signature
from .split_plan import compute_key

SIGNATURE = ("id", *signatures.COLUMNS)
OWN = ("session_id", "turn_number", "id", "agent_id", "output", "annotation_status", "quality_score")
# What the rows of `read_features` are made of; the columns of the signature may be None.
COLUMNS = (*OWN, *[f"signature__{name}" for name in SIGNATURE])
LONG_COLUMN = "signature__numbers"
STATUSES = {DatasetSample.Status.APPROVED: 0, DatasetSample.Status.AUTO_APPROVED: 1}
NO_TURN = 2**53  # of a decision without a turn: of what is alike, a sample with a turn comes first
Row = tuple[Any, ...]
ToolReader = Callable[[list[Row]], list[tuple[str, ...]]]  # the tools of samples of one agent
MAX_UINT64 = 2**64 - 1
MOST_TOOL_SETS = 10_000  # others count as no tools


class Features:
    """Columns with one number for each sample, in the order of the samples' places."""

    def __init__(self, numbers: SignatureFile, fixed: FixedSides | None = None, read_tools: ToolReader | None = None):
        self.numbers = numbers
        self.fixed = fixed
        self.read_tools = read_tools
        self.tool_sets: dict[tuple[str, ...], int] = {(): 0}
        self.session_count = 0
        self._columns = {
            name: array(kind)
            for name, kind in {
                "key": "q",  # see split_plan.compute_key
                "pair": "Q",  # of the hash of prompt and reply
                "words": "Q",  # of the hash of their words
                "handle": "q",  # the id of the signature
                "turn": "q",
                "session": "I",  # its number, in the order of places
                "name": "q",  # the hash of the session's id; one for each session
                "judgement": "B",
                "quality": "d",
                "has_numbers": "B",
                "is_new": "B",  # with fixed sides: whether the sample is in no earlier release; else empty
                "tools": "I",  # the number of the tools of its turn; empty without `read_tools`
                "fixed": "b",  # with fixed sides: that of the session, or NO_SIDE; one for each session
            }.items()
        }
        self._place: tuple[str, str] | None = None

    def __len__(self):
        return len(self._columns["key"])

    def add(self, rows: list[Row]) -> None:
        """Append samples that have sound signatures."""
        _sessions, turns, ids, _agents, outputs, statuses, qualities, handles, *signature_columns = zip(
            *rows, strict=True
        )
        _rules, made_from, words, numbers, _checksums = signature_columns
        if self.fixed:
            members = self.fixed.find_members(ids)
            self._extend("is_new", (sample_id not in members for sample_id in ids))
        self._extend("key", map(compute_key, ids, made_from))
        self._extend("turn", (NO_TURN if turn is None else turn for turn in turns))
        self._extend("handle", handles)
        self._extend("session", [self._number_session(row[3], row[0]) for row in rows])
        verdicts = zip(outputs, statuses, strict=True)
        self._extend("judgement", [3 * (output is None) + STATUSES.get(status, 2) for output, status in verdicts])
        self._extend("quality", [-1.0 if quality is None else quality for quality in qualities])
        self._extend("has_numbers", map(bool, numbers))
        self._extend("pair", map(_first_number, made_from))
        self._extend("words", map(_first_number, words))
        self.numbers.add(numbers)
        if self.read_tools:
            self._extend("tools", map(self._number_tools, self.read_tools(rows)))

    def column(self, name: str) -> "array[Any]":
        """A column: one number for each sample; in `name`, for each session."""
        return self._columns[name]

    def rank_places(self) -> "array[int]":
        """The places of the samples, the better ones first.

        Better is edited by a person, then approved by a person, approved by rule, of higher quality, earlier in its
        session; then the words of the sample and of its session decide. Names decide between sessions with the same
        words. Samples of an earlier release precede all others.
        """
        # For each session a number of the words of all its samples.
        of_session = array("Q", bytes(8 * self.session_count))
        columns = ("session", "pair", "turn", "judgement")
        bits = array("Q", self.column("quality").tobytes())
        for session, pair, turn, judgement, quality in zip(*map(self.column, columns), bits, strict=True):
            mixed = mix_bits(mix_bits(mix_bits(mix_bits(pair) ^ (turn & MAX_UINT64)) ^ judgement) ^ quality)
            of_session[session] = (of_session[session] + mixed) & MAX_UINT64
        names = (*(("is_new",) if self.fixed else ()), "judgement", "quality", "turn", "pair", "session")
        *firsts, judgements, qualities, turns, pairs, sessions = map(self.column, names)

        def build_key(place: int) -> tuple[float, ...]:
            own = (judgements[place], -qualities[place], turns[place], pairs[place], of_session[sessions[place]])
            return (*[first[place] for first in firsts], *own) if firsts else own

        return sort_places(range(len(self)), build_key)

    def _extend(self, name, values):
        self._columns[name].extend(values)

    def _number_tools(self, names):
        known = self.tool_sets
        return known.setdefault(names, len(known)) if len(known) < MOST_TOOL_SETS else known.get(names, 0)

    def _number_session(self, *place):
        if place != self._place:
            self._place = place
            self.session_count += 1
            # A session without an id is its agent's alone.
            self._columns["name"].append(hash(place[1]) if place[1] else hash(place))
            if self.fixed:
                self._columns["fixed"].append(self.fixed.find_side(*place))
        return self.session_count - 1


def read_features(batches: Iterable[list[Row]], into: Features, report_progress: Callable[[int], None]) -> None:
    """Read samples in the order of their places, with repaired signatures.

    A signature that is missing, outdated or damaged is computed again. `report_progress` is called now and then with
    the number of samples read. A sample that is removed or edited meanwhile is left out.
    """
    count = 0
    for batch in batches:
        for rows in _split_batch(batch):
            if sound := _repair_signatures(rows):
                into.add(sound)
            count += len(rows)
            report_progress(count)


def mix_bits(value: int) -> int:
    """Mix a number of 64 bits into another, evenly spread (the finalizer of SplitMix64)."""
    value = (value + 0x9E3779B97F4A7C15) & MAX_UINT64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MAX_UINT64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MAX_UINT64
    return value ^ (value >> 31)


def _split_batch(batch):
    """Split a batch where much of it has to be computed, so that progress is reported."""
    rule = len(OWN) + SIGNATURE.index("rule")
    size = len(batch) if all(row[rule] == signatures.RULE for row in batch) else signatures.BATCH
    return (batch[start : start + size] for start in range(0, len(batch), size or 1))


def _repair_signatures(rows):
    """The rows with sound signatures."""
    own, sample = len(OWN), OWN.index("id")
    broken = {row[sample] for row in rows if not signatures.is_sound(row[sample], Signature(*row[own + 1 :]))}
    if not broken:
        return rows
    signatures.renew(broken)
    stored_rows = SampleSignature.objects.filter(sample__in=broken).values_list("sample_id", *SIGNATURE)
    renewed = {sample_id: tuple(columns) for sample_id, *columns in stored_rows}
    return [
        (*row[:own], *renewed[row[sample]]) if row[sample] in broken else row
        for row in rows
        if row[sample] not in broken or row[sample] in renewed
    ]


def _first_number(hashed):
    return int.from_bytes(hashed[:8])
