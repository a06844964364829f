"""Samples of turns whose words are other ones now than people judged, since records were read by newer rules."""

from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from jobs.kinds import BY_SCHEDULE
from ledger.models import ConversationTurn, Session
from ledger.rebuild.sums import find_turn
from ledger.transcripts.reported_turns import PREFIX, find_turns
from openclaw_web.batches import in_batches
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.json_columns import decode

from .. import turn_facts
from ..models import DatasetSample, SampleClaim
from ..review import verdicts
from ..sample_texts import CHANGED
from . import turn as turns

BATCH = 200


def follow_turns(agent: Agent, progress: Any) -> tuple[Counter[str], list[str]]:
    """Update what samples of an agent say of their turns; count those that `changed` and were `sent` to review.

    A sample goes to the turn that has its message now; returned are also the ids of those that cannot. It keeps its
    text and its verdict; an approved one whose turn has other words now needs review. Running it again changes nothing
    more. Samples of sessions that are not stored any more are left alone.
    """
    counts: Counter[str] = Counter()
    lost: list[str] = []
    samples = DatasetSample.objects.filter(agent_id=agent.agent_id, turn_id__isnull=False)
    rows = samples.order_by("session_id", "turn_number", "id").iterator(chunk_size=BATCH)
    for session_id, group in groupby(rows, key=attrgetter("session_id")):
        if not Session.objects.using(agent.db).filter(id=session_id).exists():
            continue
        for batch in in_batches(group, BATCH):
            lost += _find_places(agent.db, batch)
            _follow_batch(agent.db, [sample for sample in batch if sample.sample_type == turns.TYPE], counts)
            progress.update(counts["samples"], None, _("Comparing samples with their turns"))
    return counts, lost


def _find_places(db, samples):
    """Update turn and number of samples; return the ids of those whose message no turn has, or one with a sample."""
    stored = ConversationTurn.objects.using(db).filter(id__in=[sample.turn_id for sample in samples])
    numbers = dict(stored.filter(turn_number__gt=0).values_list("id", "turn_number"))
    lost = []
    for sample in samples:
        place: Any = (sample.turn_id, numbers.get(sample.turn_id))
        if place[1] is None:
            place = find_turn(db, sample.session_id, sample.turn_id)
            same = DatasetSample.objects.filter(agent_id=sample.agent_id, sample_type=turns.TYPE)
            if place is None or (sample.sample_type == turns.TYPE and same.filter(turn_id=place[0]).exists()):
                lost.append(sample.id)
                continue
        if place != (sample.turn_id, sample.turn_number):
            sample.turn_id, sample.turn_number = place
            with write_queue.global_transaction():
                DatasetSample.objects.filter(id=sample.id).update(turn_id=place[0], turn_number=place[1])
    return lost


def _follow_batch(db, samples, counts):
    stored = ConversationTurn.objects.using(db).filter(id__in=[sample.turn_id for sample in samples])
    exchanges = turns.read_exchanges(db, list(stored))
    counts["samples"] += len(samples)
    for sample in samples:
        exchange = exchanges.get(sample.turn_id)
        if exchange is None or (exchange.problem and not exchange.user):
            continue
        body = decode(sample.content)
        traits = exchange.traits.split()
        is_changed = (exchange.user, exchange.reply) != (body.get("userMessage"), body.get("agentReply"))
        traits += [CHANGED] if is_changed else []
        columns = turn_facts.build_columns(exchange.prompt, exchange.stop, " ".join(traits))
        if columns == {name: getattr(sample, name) for name in columns}:
            continue
        with write_queue.global_transaction():
            DatasetSample.objects.filter(id=sample.id).update(**columns)
            if is_changed and CHANGED not in sample.turn_traits.split():
                counts["changed"] += 1
                counts["sent"] += _send_to_review(sample.id)


def follow_joined(agent: Agent) -> None:
    """Move samples of the plugin's turns to those of transcripts that have these turns.

    They keep their text and verdict; one of a turn with other words needs review.
    """
    samples = DatasetSample.objects.filter(agent_id=agent.agent_id, turn_id__startswith=PREFIX, repeat_of__isnull=False)
    turn_ids = dict(samples.values_list("id", "turn_id"))
    named_turns = find_turns(agent.db, [(None, turn_id) for turn_id in turn_ids.values()])
    moved = {name: named_turns[None, turn_id] for name, turn_id in turn_ids.items() if (None, turn_id) in named_turns}
    for name, turn in moved.items():
        place = {"turn_id": turn.id, "session_id": turn.session_id, "turn_number": turn.turn_number}
        DatasetSample.objects.filter(id=name).update(repeat_of=turn.repeat_of, **place)
    _follow_batch(agent.db, list(DatasetSample.objects.filter(id__in=moved, sample_type=turns.TYPE)), Counter())


def _send_to_review(sample_id):
    SampleClaim.objects.filter(sample_id=sample_id).delete()  # nobody's verdict on the sample as it was counts
    if not DatasetSample.objects.approved().filter(id=sample_id).exists():
        return False
    note = _("The turn has other words now.")
    verdicts.add_verdict(sample_id, DatasetSample.Status.NEEDS_REVIEW, by=BY_SCHEDULE, notes=note)
    return True
