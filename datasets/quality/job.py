"""The job that asks turns for their signals, behind imports: turns that are new, that grew, and the one before each."""

import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases, visits
from agents.models import Agent
from jobs.kinds import MINUTE_MS, Kind, Schedule
from ledger import consent
from ledger.models import ConversationTurn, Session, TranscriptEvent
from openclaw_web.amounts import format_plural
from openclaw_web.disk import locks
from openclaw_web.sqlite import write_queue

from ..models import SignalPosition, TurnSignals
from . import scores
from .all_signals import ALL_BITS, RULE, collect_bits, find_answers
from .signal import State
from .turn_reader import WINDOW, SessionReader, build_people_finder
from .turn_texts import TurnTexts

LOCK = "turn-signals.lock"
SESSIONS, BLOCK = 500, 500  # sessions, and turns of a session, that are read at once
STORED = 200  # turns, and sessions, of one transaction
TURN_COLUMNS = (
    *("id", "session_id", "turn_number", "user_message_id", "agent_message_id", "user_metadata", "created_at"),
    *("answer_state", "first_seq", "last_seq", "record_count"),
)
ANSWERS = ("yes", "unknown", "waiting", "score", "rule", "mark", "session_id", "turn_number", "at")


@dataclass(slots=True)
class Batch:
    """Answers and positions of an agent that are stored in one transaction; `weights` are those of the factors."""

    agent_id: str
    weights: dict[str, float]
    consent: int
    rows: list[TurnSignals] = field(default_factory=list)
    positions: list[SignalPosition] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    errors: dict[str, int] = field(default_factory=dict)

    def add_turn(self, texts: TurnTexts, session_id: str, mark: int) -> None:
        """Ask a turn, and store the batch when it is full."""
        row = build_row(self.agent_id, texts, self.weights, self.errors)
        row.session_id, row.mark = session_id, mark
        self.rows.append(row)
        self.counts["turns"] += 1
        if len(self.rows) >= STORED:
            self.store()

    def add_position(self, session_id: str, position: str) -> None:
        """Note how far a session was asked; its answers are stored before, or together with it."""
        place = {"agent_id": self.agent_id, "session_id": session_id, "position": position}
        self.positions.append(SignalPosition(**place, rules=RULE, consent=self.consent))
        if len(self.positions) >= STORED:
            self.store()

    def store(self) -> None:
        with write_queue.global_transaction():
            unique = ["agent_id", "turn_id"]
            TurnSignals.objects.bulk_create(
                self.rows, batch_size=100, update_conflicts=True, unique_fields=unique, update_fields=ANSWERS
            )
            self.counts["samples"] += scores.update_samples(
                self.agent_id, {row.session_id for row in self.rows}, self.rows
            )
            SignalPosition.objects.bulk_create(
                self.positions,
                batch_size=100,
                update_conflicts=True,
                unique_fields=["agent_id", "session_id"],
                update_fields=["position", "rules", "consent"],
            )
        self.rows, self.positions = [], []


def fill_all(progress: Any = None) -> dict[str, Any]:
    """Ask all turns that have no current answers; return the counts as JSON-able values.

    Running it again after an interruption goes on where it was. Raises what `progress.update` raises.
    """
    counts: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    with locks.lock(LOCK):
        state = read_consent()
        for agent_id, db in list_agents():
            file_state = read_file_state(agent_id)
            if _is_current(agent_id, file_state, state):
                continue
            batch = Batch(agent_id, scores.read_weights(), state)
            for done in _ask_agent(db, batch):
                if progress:
                    progress.update(counts["turns"] + done, None, _("Asking turns of %(agent)s") % {"agent": agent_id})
            _remove_gone(agent_id, db)
            batch.add_position("", file_state)
            batch.store()
            counts.update(batch.counts)
            errors.update(batch.errors)
        for table in (TurnSignals, SignalPosition):
            _delete(table.objects.exclude(agent_id__in=Agent.objects.values("agent_id")))
    return {
        "message": describe(counts, errors),
        **{name: counts[name] for name in ("turns", "samples")},
        "errors": errors,
    }


def describe(counts: Counter[str], errors: Counter[str]) -> str:
    """The result in sentences."""
    sentence = format_plural("%(count)s turn asked.", "%(count)s turns asked.", counts["turns"])
    if not errors:
        return sentence
    failed = ", ".join(f"{name}: {count:,}" for name, count in sorted(errors.items()))
    more = _("Signals that failed and are unknown there: %(names)s.") % {"names": failed}
    return f"{sentence} {more}"


def is_needed() -> bool:
    """Whether an agent's file, the rules, the weights or those who opted out have changed since the last run."""
    state = read_consent()
    return any(
        not _is_current(agent_id, read_file_state(agent_id), state)
        and (TranscriptEvent.objects.using(db).exists() or SignalPosition.objects.filter(agent_id=agent_id).exists())
        for agent_id, db in list_agents()
    )


def forget_sessions(agent_id: str, session_ids: Collection[str]) -> None:
    """Have all turns of these sessions asked again, because their records were replaced."""
    with write_queue.global_transaction():
        SignalPosition.objects.filter(agent_id=agent_id, session_id__in=["", *session_ids]).update(position="")


def list_agents() -> Iterator[tuple[str, str]]:
    """Yield the agents whose files can be used, with their aliases."""
    for agent_id in Agent.objects.order_by("agent_id").values_list("agent_id", flat=True):
        if db := databases.find_alias(agent_id):
            yield agent_id, db


def read_file_state(agent_id: str) -> str:
    """A text that differs after every change of an agent's file."""
    return orjson.dumps(visits.read_state(agent_id)).decode()


