"""Replays of decisions against people's verdicts: scores of both gates, and disagreements for review."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.models import Agent
from gate import verdict_store
from gate.models import GateReplay, MemoryGateDecision
from gate.replays import results
from gate.replays.results import VerdictScores
from openclaw_web.batches import in_batches
from openclaw_web.sqlite.fields import RowId

from ..kinds import turn as turns
from ..kinds.decision import DECISION, find_samples
from ..kinds.review_requests import queue_decisions
from ..kinds.sample_store import CreationResult
from ..kinds.verdict_service import find_verdicts
from ..models import DatasetSample, SampleLabel

BATCH = 500  # decisions that one click puts into the queue


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """A replay against people's verdicts on its decisions.

    `undecided` counts wrong decisions of which nobody said what would be right.

    `to_queue` counts the disagreements that can be sent to review; `judged_before`, `sampled` and `unknown` those that
    cannot: somebody judged them, they or their turns are samples that wait, or neither turn nor window is known.
    """

    judged: VerdictScores
    undecided: int
    different: int
    to_queue: int
    judged_before: int
    sampled: int
    unknown: int


def find_approved_ids(agent_id: str) -> Iterator[str]:
    """Ids of the decisions of an agent that approved samples are about."""
    rows = DatasetSample.objects.approved().filter(agent_id=agent_id, decision_id__isnull=False)
    yield from rows.values_list("decision_id", flat=True).iterator(chunk_size=BATCH)


def compare_with_verdicts(agent: Agent, replay: GateReplay) -> ReplayComparison:
    """Both gates against the verdicts in force on the decisions that the replay made again."""
    originals = dict(results.read_originals(agent.db, replay.id))
    known_verdicts = find_verdicts(DECISION, agent, _read_decisions(agent.db, list(originals)))
    verdicts = _get_right_decisions(known_verdicts, originals)
    undecided = len(known_verdicts) - len(verdicts)
    judged = results.score_gates(agent.db, replay.id, verdicts)
    ids = _find_different(agent.db, replay)
    rows = _find_usable(agent, ids)
    free_count, known_count = len(_find_unsampled(agent, rows)), len(known_verdicts.keys() & set(ids))
    return ReplayComparison(
        judged, undecided, len(ids), free_count, known_count, len(rows) - free_count - known_count, len(ids) - len(rows)
    )


def find_right_decisions(agent: Agent) -> dict[str, str]:
    """The right decision of each judged decision of an agent, where somebody said it."""
    rows = list(MemoryGateDecision.objects.using(agent.db).filter(verdict__isnull=False).defer("raw_response"))
    return _get_right_decisions(find_verdicts(DECISION, agent, rows), {row.id: row.decision for row in rows})


def _get_right_decisions(verdicts, originals):
    right = {name: originals[name] for name, verdict in verdicts.items() if verdict.is_right}
    return right | {name: verdict.corrected["decision"] for name, verdict in verdicts.items() if verdict.corrected}


def queue_disagreements(agent: Agent, replay: GateReplay, *, by: str) -> CreationResult:
    """Send the newest disagreements without a sample to the review queue, at most 500."""
    ids = _find_unsampled(agent, _find_usable(agent, _find_different(agent.db, replay)))
    return queue_decisions(agent, ids[:BATCH], by=by)


def _find_different(db, replay) -> list[str]:
    rows = results.find_disagreements(db, replay.id).order_by("number")
    return list(rows.values_list("decision_id", flat=True))


def _find_usable(agent, ids: Sequence[str]) -> list[MemoryGateDecision]:
    """The decisions that can become samples, in order: their turn or window is known."""
    rows = {row.id: row for row in _read_decisions(agent.db, ids) if row.turn_id or row.window_hash}
    return [rows[name] for name in ids if name in rows]


def _find_unsampled(agent, rows: Sequence[MemoryGateDecision]) -> list[str]:
    """Ids of the decisions that have no sample, and whose turn has none either."""
    known = find_samples(agent, list(rows))
    of_turns = {row.id: turns.compute_sample_id(agent.agent_id, row.turn_id) for row in rows if row.turn_id}
    existing = set(_find_existing(list(set(of_turns.values()))))
    return [row.id for row in rows if row.id not in known and of_turns.get(row.id) not in existing]


def _find_existing(sample_ids: Sequence[str]) -> Iterator[str]:
    for batch in in_batches(sample_ids, BATCH):
        yield from DatasetSample.objects.filter(id__in=batch).values_list("id", flat=True)


def _read_decisions(db, ids: Sequence[str]) -> Iterator[MemoryGateDecision]:
    rows = MemoryGateDecision.objects.using(db).only("id", "turn_id", "window_hash")
    for batch in in_batches(ids, BATCH):
        yield from rows.filter(id__in=batch)


PIECE = 10_000  # labels of one call: no page waits for a hundred thousand


def copy_new(agent: Agent) -> bool:
    """Copy new verdicts on an agent's decisions; return whether all are copied now."""
    labels = SampleLabel.objects.annotate(place=RowId())
    last = labels.order_by("-place").values_list("place", flat=True).first() or 0
    before = verdict_store.read_label_place(agent.db)
    if before > last:  # another global file, as after a restore
        verdict_store.delete_all(agent.db)
        before = 0
    if before >= last:
        return True
    new = labels.filter(place__gt=before).order_by("place")
    piece = list(new.values_list("place", "sample__agent_id", "sample__decision_id")[:PIECE])
    place = piece[-1][0] if len(piece) == PIECE else max(last, piece[-1][0] if piece else 0)
    ids = {decision_id for _place, agent_id, decision_id in piece if decision_id and agent_id == agent.agent_id}
    return verdict_store.store_verdicts(agent.db, _read_verdicts(agent, ids), before=before, place=place) >= last


def _read_verdicts(agent, ids):
    """The verdicts in force on these decisions by id; None: no verdict."""
    rows = MemoryGateDecision.objects.using(agent.db).filter(id__in=ids).only("id", "turn_id")
    known = find_verdicts(DECISION, agent, rows)
    right, wrong = verdict_store.Verdict.RIGHT, verdict_store.Verdict.WRONG
    words = {name: right if verdict.is_right else wrong for name, verdict in known.items()}
    return {name: words.get(name) for name in ids}
