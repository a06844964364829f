"""Context of pages about the evidence of a sample or a turn."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from agents import databases
from agents.models import Agent
from guardian.models import BehaviorCorrection, Rollback
from ledger.models import ConversationTurn

from ..models import DatasetSample, TurnOutcome
from . import strategies
from .criteria import CRITERIA
from .runs import Collection, build_candidate
from .sample_creation import read_answer
from .turn_evidence import read_evidence
from .words import ANSWERS, OUTCOMES, SOURCES

WRITES = {"rollback": Rollback, "correction": BehaviorCorrection}


@dataclass(frozen=True, slots=True)
class Line:
    """The answer of one criterion, with the link to the row that gave it; the address may be empty."""

    name: str
    question: Any
    answer: str
    word: Any
    source: Any
    address: str


def build_evidence(sample: DatasetSample) -> list[Line]:
    """The stored evidence of a sample, in the order of the criteria; none of one created by hand."""
    rows = {row.criterion: (row.answer, row.source_kind, row.source_id) for row in sample.evidence.all()}
    place = sample.agent_id, sample.session_id, sample.turn_number
    return _build_lines(rows, *place) if rows else []


def build_turn_context(agent: Agent, turn: ConversationTurn) -> dict[str, Any]:
    """The outcome of a turn by the strategy in force, with the answers of all criteria."""
    strategy = strategies.find_in_force()
    early = Collection(strategy.criteria, agent).find_early([turn])
    stored = TurnOutcome.objects.filter(agent_id=agent.agent_id, turn_id=turn.id).first()
    context: dict[str, Any] = {
        "strategy": strategy,
        "stored": stored,
        "stored_word": OUTCOMES[TurnOutcome.Outcome(stored.outcome).label] if stored else "",
    }
    if turn.id in early:
        return context | {"outcome": OUTCOMES[early[turn.id].label], "lines": []}
    evidence = read_evidence(agent, [turn])[turn.id]
    candidate = build_candidate(evidence, strategy.criteria)
    rows = {criterion.name: read_answer(candidate.answers, criterion) for criterion in CRITERIA}
    place = candidate.place
    name = (
        "already"
        if evidence.samples
        else "waiting"
        if place.is_waiting
        else "candidate"
        if place.sample_type
        else "no_criterion"
    )
    lines = _build_lines(rows, agent.agent_id, turn.session_id, turn.turn_number)
    return context | {"outcome": OUTCOMES[name], "lines": lines, "place": place, "samples": evidence.samples}


def _build_lines(rows, agent_id, session_id, number):
    audits = _find_audits(agent_id, rows.values())
    lines = []
    for criterion in CRITERIA:
        answer, kind, source_id = rows.get(criterion.name, ("unknown", "", ""))
        address = _build_address(kind, source_id, agent_id, session_id, number, audits)
        source = source_id if kind == "score" else SOURCES.get(kind, "")
        lines.append(Line(criterion.name, criterion.question, answer, ANSWERS[answer], source, address))
    return lines


def _find_audits(agent_id, rows: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], str]:
    """The write behind each rollback and correction."""
    db = databases.find_alias(agent_id)
    audits: dict[tuple[str, str], str] = {}
    for kind, model in WRITES.items():
        ids = {source_id for _answer, name, source_id in rows if name == kind}
        stored = model.objects.using(db).filter(id__in=ids).values_list("id", "audit_id") if db and ids else ()
        audits |= {(kind, row_id): audit_id for row_id, audit_id in stored}
    return audits


def _build_address(kind, source_id, agent_id, session_id, number, audits):
    if kind == "findings" and number is not None:
        return f"{reverse('ledger:session_detail', args=[agent_id, session_id])}?turn={number}#t-{number}"
    if kind == "sample":
        return reverse("datasets:sample_detail", args=[source_id]) if source_id else ""
    routes = {"decision": "gate:decision_detail", "replay": "gate:replay_detail", "write": "guardian:audit_detail"}
    if kind in WRITES:
        kind, source_id = "write", audits.get((kind, source_id), "")
    return reverse(routes[kind], args=[agent_id, source_id]) if kind in routes and source_id else ""
