"""Making samples from turns. Verdicts on them are in `verdicts`, `bulk` and `undo`."""

import logging
from collections.abc import Collection, Mapping
from types import MappingProxyType

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from gate.models import MemoryGateDecision
from ledger import consent
from ledger.models import ConversationTurn, Session
from ledger.transcripts.contexts import SETTING as WINDOW_SETTING
from ledger.transcripts.contexts import store_contexts
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from people.configuration import setting_values as configuration

from . import turn_facts
from .dedup import signatures
from .kinds import sample_store
from .kinds import turn as turns
from .kinds.results import CREATED, CreationResult
from .models import DatasetSample, SampleSignature
from .words import EXCLUDED_WORDS

MOST_TURNS = 500
BATCH = 50
NONE_CHOSEN: Mapping[str, MemoryGateDecision] = MappingProxyType({})
TURNS_SKIPPED = ngettext_lazy("%(count)s turn skipped", "%(count)s turns skipped", "count")
TURNS_LEFT_OUT = ngettext_lazy("%(count)s turn left out", "%(count)s turns left out", "count")
log = logging.getLogger(__name__)


def describe_problems(result: CreationResult) -> list[str]:
    """One sentence for each reason that turns were left out for, with their numbers."""
    excluded = [
        ngettext("%(count)s turn: %(reason)s", "%(count)s turns: %(reason)s", count)
        % {"count": count, "reason": EXCLUDED_WORDS[reason]}
        for reason, count in result.excluded.items()
    ]
    turns: dict[str, list[str]] = {}
    for skipped in result.skipped:
        turns.setdefault(skipped["reason"], []).append(skipped["id"])
    return excluded + [
        ngettext("Turn %(numbers)s: %(reason)s", "Turns %(numbers)s: %(reason)s", len(numbers))
        % {"numbers": _some(numbers), "reason": reason}
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
    """One `annotated_turn` sample for each of these turns of a session, or with None for all that can have one.

    A turn that has its sample keeps it; a new one has the decision that was `chosen` for the turn, else the last.
    Turns that exports leave out by default (turn_facts.exclusion) are included with `include_excluded`, unless it is
    given with turns that somebody chose. Raises Refused for more than 500 turns; for a whole session it stops there and
    says how many are left.
    """
    result = CreationResult(CREATED, TURNS_SKIPPED, TURNS_LEFT_OUT)
    is_all = turn_numbers is not None if include_excluded is None else include_excluded
    numbers = _chosen(agent, session_id, turn_numbers, result, is_all=is_all)
    now = clock.now_ms()
    for start in range(0, len(numbers), BATCH):
        # A millisecond apart and counting down: lists show the newest first, and so keep the conversation's order.
        moments = {number: now - start - index for index, number in enumerate(numbers[start : start + BATCH])}
        _make_batch(agent, session_id, moments, result, chosen, status, is_all=is_all)
    log.info("%s made %d samples of session %s of %s", by, len(result.made), session_id, agent.agent_id)
    return result


def _chosen(agent, session_id, turn_numbers, result, *, is_all):
    """The numbers of the turns to make samples of; of a whole session without those that stored columns exclude."""
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
    known, wanted = set(have), []
    columns = ("id", "turn_number", "user_metadata", "agent_metadata")
    for turn_id, number, user, agent_metadata in answered.values_list(*columns).iterator(chunk_size=MOST_TURNS):
        if turn_id in known:
            continue
        if not is_all and (reason := turn_facts.find_stored_exclusion(session, user, agent_metadata)):
            result.excluded[reason] += 1
        else:
            wanted.append(number)
    result.left = max(0, len(wanted) - MOST_TURNS)
    return wanted[:MOST_TURNS]


def _make_batch(agent, session_id, moments, result, chosen, status, *, is_all):
    """Context first, in the agent's file; then the samples. A crash between the two is mended by the next call."""
    found = ConversationTurn.objects.using(agent.db).filter(session_id=session_id, turn_number__in=list(moments))
    by_number = {turn.turn_number: turn for turn in found}
    said = turns.read_exchanges(agent.db, list(by_number.values()))
    usable = []
    for number in moments:
        if number not in by_number:
            result.skip(number, _("There is no such turn."))
        elif not is_all and (reason := said[by_number[number].id].exclusion):
            result.excluded[reason] += 1
        elif problem := said[by_number[number].id].problem:
            result.skip(number, problem)
        else:
            usable.append(by_number[number])
    gate = {**turns.find_decisions(agent.db, usable), **chosen}
    contexts = consent.filter_messages(agent.db, _keep_contexts(agent, usable))
    rows = []
    for turn in usable:
        seen = turns.TurnSubject(turn, said[turn.id], contexts.get(turn.id, []), gate.get(turn.id))
        row = sample_store.build_sample(turns.TURN, agent, turn.id, seen, status=status)
        row.created_at = moments[turn.turn_number]
        rows.append(row)
    made = {row.id: signatures.build_from_sample(row) for row in rows}
    _add_where_here(agent, rows, made, result)


def _keep_contexts(agent, turns):
    size = configuration.get_number(WINDOW_SETTING)
    with transaction.atomic(using=agent.db):
        return store_contexts(agent.db, turns, size)


def _add_where_here(agent, rows, made, result):
    """Under the write lock of the agent's file, under which whoever removes a session looks whether it has samples."""
    with transaction.atomic(using=agent.db):
        turns = ConversationTurn.objects.using(agent.db).filter(id__in=[row.turn_id for row in rows])
        here = set(turns.values_list("id", flat=True))
        for row in rows:
            if row.turn_id not in here:
                result.skip(row.turn_number, _("There is no such turn."))
        _add([row for row in rows if row.turn_id in here], made, result)


def _add(rows, made, result):
    with transaction.atomic():
        known = set(DatasetSample.objects.filter(id__in=[row.id for row in rows]).values_list("id", flat=True))
        new = [row for row in rows if row.id not in known]
        DatasetSample.objects.bulk_create(new)
        SampleSignature.objects.bulk_create([signatures.to_row(row.id, made[row.id]) for row in new])
    result.made.extend(row.id for row in rows if row.id not in known)
    result.existing.extend(row.id for row in rows if row.id in known)


def _some(numbers, most=10):
    return listed(numbers[:most]) + (" …" if len(numbers) > most else "")