def read_consent() -> int:
    """A number that differs when other texts may be used, or are weighed otherwise."""
    facts = [sorted(consent.read_opted_out()), sorted(scores.read_weights().items())]
    return zlib.crc32(orjson.dumps(facts))


def build_row(
    agent_id: str, texts: TurnTexts, weights: dict[str, float], errors: dict[str, int] | None = None
) -> TurnSignals:
    """The row of a turn with its answers, without its session and mark."""
    answers = find_answers(texts, errors)
    unknown = collect_bits(answers, State.UNKNOWN, State.NOT_YET)
    row = TurnSignals(agent_id=agent_id, turn_id=texts.id, turn_number=texts.number, at=texts.at, rule=RULE)
    row.yes, row.unknown = collect_bits(answers, State.YES), unknown
    row.waiting = collect_bits(answers, State.NOT_YET)
    row.score = None if unknown == ALL_BITS else scores.compute_score(scores.compute_factors(row.yes, unknown), weights)
    return row


def select_turns(db: str, session_id: str):
    """The turns of a session that have answers: those of its active branch that are no copies, in order."""
    turns = ConversationTurn.objects.using(db).active().filter(session_id=session_id, repeat_of=None)
    return turns.order_by("turn_number").only(*TURN_COLUMNS)


def _is_current(agent_id, file_state, state):
    place = {"agent_id": agent_id, "session_id": "", "position": file_state, "rules": RULE, "consent": state}
    return SignalPosition.objects.filter(**place).exists()


def _ask_agent(db, batch) -> Iterator[int]:
    """Ask the turns of sessions that changed; yield the number of turns so far."""
    last, find_people = "", build_people_finder(db)
    sessions = Session.objects.using(db).order_by("id")
    while rows := list(sessions.filter(id__gt=last)[:SESSIONS]):
        last = rows[-1].id
        known = SignalPosition.objects.filter(agent_id=batch.agent_id, session_id__in=[row.id for row in rows])
        positions = {row.session_id: row for row in known}
        for session in rows:
            position = f"{session.record_count}:{session.id_checksum}:{session.withheld_count}"
            before = positions.get(session.id)
            if before and (before.position, before.rules, before.consent) == (position, RULE, batch.consent):
                continue
            reader = SessionReader(db, session, find_people)
            yield from _ask_session(reader, batch, is_anew=before is not None and not before.position)
            batch.add_position(session.id, position)


def _ask_session(reader, batch, *, is_anew) -> Iterator[int]:
    """Ask the turns of a session whose mark differs, or all; remove the answers of turns that are gone."""
    session_id, last = reader.session.id, -1
    tail: list[ConversationTurn] = []
    stored = TurnSignals.objects.filter(agent_id=batch.agent_id, session_id=session_id)
    while True:
        rows = list(select_turns(reader.db, session_id).filter(turn_number__gt=last)[: BLOCK + 1])
        block, turns = rows[:BLOCK], tail + rows
        marks = compute_marks(turns, batch.consent)
        known = stored.filter(turn_number__gt=last)
        if len(rows) > BLOCK:
            known = known.filter(turn_number__lte=block[-1].turn_number)
        current = {row.turn_id: (row.mark, row.rule) for row in known}
        _delete(stored.filter(turn_id__in=list(current.keys() - {turn.id for turn in block})))
        chosen = {turn.id for turn in block if is_anew or current.get(turn.id) != (marks[turn.id], RULE)}
        for texts in reader.read(turns, chosen):
            batch.add_turn(texts, session_id, marks[texts.id])
            if batch.counts["turns"] % STORED == 0:
                yield batch.counts["turns"]
        if len(rows) <= BLOCK:
            return
        tail, last = (tail + block)[-WINDOW:], block[-1].turn_number


def compute_marks(turns: list[ConversationTurn], state: int) -> dict[str, int]:
    """A number for each turn that differs when its answers may: by its records, those before it and the next turn."""
    facts = [f"{turn.id} {turn.last_seq} {turn.record_count} {turn.answer_state}" for turn in turns]
    following = [*(turn.id for turn in turns[1:]), ""]
    return {
        turn.id: zlib.crc32(repr([state, following[place], *facts[max(0, place - WINDOW) : place + 1]]).encode())
        for place, turn in enumerate(turns)
    }


def _remove_gone(agent_id, db):
    """Remove the answers and positions of sessions that are not stored any more."""
    positions, last = SignalPosition.objects.filter(agent_id=agent_id).exclude(session_id=""), ""
    while names := list(
        positions.filter(session_id__gt=last).order_by("session_id")[:SESSIONS].values_list("session_id", flat=True)
    ):
        last = names[-1]
        gone = set(names) - set(Session.objects.using(db).filter(id__in=names).values_list("id", flat=True))
        if gone:
            _delete(TurnSignals.objects.filter(agent_id=agent_id, session_id__in=gone))
            _delete(positions.filter(session_id__in=gone))


def _delete(rows):
    """Delete rows in short transactions."""
    while ids := list(rows.values_list("id", flat=True)[:STORED]):
        with write_queue.global_transaction():
            rows.model.objects.filter(id__in=ids).delete()


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Ask the turns that have no current answers."""
    return fill_all(progress)


JOB = Kind(
    run=run,
    label=gettext_lazy("Ask turns for signals"),
    audit_text=gettext_lazy("started to ask turns for signals"),
    cancel_text=gettext_lazy("Answers already stored are kept; the next run continues."),
    schedule=Schedule("schedule.signalMinutes", MINUTE_MS, dict, is_needed),
)
