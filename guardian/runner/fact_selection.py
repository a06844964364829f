"""Which facts our guardian is to write down: those of decisions that count for their turn, and nobody acted on yet."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef

from agents.models import Agent
from agents.runners.choice import Choice
from gate import decisions
from gate.models import MemoryGateDecision
from gate.runner.turn_selection import BATCH_SIZE, filter_by_choice, split_rows
from ledger import consent

from ..files import FILE_OF
from ..models import GuardianRun, WriteGuardianAudit
from .memory import Memory

State = GuardianRun.State


@dataclass(frozen=True, slots=True)
class FactChoice(Choice):
    """Which facts somebody wants written down; `give_up_after` counts runs about one that stopped.

    `files`: only facts for these, each of decisions since a moment.
    """

    files: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class FactSelection:
    """Decisions whose facts are to be written down, the oldest first; how many more are withheld."""

    decisions: list[MemoryGateDecision] = field(default_factory=list)
    withheld: int = 0


def select_facts(agent: Agent, asked: FactChoice) -> FactSelection:
    """The decisions whose facts our guardian is to write down. Raises NoSuchSession."""
    memory, chosen = Memory(agent), FactSelection()
    rows = _wanted(agent.db, asked).iterator(chunk_size=BATCH_SIZE)
    for row, is_withheld in _told(agent.db, _for_us(agent.db, rows, asked), memory):
        if is_withheld:
            chosen.withheld += 1
        else:
            chosen.decisions.append(row)
        if len(chosen.decisions) == asked.limit:
            break
    chosen.decisions.reverse()
    return chosen


def get_target_file(decision: MemoryGateDecision) -> str:
    """The file that a decision to write is about."""
    return FILE_OF[decision.decision]


def is_open(db: str, decision: MemoryGateDecision) -> bool:
    """Whether nobody has acted on a decision by now."""
    return next(_for_us(db, _open(db).filter(id=decision.id), FactChoice()), None) is not None


def _open(db):
    rows = MemoryGateDecision.objects.using(db).filter(decision__in=FILE_OF, candidate_fact__gt="")
    runs = GuardianRun.objects.using(db).filter(decision_id=OuterRef("id")).exclude(state=State.STOPPED)
    audits = WriteGuardianAudit.objects.using(db).filter(decision_id=OuterRef("id"))
    return rows.exclude(Exists(audits)).exclude(Exists(runs)).defer("raw_response")


def _wanted(db, asked):
    """The rows of the decisions, newest first."""
    rows = filter_by_choice(db, _open(db), asked)
    if asked.give_up_after is not None:
        runs = GuardianRun.objects.using(db).filter(decision_id=OuterRef("id"), state=State.STOPPED)
        many = runs.values("decision_id").annotate(number=Count("id")).filter(number__gte=asked.give_up_after)
        rows = rows.exclude(Exists(many))
    return rows.placed().order_by("-created_at", "-place")


def _for_us(db, rows: Iterable[MemoryGateDecision], asked) -> Iterator[MemoryGateDecision]:
    """Those that count for their turn, and whose turn has no write to that file under the name of another decision."""
    since = dict(asked.files)
    for some in split_rows(rows):
        turn_ids = {row.turn_id for row in some if row.turn_id}
        counting = decisions.find_by_turn(db, turn_ids) if turn_ids else {}
        acted = set(
            WriteGuardianAudit.objects.using(db).filter(turn_id__in=turn_ids).values_list("turn_id", "target_file")
        )
        for row in some:
            is_counting = row.turn_id is None or counting[row.turn_id].id == row.id
            is_chosen = not since or row.created_at >= since.get(get_target_file(row), row.created_at + 1)
            if is_counting and is_chosen and (row.turn_id, get_target_file(row)) not in acted:
                yield row


def _told(db, rows, memory: Memory) -> Iterator[tuple[MemoryGateDecision, bool]]:
    """Each with whether it is withheld: its turn is, or its file."""
    for some in split_rows(rows):
        hidden = consent.find_withheld_keys(db, [row.turn_id for row in some])
        for row in some:
            yield row, row.turn_id in hidden or memory.is_hidden(get_target_file(row))
