"""Creates samples from turns. Verdicts on them are in `verdicts`, `bulk` and `undo`."""

import logging
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from gate.models import MemoryGateDecision
from jobs import services as jobs
from ledger import consent
from ledger.models import ConversationTurn, Session
from ledger.transcripts.contexts import SETTING as WINDOW_SETTING
from ledger.transcripts.contexts import store_contexts
from openclaw_web import clock
from openclaw_web.amounts import format_plural, ngettext_lazy
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from people.configuration import setting_values as configuration

from . import turn_facts
from .dedup import signatures
from .exchange_store import store_exchanges
from .finding_values import sample_privacy
from .kinds import sample_store
from .kinds import turn as turns
from .kinds.sample_store import CREATED, CreationResult
from .models import DatasetSample
from .quality import scores
from .words import EXCLUDED_WORDS

MOST_TURNS = 500
BATCH = 50
NONE_CHOSEN: Mapping[str, MemoryGateDecision] = MappingProxyType({})
TURNS_SKIPPED = ngettext_lazy("%(count)s turn skipped", "%(count)s turns skipped", "count")
TURNS_LEFT_OUT = ngettext_lazy("%(count)s turn left out", "%(count)s turns left out", "count")
log = logging.getLogger(__name__)


def describe_problems(result: CreationResult) -> list[str]:
    """One sentence for each reason why turns were left out, with their numbers."""
    excluded = [
        format_plural("%(count)s turn: %(reason)s", "%(count)s turns: %(reason)s", count, reason=EXCLUDED_WORDS[reason])
        for reason, count in result.excluded.items()
    ]
    turns: dict[str, list[str]] = {}
    for skipped in result.skipped:
        turns.setdefault(skipped["reason"], []).append(skipped["id"])
    return excluded + [
        ngettext("Turn %(numbers)s: %(reason)s", "Turns %(numbers)s: %(reason)s", len(numbers))
        % {"numbers": listed(numbers[:10]) + (" …" if len(numbers) > 10 else ""), "reason": reason}
        for reason, numbers in turns.items()
    ]


def make_samples(
    agent: Agent,
    session_id: str,
    turn_numbers: Collection[int] | None,
    *,
    by: str,
    chosen: Mapping[str, MemoryGateDecision] = NONE_CHOSEN,
    status: str = DatasetSample.Status.PENDING,
    include_excluded: bool | None = None,
) -> CreationResult:
    """Create an `annotated_turn` sample for each of these turns, or for a whole session.

    `turn_numbers` None means all turns of the session that can have a sample.

    A turn that has its sample keeps it; a new one has the decision that was `chosen` for the turn, else the last.
    Turns that exports leave out by default (turn_facts.find_exclusion) are included with `include_excluded`, unless it
    is given with turns that somebody chose. Raises Refused for more than 500 turns; for a whole session it stops there
    and says how many are left.
    """
    result = CreationResult(CREATED, TURNS_SKIPPED, TURNS_LEFT_OUT)
    is_all = turn_numbers is not None if include_excluded is None else include_excluded
    numbers = _choose_turns(agent, session_id, turn_numbers, result, is_all=is_all)
    stored = ConversationTurn.objects.using(agent.db).filter(session_id=session_id, turn_number__in=numbers)
    ids = dict(stored.values_list("turn_number", "id"))
    for number in numbers:
        if number not in ids:
            result.skip(number, _("There is no such turn."))
    turn_ids = [ids[number] for number in numbers if number in ids]
    make_of_turns(agent, turn_ids, result, by=by, chosen=chosen, status=status, is_all=is_all)
    log.info("%s made %d samples of session %s of %s", by, len(result.made), session_id, agent.agent_id)
    return result


def make_of_turns(
    agent: Agent,
    turn_ids: Sequence[str],
    result: CreationResult,
    *,
    by: str,
    chosen: Mapping[str, MemoryGateDecision] = NONE_CHOSEN,
    status: str = DatasetSample.Status.PENDING,
    strategy: str = sample_store.BY_HAND,
    is_all: bool = False,
) -> set[str]:
    """Do as `make_samples` for turns of any sessions of an agent, and return the ids of those that exports leave out.

    With `is_all` these are included.
    """
    now, excluded = clock.now_ms(), set()
    for start in range(0, len(turn_ids), BATCH):
        stored = ConversationTurn.objects.using(agent.db).in_bulk(turn_ids[start : start + BATCH])
        batch = [stored[name] for name in turn_ids[start : start + BATCH] if name in stored]
        # A millisecond apart and counting down: lists show the newest first, and so keep the conversation's order.
        moments = {turn.id: now - start - index for index, turn in enumerate(batch)}
        excluded |= _make_batch(agent, batch, moments, result, chosen, status, strategy, is_all=is_all)
    if sample_privacy.count_waiting():
        jobs.start(sample_privacy.CHECK, {}, by=by)
    return excluded


