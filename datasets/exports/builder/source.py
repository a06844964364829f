"""The samples of an export, read in the order of their places."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import F, Q, QuerySet, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import In

from ledger import consent

from ...exporters import outcomes
from ...exporters.formats import raw
from ...exporters.outcomes import RESTS_ON_TOOLS
from ...exporters.samples import GATE_TYPES, IMAGES, TOOLS, UNRECOGNIZED
from ...exporters.training_rows import LEAVE_OUT
from ...models import CUT_OFF, INTERRUPTED, DatasetSample
from ..options import TAUGHT_BY, Options
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
OF_NO_TURN = Q(turn_number=None, sample_type__in=GATE_TYPES)  # decisions whose window alone is known
RESTING = Q(turn_traits__contains=TOOLS)  # samples whose reply is known to rest on tools
Samples = QuerySet[DatasetSample]
Row = dict[str, Any]


class Source:
    """The samples of an export, and those that its options leave out."""

    def __init__(self, options: Options):
        self.options = options
        self.columns = STORED if options.shape.is_stored else COLUMNS
        # Hidden from SQLite: nearly all samples are of one type, and its index has not the order of places.
        of_type = In(Coalesce(F("sample_type"), Value(""), output_field=TextField()), list(options.sample_types))
        self.scope: Samples = DatasetSample.objects.filter(of_type)
        if options.agent is not None:
            self.scope = self.scope.filter(agent_id=options.agent)
        self.chosen: Samples = self.scope
        self.left_out: dict[str, Samples] = {}
        for reason, unwanted in self.build_conditions():
            self.left_out[reason] = self.chosen.filter(unwanted)
            self.chosen = self.chosen.filter(~unwanted)

    def count_excluded(self) -> dict[str, dict[str, Any]]:
        """Count the samples that the options leave out, by reason.

        Each count has the ids of the first of them.
        """
        groups = {}
        for reason, rows in self.left_out.items():
            if count := rows.count():
                ids = rows.order_by("created_at", "id").values_list("id", flat=True)
                groups[reason] = {"count": count, "samples": list(ids[:LISTED])}
        return groups

    def is_scored(self) -> bool:
        """Whether any sample of these types and this agent has a quality score."""
        return self.scope.filter(quality_score__isnull=False).exists()

    def read_sessions(self) -> Iterator[tuple[str, str, Iterator[Row]]]:
        """The sessions in order: agent, session and rows of each.

        The rows are read while they are iterated.
        """
        for agent_id in self._agent_ids():
            for session_id, rows in groupby(self._read_rows(agent_id), key=itemgetter("session_id")):
                yield agent_id, session_id, rows

    def read_batches(self, columns: Sequence[str], long_column: str) -> Iterator[list[PlainRow]]:
        """All samples in the same order, in batches of their values of these columns.

        The columns begin with those of ORDER. The lengths of `long_column` decide how many rows a batch has.
        """
        for agent_id in self._agent_ids():
            yield from self._read_batches(agent_id, columns, long_column)

    def _agent_ids(self):
        if self.options.agent is not None:
            return [self.options.agent]
        return list(self.chosen.order_by("agent_id").values_list("agent_id", flat=True).distinct())

    def build_conditions(self) -> Iterator[tuple[str, Q]]:
        """The reasons for leaving a sample out that columns tell, with their conditions.

        The first reason that applies counts.
        """
        yield "rejected", Q(annotation_status=DatasetSample.Status.REJECTED)
        yield "repeated", Q(id__in=DatasetSample.objects.filter(repeat_of__isnull=False).values("id"))
        if self.options.only_approved:
            yield "not_approved", ~Q(annotation_status__in=DatasetSample.APPROVED)
        yield from self._list_other_conditions()
        if (self.options.format, self.options.task, self.options.tool_results) == ("alpaca", "reply", LEAVE_OUT):
            yield RESTS_ON_TOOLS, RESTING
        if self.options.min_quality is not None:
            yield "low_quality", Q(quality_score=None) | Q(quality_score__lt=self.options.min_quality)
        if set(GATE_TYPES) & set(self.options.sample_types) and consent.read_opted_out():
            yield "opted_out", OF_NO_TURN
        yield "no_turn", Q(turn_number=None) & ~OF_NO_TURN

    def _list_other_conditions(self):
        """Conditions of samples that are not a person's question with the agent's answer.

        Without those that the options include.
        """
        if not self.options.include_injected:
            yield outcomes.INJECTED, ~Q(prompted_by="")
        if not self.options.include_unrecognized:
            yield outcomes.UNKNOWN_ENVELOPE, Q(turn_traits__contains=UNRECOGNIZED)
        if not self.options.include_interrupted:
            yield outcomes.INTERRUPTED, Q(reply_stop__in=INTERRUPTED)
        if not self.options.include_cut_off:
            yield "cut_off", Q(reply_stop__in=CUT_OFF)
        if not self.options.include_pictures:
            yield outcomes.PICTURE, Q(turn_traits__contains=IMAGES)

    def _read_rows(self, agent_id) -> Iterator[Row]:
        for batch in self._read_batches(agent_id, self.columns, "content"):
            for row in batch:
                yield dict(zip(self.columns, row, strict=True))

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
