"""The samples of an export, read in the order of their places."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import In

from ledger import consent

from ...dedup import signatures
from ...exporters import outcomes
from ...exporters.conversations.turns import INPUT
from ...exporters.formats import raw
from ...exporters.outcomes import RESTS_ON_TOOLS
from ...exporters.samples import GATE_TYPES, IMAGES, TOOLS, UNRECOGNIZED
from ...models import CUT_OFF, INTERRUPTED, DatasetMember, DatasetSample, VersionTaint
from .. import options as choices
from ..options import TAUGHT_BY, Options
from ..release_members.benchmark_overlap import CONTAMINATED, BenchmarkOverlap
from ..release_members.rolled_back import ROLLED_BACK, find_rolled_back_samples
from .plain_rows import PlainRow, PlainRows

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
)
STORED = (*COLUMNS, *(name for name in raw.COLUMNS if name not in COLUMNS))  # all that a sample has
LISTED = 200
# Reasons for members of a release: should not be used any more; edited since.
TAINTED, CHANGED_SINCE = "tainted", "changed_since_release"
OF_NO_TURN = Q(turn_number=None, sample_type__in=GATE_TYPES)  # decisions whose window alone is known
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
        if options.release is not None:
            self.scope = self.scope.filter(_is_listed(DatasetMember, options.release))
        self.chosen: Samples = self.scope
        self.left_out: dict[str, Samples] = {}
        self.changed: set[str] = set()  # members whose samples were edited since the release: see release_plan
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
                groups[reason] = {"count": len(samples), "samples": sorted(samples)[:LISTED]}
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
        """The ids of the chosen samples of writes that were rolled back.

        None unless they are left out.
        """
        if not self.options.without_rolled_back:
            return frozenset()
        return find_rolled_back_samples(self.chosen, self.list_agents())

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
        if not self.options.shape.teaches_rejected:
            yield "rejected", Q(annotation_status=DatasetSample.Status.REJECTED)
        if self.options.release is not None:
            yield TAINTED, Q(_is_listed(VersionTaint, self.options.release))
        else:
            yield from self._list_choices()
        if (self.options.format, self.options.task) == ("alpaca", "reply") and self.options.tool_calls != INPUT:
            yield RESTS_ON_TOOLS, RESTING
        if self.options.min_quality is not None and self.options.release is None:
            yield "low_quality", Q(quality_score=None) | Q(quality_score__lt=self.options.min_quality)
        if set(GATE_TYPES) & set(self.options.sample_types) and consent.read_opted_out():
            yield "opted_out", OF_NO_TURN
        yield "no_turn", Q(turn_number=None) & ~OF_NO_TURN

    def _list_choices(self):
        """Conditions of samples that a release has chosen already."""
        yield "repeated", Q(id__in=DatasetSample.objects.filter(repeat_of__isnull=False).values("id"))
        judged = [*DatasetSample.APPROVED]
        if is_labelled := self.options.shape.teaches_rejected:  # what nobody judged has no label
            judged.append(DatasetSample.Status.REJECTED)
        if self.options.only_approved or is_labelled:
            yield "not_approved", ~Q(annotation_status__in=judged)
        yield from self._list_other_conditions()

    def _list_other_conditions(self):
        """Conditions of samples that are not a person's question with the agent's answer.

        Without those that the options include.
        """
        if choices.INJECTED not in self.options.include:
            yield outcomes.INJECTED, ~Q(prompted_by="")
        if choices.UNRECOGNIZED not in self.options.include:
            yield outcomes.UNKNOWN_ENVELOPE, Q(turn_traits__contains=UNRECOGNIZED)
        if choices.INTERRUPTED not in self.options.include:
            yield outcomes.INTERRUPTED, Q(reply_stop__in=INTERRUPTED)
        if choices.CUT_OFF not in self.options.include:
            yield "cut_off", Q(reply_stop__in=CUT_OFF)
        if choices.PICTURES not in self.options.include:
            yield outcomes.PICTURE, Q(turn_traits__contains=IMAGES)

    def _read_rows(self, agent_id) -> Iterator[Row]:
        for batch in self._skip(self._read_batches(agent_id, self.columns, "content"), self.columns):
            for row in batch:
                yield dict(zip(self.columns, row, strict=True))

    def _list_skipped(self):
        """The samples that no column leaves out, by reason; each under its first one."""
        yield ROLLED_BACK, self.rolled_back
        yield CONTAMINATED, self.contaminated - self.rolled_back
        yield CHANGED_SINCE, self.changed

    def _skip(self, batches, columns) -> Iterator[list[PlainRow]]:
        """The batches without the samples that no column of theirs leaves out."""
        sample, skipped = columns.index("id"), self.rolled_back | self.contaminated | self.changed
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
        if task != options.task and Source(replace(options, task=task.value, sample_types=types)).scope.exists():
            return task.value
    return ""
