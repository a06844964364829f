"""The agent's actions in one turn, between question and reply, for a page.

They are its words, its calls and their results: exactly the records that an export reads for a row about this turn,
those of the active branch without copies.
"""

from dataclasses import dataclass, field

from django.db.models import Count, Q, Sum

from ..models import ConversationTurn, Session
from ..outputs import stashed_outputs as outputs
from . import timeline, transcript_page

MOST = 60  # records on one page
BUDGET = 90_000  # characters shown
KINDS = ("assistant", "tool_result")


@dataclass(slots=True)
class TurnActions:
    """A turn's entries in order, and the number of its calls.

    `left_count` records are not among the entries. `session` is None when it is not stored; `is_on_branch` is false
    when the turn is not on its active branch (any more): then there are no entries.
    """

    session: Session | None
    is_on_branch: bool = False
    entries: list[timeline.Entry] = field(default_factory=list)
    call_count: int = 0
    failed_count: int = 0
    unanswered_count: int = 0
    left_count: int = 0
    has_words: bool = False


def read_turn_actions(db: str, session_id: str, number: int | None) -> TurnActions:
    """The actions of a turn. `db` is the agent's alias, as databases.alias gives it."""
    session = Session.objects.using(db).filter(id=session_id).only("id", "title").first()
    turns = ConversationTurn.objects.using(db).active().filter(session_id=session_id, turn_number=number)
    turn = turns.only("first_seq", "last_seq", "agent_message_id").first() if session and number is not None else None
    if session is None or turn is None:
        return TurnActions(session)
    place = {"seq__gte": turn.first_seq, "seq__lte": turn.last_seq, "turn_number": number, "kind__in": KINDS}
    events = session.events.filter(is_active=True, is_synthetic=False, **place)
    values = list(events.order_by("seq").values(*transcript_page.COLUMNS)[: MOST + 1])
    rows = transcript_page.take_fitting(values[:MOST], BUDGET)
    transcript_page.parse_rows(rows)
    stashed = outputs.read_outputs(session.agent_id, rows)
    actions = TurnActions(session, is_on_branch=True)
    for section in timeline.build_sections(rows, {}, outputs=stashed):
        actions.entries += map(_open_failed, section.entries)
    calls = [call for entry in actions.entries for call in entry.calls]
    actions.call_count = len(calls) + sum(entry.more_calls for entry in actions.entries)
    actions.failed_count = sum(bool(call.result and call.result.is_failed) for call in calls)
    actions.unanswered_count = sum(call.result is None for call in calls)
    if len(rows) < len(values):
        # Count the calls of a turn that is too long for one page.
        entry_count = len(rows)
        failed = Count("seq", filter=Q(kind="tool_result", is_failed=True))
        sums = events.aggregate(records=Count("seq"), calls=Sum("tool_call_count"), failed=failed)
        actions.left_count, actions.unanswered_count = sums["records"] - entry_count, 0
        actions.call_count, actions.failed_count = sums["calls"] or 0, sums["failed"]
    _remove_reply(actions, turn.agent_message_id)
    return actions


def _open_failed(entry):
    """Open failed calls of an entry, so that they are visible at once."""
    for call in entry.calls:
        call.is_open = bool(call.result and call.result.is_failed)
    return entry


def _remove_reply(actions, reply_id):
    """Remove the reply from the entries: the page shows it beside them."""
    for entry in actions.entries:
        if entry.record_id == reply_id:
            entry.text = timeline.Preview("", 0)
    actions.entries = [entry for entry in actions.entries if entry.text.text or entry.calls or entry.error]
    actions.has_words = any(entry.text.text for entry in actions.entries)
