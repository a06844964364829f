"""The signals of a sample, for its page: answers as stored, and the places where they were seen."""

from typing import Any
from urllib.parse import quote

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from agents import databases
from ledger.models import Session
from openclaw_web.sqlite.json_columns import decode

from ..model_scores.scoring import find_scores
from ..models import DatasetSample, TurnSignals
from . import job, scores
from .all_signals import SIGNALS, find_answers
from .signal import FACTORS, Answer, State
from .turn_reader import WINDOW, SessionReader, build_people_finder

STATE_WORDS = {
    State.YES: _("Yes"),
    State.NO: _("No"),
    State.UNKNOWN: _("Not known"),
    State.NOT_YET: _("Not yet"),
}
FACTOR_WORDS = dict(
    zip(FACTORS, (_("Clarity of the conversation"), _("Confidence of the work"), _("Facts with sources")), strict=True)
)


def build_signal_context(sample: DatasetSample) -> dict[str, Any] | None:
    """Answers, score and factors of a sample's turn; None where it has none yet."""
    row = TurnSignals.objects.filter(agent_id=sample.agent_id, turn_id=sample.turn_id).first()
    if row is None:
        return None
    answers = _read_answers(row) if row.yes else {}
    weights, factors = scores.read_weights(), decode(sample.quality_factors)
    rows = []
    for signal in SIGNALS:
        state = get_state(row, signal.bit)
        answer = answers.get(signal.name)
        has_place = state == State.YES and answer is not None and answer.state == State.YES
        rows.append(
            {
                "signal": signal,
                "state": state,
                "word": STATE_WORDS[state],
                "factor": FACTOR_WORDS[signal.factor],
                "kind": answer.kind if has_place else "",
                "href": _build_address(row, answer) if has_place else "",
            }
        )
    return {
        "rows": rows,
        "score": sample.quality_score,
        "factors": [(FACTOR_WORDS[name], factors.get(name), weights[name]) for name in FACTORS],
        "model": find_scores([sample.id]).get(sample.id),
        "has_yes": bool(row.yes),
        "unknown": sum(entry["state"] in (State.UNKNOWN, State.NOT_YET) for entry in rows),
    }


def get_state(row: TurnSignals, bit: int) -> State:
    """The stored answer of a turn."""
    if row.waiting >> bit & 1:
        return State.NOT_YET
    if row.unknown >> bit & 1:
        return State.UNKNOWN
    return State.YES if row.yes >> bit & 1 else State.NO


def _read_answers(row) -> dict[str, Answer]:
    """The answers of a turn with their places, which are not stored."""
    db = databases.find_alias(row.agent_id)
    session = Session.objects.using(db).filter(id=row.session_id).first() if db else None
    if session is None:
        return {}
    turns = job.select_turns(db, row.session_id)
    near = list(turns.filter(turn_number__lte=row.turn_number).reverse()[: WINDOW + 1])[::-1]
    near += turns.filter(turn_number__gt=row.turn_number)[:1]
    reader = SessionReader(db, session, build_people_finder(db))
    return next((find_answers(texts) for texts in reader.read(near, {row.turn_id})), {})


def _build_address(row, answer):
    """The record in its session where an answer was seen; of a turn without a reply, the turn."""
    address = reverse("ledger:session_detail", args=[row.agent_id, row.session_id])
    if not answer.record:
        return f"{address}?turn={row.turn_number}#t-{row.turn_number}"
    name = quote(answer.record, safe="")
    return f"{address}?record={name}#r-{name}"
