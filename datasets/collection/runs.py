"""Runs of collecting: each turn gets one outcome, and the funnel of a run counts them.

A killed run goes on: ids of samples follow from their turns, and the numbers are counted from what is stored.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from agents import databases, visits
from agents.models import Agent
from ledger import consent
from ledger.models import ConversationTurn, Session
from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements, write_queue
from openclaw_web.sqlite.rows import insert_sql
from people.configuration import setting_values as configuration

from .. import turn_facts
from ..models import CollectionRun, TurnOutcome
from ..sample_texts import INJECTED
from ..spot_checks import checks
from . import sample_creation, strategies, walk
from .classification import DAYS, LEAVE, Type, apply_thresholds, classify
from .criteria import POSITIVE, answer_all
from .sample_creation import Candidate
from .turn_evidence import read_evidence

LOCK = "collecting.lock"
ENABLED = "datasetCollection.enabled"
ALL, ONLY_POSITIVE, ONLY_NEGATIVE = TYPES = ("all", "positive", "negative")
Outcome = TurnOutcome.Outcome
CAN_BE = {Outcome.SAMPLE, Outcome.CANDIDATE, Outcome.ALREADY, Outcome.NO_CRITERION, Outcome.OTHER_TYPE, Outcome.WAITING}
PLACE_COLUMNS = ("agent_id", "turn_id", "session_id", "turn_number", "at", "mark")
COLUMNS = (*PLACE_COLUMNS, "outcome", "yes", "unknown", "score", "run_id")
STORE = f"{insert_sql('turn_outcomes', COLUMNS)} ON CONFLICT (agent_id, turn_id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in COLUMNS[2:]
)
STORE_OUTSIDE = f"{insert_sql('turn_outcomes', COLUMNS)} ON CONFLICT (agent_id, turn_id) DO NOTHING"


def create_run(
    *, by: str, is_dry: bool = False, strategy: str = strategies.DEFAULT, is_auto: bool = False, **options: Any
) -> CollectionRun:
    """A new run that nothing has worked on. Raises Refused where collecting is off, or for invalid options.

    `options` are `agent`, `session`, `since` and `until` (milliseconds), `type` and `auto_approve`. With `is_auto` it
    is about what is new since the last such run.
    """
    if not configuration.is_on(ENABLED):
        raise Refused(_("Collecting samples is turned off in the settings."))
    options = {name: value for name, value in options.items() if value not in (None, "", False)}
    if options.get("type", ALL) not in TYPES:
        raise Refused(_("The type must be all, positive or negative."))
    since, until = options.get("since"), options.get("until")
    if since is not None and until is not None and until <= since:
        raise Refused(_("The end of the time must be after its beginning."))
    if options.get("agent") and not Agent.objects.filter(agent_id=options["agent"]).exists():
        raise Refused(_("There is no agent “%(name)s”.") % {"name": options["agent"]})
    row = CollectionRun(strategy=strategies.require_in_force(strategy), is_dry=is_dry, started_by=by)
    row.options, row.started_at = options | ({"auto": True} if is_auto else {}), clock.now_ms()
    row.save(force_insert=True)
    return row


def perform(run: CollectionRun, progress: Any) -> CollectionRun:
    """Do the work of a run, also of one that was killed. Raises what `progress.update` raises."""
    outside: Counter[int] = Counter()
    with locks.lock(LOCK):
        done = 0
        for agent in list_agents(run):
            collection = Collection(run.strategy.criteria, agent, run)
            for turns in collection.read_batches(outside):
                collection.look_at(turns)
                done += len(turns)
                progress.update(done, None, _("Checking turns of %(agent)s") % {"agent": agent.agent_id})
            collection.end()
        if not run.is_dry:
            checks.stop_if_due()
        end_run(run, outside)
    return run


def list_agents(run: CollectionRun) -> Iterator[Agent]:
    """The agents of a run whose files can be used."""
    name = run.options.get("agent")
    agents = Agent.objects.filter(agent_id=name) if name else Agent.objects.order_by("agent_id")
    return (agent for agent in agents if databases.find_alias(agent.agent_id))


def end_run(run: CollectionRun, outside: Counter[int]) -> None:
    """Count the outcomes of a run; an automatic one without any turn is removed."""
    rows = TurnOutcome.objects.filter(run_id=run.id).exclude(outcome=Outcome.OUTSIDE)
    counts = Counter(dict(rows.values_list("outcome").annotate(Count("id")))) + outside
    if run.options.get("auto") and not counts:
        run.delete()
        return
    run.counts = {Outcome(number).label: count for number, count in sorted(counts.items())}
    run.state, run.ended_at = CollectionRun.State.FINISHED, clock.now_ms()
    run.save(update_fields=["counts_json", "state", "ended_at"])


def find_turns(run: CollectionRun, outcome: Outcome) -> QuerySet[TurnOutcome]:
    """The turns that a run gave an outcome, and that no later run looked at; those outside of its time by that time."""
    if outcome != Outcome.OUTSIDE:
        return TurnOutcome.objects.filter(run_id=run.id, outcome=outcome)
    rows = TurnOutcome.objects.all()
    for column, name in (("agent_id", "agent"), ("session_id", "session")):
        rows = rows.filter(**{column: run.options[name]}) if run.options.get(name) else rows
    since, until = run.options.get("since"), run.options.get("until")
    return rows.filter((Q(at__lt=since) if since else Q(pk=None)) | (Q(at__gte=until) if until else Q(pk=None)))


def build_funnel(counts: dict[str, int]) -> dict[str, Any]:
    """Turns, candidates, samples, and the turns by the reason why they are none; the sums are equal."""
    can_be = sum(counts.get(outcome.label, 0) for outcome in CAN_BE)
    made = {name: counts.get(name, 0) for name in ("sample", "candidate")}
    reasons = {name: count for name, count in counts.items() if name not in made}
    return {"turns": sum(counts.values()), "candidates": can_be, "samples": sum(made.values()), "reasons": reasons}


class Collection:
    """A strategy on one agent; with a `run`, that run."""

    def __init__(self, criteria: dict[str, Any], agent: Agent, run: CollectionRun | None = None):
        self.criteria, self.agent, self.run = criteria, agent, run
        self.options = run.options if run else {}
        self.is_complete = False
        self.state = walk.read_state(agent) if run else {}  # before the walk: what arrives later is for the next run
        self.may_approve = self.options.get("auto_approve", self.criteria["autoApprove"])

    def read_batches(self, outside):
        """The turns to look at; those outside of the chosen time get their outcome at once."""
        since, until, session = (self.options.get(name) for name in ("since", "until", "session"))
        noted = walk.read_noted(self.agent.agent_id) if self.options.get("auto") else None
        if noted and not walk.is_replaced(noted, self.state):
            begin = self.state if visits.is_unchanged(self.agent.agent_id, noted) else noted
            yield from walk.read_new(self.agent, begin, self.criteria[POSITIVE][DAYS], clock.now_ms())
            return
        self.is_complete = True
        for limits in ({"until": since}, {"since": until}):
            if next(iter(limits.values())) is not None:
                for turns in walk.read_turns(self.agent, session or "", **limits):
                    outside[Outcome.OUTSIDE] += len(turns)
                    self._store(STORE_OUTSIDE, [(turn, Outcome.OUTSIDE, None) for turn in turns])
        yield from walk.read_turns(self.agent, session or "", since, until)

    def look_at(self, turns: Collection[ConversationTurn]) -> None:
        """Classify turns, create their samples, and store outcomes and evidence."""
        early = self.find_early(turns)
        evidence = read_evidence(self.agent, [turn for turn in turns if turn.id not in early])
        candidates = {turn_id: build_candidate(row, self.criteria) for turn_id, row in evidence.items()}
        stored = TurnOutcome.objects.filter(agent_id=self.agent.agent_id, turn_id__in=list(candidates))
        before = {row.turn_id: row for row in stored.only("turn_id", "outcome", "run_id")}
        new = [candidate for turn_id, candidate in candidates.items() if self._is_new(candidate, before.get(turn_id))]
        if new and not self.run.is_dry:
            sample_creation.create_samples(self.agent, new, by=self.run.started_by)
            sample_creation.compare_with_approved(new)
            for candidate in new:
                candidate.place = classify(candidate.answers.yes, candidate.answers.unknown, self.criteria)
        if self.may_approve and not self.run.is_dry:
            sample_creation.approve_by_rule(candidate for candidate in candidates.values() if candidate.sample_id)
        rows = [
            (turn, early[turn.id], None)
            if turn.id in early
            else (turn, candidates[turn.id].outcome, candidates[turn.id])
            for turn in turns
        ]
        self._store(STORE, rows)

    def find_early(self, turns):
        """The outcome of each turn that can be no sample, whatever the criteria say."""
        withheld = consent.find_withheld(self.agent.db, turns)
        ids = {turn.session_id for turn in turns}
        sessions = Session.objects.using(self.agent.db).only("id", "session_key").in_bulk(ids)
        outcomes = {}
        for turn in turns:
            if not turn.is_active:
                outcomes[turn.id] = Outcome.ABANDONED
            elif turn.repeat_of:
                outcomes[turn.id] = Outcome.COPIED
            elif turn.id in withheld:
                outcomes[turn.id] = Outcome.OPTED_OUT
            elif turn.agent_message_id is None:
                outcomes[turn.id] = Outcome.NO_REPLY
            elif reason := turn_facts.find_stored_exclusion(
                sessions.get(turn.session_id), turn.user_metadata, turn.agent_metadata, turn.answer_state
            ):
                outcomes[turn.id] = Outcome.MACHINE if reason == INJECTED else Outcome.EXCLUDED
        return outcomes

    def _is_new(self, candidate, before):
        """Whether a candidate gets a sample; sets the outcome of one that does not.

        `before` is the outcome row of its turn, if any.
        """
        place, samples = candidate.place, candidate.evidence.samples
        if samples:
            own = sample_creation.find_own_sample(candidate)
            candidate.outcome = Outcome.SAMPLE if own and self._is_of_run(own, before) else Outcome.ALREADY
            if own is not None and not self.run.is_dry:
                candidate.sample_id = own.id
                sample_creation.revise_sample(self.agent, candidate, own)
        elif place.is_waiting:
            candidate.outcome = Outcome.WAITING
        elif place.side == LEAVE:
            candidate.outcome = Outcome.NO_CRITERION
        elif not _is_of_type(place, self.options.get("type", ALL)):
            candidate.outcome = Outcome.OTHER_TYPE
        else:
            return True
        return False

    def _is_of_run(self, sample, before):
        """Whether this run created a sample before it was killed."""
        if before is not None and before.outcome in (Outcome.SAMPLE, Outcome.ALREADY):
            return before.run_id == self.run.id and before.outcome == Outcome.SAMPLE
        return sample.created_at >= self.run.started_at - 1_000  # samples of a session have earlier milliseconds

    def _store(self, sql, rows):
        """Store the outcomes of turns, with the evidence of their samples."""
        values = [self._build_row(*row) for row in rows]
        with_samples = [candidate for _turn, _outcome, candidate in rows if candidate and candidate.sample_id]
        with write_queue.global_transaction():
            statements.run_many(DEFAULT_DB_ALIAS, sql, values)
            sample_creation.store_evidence(c for c in with_samples if c.outcome in (Outcome.SAMPLE, Outcome.ALREADY))

    def _build_row(self, turn, outcome, candidate):
        place = (self.agent.agent_id, turn.id, turn.session_id, turn.turn_number, turn.created_at)
        answers = candidate.base if candidate else None
        bits = (answers[0], answers[1], candidate.evidence.score) if answers else (0, 0, None)
        return (*place, walk.compute_mark(turn), int(outcome), *bits, self.run.id)

    def end(self) -> None:
        """Note how far a run came that was about everything, and forget turns that are gone."""
        if not self.options.keys() & {"session", "since", "until"}:
            if self.is_complete:
                TurnOutcome.objects.filter(agent_id=self.agent.agent_id).exclude(run_id=self.run.id).delete()
            if not self.run.is_dry and "type" not in self.options:
                walk.note(self.agent.agent_id, self.state)


def build_candidate(evidence: Any, criteria: dict[str, Any]) -> Candidate:
    """A turn with its answers and its place by a strategy."""
    answers = answer_all(evidence)
    base = answers.yes, answers.unknown
    age = (clock.now_ms() - evidence.turn.created_at) / clock.DAY_MS
    answers.yes, answers.unknown = apply_thresholds(*base, evidence.score, age, criteria)
    return Candidate(evidence, answers, classify(answers.yes, answers.unknown, criteria), base)


def _is_of_type(place, chosen):
    return (
        chosen == ALL
        or (chosen == ONLY_NEGATIVE and place.is_negative)
        or (chosen == ONLY_POSITIVE and place.sample_type == Type.MEMORY_GATE_POSITIVE)
    )