def _choose_turns(agent, session_id, turn_numbers, result, *, is_all):
    """The numbers of the turns to create samples from.

    Of a whole session, turns that their stored columns exclude are left out.
    """
    if turn_numbers is not None:
        if not turn_numbers:
            raise Refused(_("Choose at least one turn."))
        if len(set(turn_numbers)) > MOST_TURNS:
            raise Refused(_("Choose at most %(most)s turns at a time.") % {"most": MOST_TURNS})
        return sorted(set(turn_numbers))
    have = DatasetSample.objects.filter(
        agent_id=agent.agent_id, session_id=session_id, sample_type=turns.TYPE
    ).values_list("turn_id", flat=True)
    active = ConversationTurn.objects.using(agent.db).active().filter(session_id=session_id, repeat_of=None)
    answered = active.filter(agent_message_id__isnull=False).order_by("turn_number")
    session = Session.objects.using(agent.db).filter(id=session_id).only("id", "session_key").first()
    known_ids, numbers = set(have), []
    columns = ("id", "turn_number", "user_metadata", "agent_metadata", "answer_state")
    for turn_id, number, *stored in answered.values_list(*columns).iterator(chunk_size=MOST_TURNS):
        if turn_id in known_ids:
            continue
        if not is_all and (reason := turn_facts.find_stored_exclusion(session, *stored)):
            result.excluded[reason] += 1
        else:
            numbers.append(number)
    result.left = max(0, len(numbers) - MOST_TURNS)
    return numbers[:MOST_TURNS]


def _make_batch(agent, batch, moments, result, chosen, status, strategy, *, is_all):
    """Store the contexts in the agent's file, then the samples of these turns; return the ids of those left out.

    If the process crashes between the two, the next call completes it.
    """
    exchanges = turns.read_exchanges(agent.db, batch)
    usable, excluded = [], set()
    for turn in batch:
        if not is_all and (reason := exchanges[turn.id].exclusion):
            result.excluded[reason] += 1
            excluded.add(turn.id)
        elif problem := exchanges[turn.id].problem:
            result.skip(turn.turn_number, problem)
        else:
            usable.append(turn)
    if not usable:
        return excluded
    gate = {**turns.find_decisions(agent.db, usable), **chosen}
    contexts = consent.filter_messages(agent.db, _store_contexts(agent, usable))
    rows = []
    for turn in usable:
        subject = turns.TurnSubject(turn, exchanges[turn.id], contexts.get(turn.id, []), gate.get(turn.id))
        row = sample_store.build_sample(turns.TURN, agent, turn.id, subject, status=status, is_checked=False)
        row.created_at, row.collection_strategy = moments[turn.id], strategy
        rows.append(row)
    scores.set_columns(rows)
    result.room = sample_privacy.set_columns(rows, result.room)
    # A job computes the signatures of those that it has to search first.
    new_signatures = {row.id: signatures.build_from_sample(row) for row in rows if row.privacy_checked is not None}
    _add_to_stored_turns(agent, rows, new_signatures, result)
    store_exchanges(rows)
    return excluded


def _store_contexts(agent, turns):
    size = configuration.get_number(WINDOW_SETTING)
    with transaction.atomic(using=agent.db):
        return store_contexts(agent.db, turns, size)


def _add_to_stored_turns(agent, rows, new_signatures, result):
    """Add the samples whose turns are still stored, under the agent's write lock.

    Whoever removes a session looks under the same lock whether it has samples.
    """
    with transaction.atomic(using=agent.db):
        turns = ConversationTurn.objects.using(agent.db).filter(id__in=[row.turn_id for row in rows])
        stored_ids = set(turns.values_list("id", flat=True))
        for row in rows:
            if row.turn_id not in stored_ids:
                result.skip(row.turn_number, _("There is no such turn."))
        _insert_samples([row for row in rows if row.turn_id in stored_ids], new_signatures, result)


def _insert_samples(rows, new_signatures, result):
    with transaction.atomic():
        known_ids = set(DatasetSample.objects.filter(id__in=[row.id for row in rows]).values_list("id", flat=True))
        new = [row for row in rows if row.id not in known_ids]
        DatasetSample.objects.bulk_create(new)
        signatures.store_signatures([(vars(row), new_signatures[row.id]) for row in new if row.id in new_signatures])
    result.made.extend(row.id for row in rows if row.id not in known_ids)
    result.existing.extend(row.id for row in rows if row.id in known_ids)
