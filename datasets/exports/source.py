"""The samples of an export in the order of their places, with what the store says of them beside their content."""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import zstandard
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import In

from agents import databases
from agents.models import Agent
from guardian.models import WriteGuardianAudit
from ledger import consent
from openclaw_web.sqlite import statements

from .. import models
from ..dedup import signatures
from ..dedup.texts import split_words
from ..kinds.write import WRITE
from ..models import Benchmark, DatasetMember, DatasetSample, VersionTaint
from ..sample_list import SAMPLES, read_sample_filter
from ..sample_texts import (
    CHANGED,
    GATE_TYPES,
    IMAGES,
    INJECTED,
    INTERRUPTED,
    PICTURE,
    TOOLS,
    UNKNOWN_ENVELOPE,
    UNRECEIVED,
    UNRECOGNIZED,
    UnreadableSample,
    read_sample,
)
from .changes import NOT_CHECKED, RESTS_ON_TOOLS
from .formats import RAW_COLUMNS
from .options import CUT_OFF, PICTURES, ROLLED_BACK, TAUGHT_BY, Options
from .turns import INPUT

PlainRow = tuple[Any, ...]


class PlainRows:
    """Fetches rows of `values_list` querysets unconverted: for columns of texts, numbers and bytes.

    A batch has as many rows as together come to about `budget`, judging by the length of `column` in the batch before.
    """

    FIRST, SMALLEST, BIGGEST = 200, 10, 1_000

    def __init__(self, column: int, *, db: str = "default", budget: int = 300_000):
        self.column = column
        self.db = db
        self.budget = budget
        self.size = self.FIRST

    def read_batch(self, rows: QuerySet[Any, Any]) -> tuple[list[PlainRow], bool]:
        """The first of these rows, and whether there may be more."""
        limit = self.size
        batch = statements.read_rows(self.db, *rows[:limit].query.sql_with_params())
        if batch:
            average = 1 + sum(len(row[self.column] or "") for row in batch) // len(batch)
            self.size = max(self.SMALLEST, min(self.BIGGEST, self.budget // average))
        return batch, len(batch) == limit


ORDER = ("session_id", "turn_number", "id")
COLUMNS = (
    *ORDER,
    "sample_type",
    "agent_id",
    "content",
    "output",
    "quality_score",
    "annotation_status",
    "turn_traits",
    "gate_label",
    "gate_corrected_output",
    "guardian_label",
    "guardian_corrected_output",
    "decision_id",
    "label_id",
)
STORED = (*COLUMNS, *(name for name in RAW_COLUMNS if name not in COLUMNS))  # all that a sample has
LISTED = 200
# Reasons for members of a release: should not be used any more; edited since.
# What the options call it, the reason, and the trait of the turn.
BY_TRAIT = (
    (UNRECOGNIZED, UNKNOWN_ENVELOPE, UNRECOGNIZED),
    (PICTURES, PICTURE, IMAGES),
    (UNRECEIVED, UNRECEIVED, UNRECEIVED),
    (CHANGED, CHANGED, CHANGED),
)
TAINTED, CHANGED_SINCE, OPTED_OUT = "tainted", "changed_since_release", "opted_out"
TURNS = 500  # whose senders are looked up together
TURNLESS_TYPES = (*GATE_TYPES, *WRITE.types)  # a decision has its window, and a write its file
OF_NO_TURN = Q(turn_number=None, sample_type__in=TURNLESS_TYPES)
RESTING = Q(turn_traits__contains=TOOLS)  # samples whose reply is known to rest on tools
Samples = QuerySet[DatasetSample]
Row = dict[str, Any]


class Source:
    """The samples of an export, and those that its options leave out.

    `columns`: those of its rows, where they are not the ones of an export. Of a release, its members are the samples.
    """

    def __init__(self, options: Options, columns: Sequence[str] = ()):
        self.options = options
        self.columns = columns or (STORED if options.shape.is_stored else COLUMNS)
        # Hidden from SQLite: nearly all samples are of one type, and its index has not the order of places.
        of_type = In(Coalesce(F("sample_type"), Value(""), output_field=TextField()), list(options.sample_types))
        self.scope: Samples = DatasetSample.objects.filter(of_type)
        if options.agent is not None:
            self.scope = self.scope.filter(agent_id=options.agent)
        if options.sample_filter:  # looked up sample for sample, so that the order of places stays
            listed = SAMPLES.fits(None, **read_sample_filter(options.sample_filter).criteria).all
            self.scope = self.scope.filter(Exists(listed.filter(id=OuterRef("id"))))
        if options.release is not None:
            self.scope = self.scope.filter(_is_listed(DatasetMember, options.release))
        self.chosen: Samples = self.scope
        self.left_out: dict[str, Samples] = {}
        self.changed: set[str] = set()  # members whose samples were edited since the release: see plan
        self.conditions = list(self.build_conditions())
        for reason, unwanted in self.conditions:
            self.left_out[reason] = self.chosen.filter(unwanted)
            self.chosen = self.chosen.filter(~unwanted)

    def count_excluded(self) -> dict[str, dict[str, Any]]:
        """Count the samples that the options leave out, by reason.

        Each count has the ids of the first of them.
        """
        groups, counts = {}, self._count_by_reason()
        for reason, rows in self.left_out.items():
            if count := counts.get(reason):
                ids = rows.order_by("created_at", "id").values_list("id", flat=True)
                groups[reason] = {"count": count, "samples": list(ids[:LISTED])}
        for reason, samples in self._list_skipped():
            if samples:
                group = groups.setdefault(reason, {"count": 0, "samples": []})
                group["count"] += len(samples)
                group["samples"] = [*group["samples"], *sorted(samples)][:LISTED]
        return groups

    def _count_by_reason(self) -> dict[str, int]:
        """Count the samples by the first reason that leaves them out.

        Chosen ones have an empty reason. All in one pass: a query for each reason would read every sample again.
        """
        whens = [When(unwanted, then=Value(reason)) for reason, unwanted in self.conditions]
        first_reason = Case(*whens, default=Value(""), output_field=TextField())
        rows = self.scope.order_by().annotate(reason=first_reason).values_list("reason")
        return dict(rows.annotate(count=Count("*")))

    @cached_property
    def contaminated(self) -> frozenset[str]:
        """The ids of the chosen samples that a benchmark contains; none without one."""
        columns = (*ORDER, *signatures.SAMPLE_COLUMNS)
        overlap = BenchmarkOverlap(self.options.benchmark) if self.options.benchmark else None
        return frozenset(
            row[ORDER.index("id")]
            for agent_id in (self.list_agents() if overlap else ())
            for batch in self._read_batches(agent_id, columns, "content")
            for row in batch
            if overlap and overlap.is_contaminated(dict(zip(columns, row, strict=True)))
        )

    @cached_property
    def rolled_back(self) -> frozenset[str]:
        """The ids of the chosen samples of writes that were rolled back; none when they are included."""
        if ROLLED_BACK in self.options.include:
            return frozenset()
        return find_rolled_back_samples(self.chosen, self.list_agents())

    @cached_property
    def withheld(self) -> frozenset[str]:
        """The ids of the chosen samples whose turn may not be used today; none while nobody has opted out.

        A turn that is not stored any more is one of them: nobody can tell whose words its sample has.
        """
        ids = set[str]()
        for agent_id in self.list_agents() if consent.read_opted_out() else ():
            db, last = databases.find_alias(agent_id), ""
            rows = self.chosen.filter(agent_id=agent_id, turn_id__isnull=False).order_by("id")
            while batch := list(rows.filter(id__gt=last).values_list("id", "turn_id")[:TURNS]):
                turn_ids = {turn_id for _id, turn_id in batch}
                keys = consent.find_withheld_keys(db, turn_ids) if db else turn_ids
                ids.update(sample_id for sample_id, turn_id in batch if turn_id in keys)
                last = batch[-1][0]
        return frozenset(ids)

    def is_scored(self) -> bool:
        """Whether any sample of these types and this agent has a quality score."""
        return self.scope.filter(quality_score__isnull=False).exists()

    def read_sessions(self) -> Iterator[tuple[str, str, Iterator[Row]]]:
        """The sessions in order: agent, session and rows of each.

        The rows are read while they are iterated.
        """
        for agent_id in self.list_agents():
            for session_id, rows in groupby(self._read_rows(agent_id), key=itemgetter("session_id")):
                yield agent_id, session_id, rows

    def read_batches(self, columns: Sequence[str], long_column: str) -> Iterator[list[PlainRow]]:
        """All samples in the same order, in batches of their values of these columns.

        The columns begin with those of ORDER. The lengths of `long_column` decide how many rows a batch has.
        """
        for agent_id in self.list_agents():
            yield from self._skip(self._read_batches(agent_id, columns, long_column), columns)

    def list_agents(self) -> list[str]:
        """The agents of the chosen samples, in order, read once."""
        return self._agents

    @cached_property
    def _agents(self) -> list[str]:
        if self.options.agent is not None:
            return [self.options.agent]
        return list(self.chosen.order_by("agent_id").values_list("agent_id", flat=True).distinct())

    def build_conditions(self) -> Iterator[tuple[str, Q]]:
        """The reasons for leaving a sample out that columns tell, with their conditions.

        The first reason that applies counts.
        """
        yield NOT_CHECKED, Q(id__in=DatasetSample.objects.filter(privacy_checked=None).values("id"))
        if not self.options.shape.teaches_rejected:
            yield "rejected", Q(annotation_status=DatasetSample.Status.REJECTED)
        if self.options.release is not None:
            yield TAINTED, Q(_is_listed(VersionTaint, self.options.release))
        else:
            # Conditions of samples that a release has chosen already.
            yield "repeated", Q(id__in=DatasetSample.objects.filter(repeat_of__isnull=False).values("id"))
            judged = [*DatasetSample.APPROVED]
            if is_labelled := self.options.shape.teaches_rejected:  # what nobody judged has no label
                judged.append(DatasetSample.Status.REJECTED)
            if self.options.only_approved or is_labelled:
                yield "not_approved", ~Q(annotation_status__in=judged)
            # Conditions of samples that are not a person's question with the agent's answer.
            if INJECTED not in self.options.include:
                yield INJECTED, ~Q(prompted_by="")
            if INTERRUPTED not in self.options.include:
                yield INTERRUPTED, Q(reply_stop__in=models.INTERRUPTED)
            if CUT_OFF not in self.options.include:
                yield "cut_off", Q(reply_stop__in=models.CUT_OFF)
            for kind, reason, trait in BY_TRAIT:
                if kind not in self.options.include:
                    yield reason, Q(turn_traits__contains=trait)
        if (self.options.format, self.options.task) == ("alpaca", "reply") and self.options.tool_calls != INPUT:
            yield RESTS_ON_TOOLS, RESTING
        if self.options.min_quality is not None and self.options.release is None:
            yield "no_score", Q(quality_score=None)
            yield "low_quality", Q(quality_score__lt=self.options.min_quality)
        if set(TURNLESS_TYPES) & set(self.options.sample_types) and consent.read_opted_out():
            yield OPTED_OUT, OF_NO_TURN
        yield "no_turn", Q(turn_number=None) & ~OF_NO_TURN

    def _read_rows(self, agent_id) -> Iterator[Row]:
        for batch in self._skip(self._read_batches(agent_id, self.columns, "content"), self.columns):
            for row in batch:
                yield dict(zip(self.columns, row, strict=True))

    def _list_skipped(self):
        """The samples that no column leaves out, by reason; each under its first one."""
        yield OPTED_OUT, self.withheld
        yield ROLLED_BACK, self.rolled_back - self.withheld
        yield CONTAMINATED, self.contaminated - self.rolled_back - self.withheld
        yield CHANGED_SINCE, self.changed

    def _skip(self, batches, columns) -> Iterator[list[PlainRow]]:
        """The batches without the samples that no column of theirs leaves out."""
        skipped = self.withheld | self.rolled_back | self.contaminated | self.changed
        sample = columns.index("id")
        for batch in batches:
            yield [row for row in batch if row[sample] not in skipped] if skipped else batch

    def _read_batches(self, agent_id, columns, long_column) -> Iterator[list[PlainRow]]:
        """Read one agent's samples in batches.

        No cursor stays open while the caller works, and few rows are in memory.
        """
        chosen = self.chosen.filter(agent_id=agent_id).order_by(*ORDER).values_list(*columns)
        reader = PlainRows(columns.index(long_column))
        batch, is_more = reader.read_batch(chosen)
        while batch:
            yield batch
            batch, is_more = reader.read_batch(chosen.filter(_follows(batch[-1]))) if is_more else ([], False)


def _is_listed(model: type[DatasetMember | VersionTaint], version_id: str) -> Exists:
    """Whether a table has a sample for a version.

    Looked up by its index, sample for sample.
    """
    return Exists(model._default_manager.filter(version_id=version_id, sample_id=OuterRef("id")))


def _follows(row):
    """The condition of samples that follow `row` in ORDER, within one agent.

    Samples without a turn are the first of their session.
    """
    session, turn, sample = row[: len(ORDER)]
    later = Q(turn_number__isnull=False) if turn is None else Q(turn_number__gt=turn)
    # session >= x AND (session > x OR ...): the first half lets SQLite seek in the index.
    return Q(session_id__gte=session) & (Q(session_id__gt=session) | later | Q(turn_number=turn, id__gt=sample))


def find_other_task(options: Options) -> str:
    """Another task that has samples; empty when there is none."""
    for task, types in TAUGHT_BY.items():
        if task != options.task and Source(replace(options, task=task, sample_types=types)).scope.exists():
            return task
    return ""


def note_excluded(excluded: dict[str, dict[str, Any]], reason: str, sample_id: str) -> None:
    """Count a sample as left out for a reason, with its id among the first."""
    group = excluded.setdefault(reason, {"count": 0, "samples": []})
    group["count"] += 1
    if len(group["samples"]) < LISTED:
        group["samples"].append(sample_id)


CORRECT = "correct"


class DecisionVerdicts:
    """The verdicts on decisions, for an export of decisions; none for any other."""

    def __init__(self, options: Options):
        self.labels: dict[tuple[str, str | None], str | None] = {}
        if options.task == "gate":
            judged = DatasetSample.objects.filter(sample_type__in=GATE_TYPES, gate_label__isnull=False)
            if options.agent is not None:
                judged = judged.filter(agent_id=options.agent)
            rows = judged.values_list("agent_id", "decision_id", "gate_label")
            self.labels = {(agent_id, name): label for agent_id, name, label in rows.iterator(chunk_size=2_000)}

    def overrules(self, row: Mapping[str, Any]) -> bool:
        """Whether a turn's sample teaches another decision than the one judged to be right.

        It does when the decision itself was judged to be wrong, or when it was judged to be right and the turn's sample
        says otherwise. A decision that somebody called wrong is not taught, even if its own sample is gone.
        """
        if row["sample_type"] in GATE_TYPES or row["decision_id"] is None:
            return False
        label = self.labels.get((row["agent_id"], row["decision_id"]))
        return label is not None and (label != CORRECT or row["gate_label"] not in (None, CORRECT))


BATCH = 400  # writes


def find_rolled_back_samples(samples: QuerySet[DatasetSample], agent_ids: Iterable[str]) -> frozenset[str]:
    """The ids of those of some samples that teach a write that was rolled back.

    They are the sample of the write itself, and the samples of its turn that are about no other write.
    """
    sample_ids: set[str] = set()
    for agent in Agent.objects.filter(agent_id__in=list(agent_ids)):
        if db := databases.find_alias(agent.agent_id):
            for writes in _read_batches(db):
                sample_ids.update(_find_samples_of(samples, agent, writes))
    return frozenset(sample_ids)


def is_rolled_back(
    audit_id: str | None, label: str | None, turn_id: str | None, audit_ids: Container[str], turn_ids: Container[str]
) -> bool:
    """Whether a sample teaches one of these rolled-back writes, or the turn of one.

    A write's own sample with the label `corrected` teaches the correction.
    """
    return audit_id in audit_ids and label != "corrected" if audit_id else turn_id in turn_ids


def _read_batches(db) -> Iterator[list[tuple[str, str | None, str | None]]]:
    """The id, turn and session of each rolled-back write of an agent, in batches."""
    writes = WriteGuardianAudit.objects.using(db).taken_back().order_by()
    rows = writes.values_list("id", "turn_id", "session_id").iterator(chunk_size=2_000)
    while batch := list(islice(rows, BATCH)):
        yield batch


def _find_samples_of(samples, agent, writes: list[tuple[Any, ...]]) -> Iterator[str]:
    audit_ids = {audit_id for audit_id, _turn_id, _session_id in writes}
    turn_ids = {turn_id for _audit_id, turn_id, session_id in writes if turn_id and session_id}
    sessions = {session_id for _audit_id, turn_id, session_id in writes if turn_id and session_id}
    # By ids and sessions, which have an index: turns and writes have none.
    own = [WRITE.find_sample_id(agent, audit_id) for audit_id in audit_ids]
    rows = samples.filter(Q(id__in=own) | Q(session_id__in=sessions), agent_id=agent.agent_id).order_by()
    columns = ("id", "audit_id", "guardian_label", "turn_id")
    for sample_id, *about in rows.values_list(*columns).iterator(chunk_size=2_000):
        if is_rolled_back(*about, audit_ids, turn_ids):
            yield sample_id


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
