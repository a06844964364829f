"""What an agent did in one turn between the question and the reply, as a page shows it: its words, its calls, results.

Exactly the records that an export reads for a row about this turn: those of the active branch, without copies.
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
    """A turn's entries in order, its calls counted; `left` records are not among the entries.

    `session` is None when the store has none, `is_told` false when the turn is not on its active branch (any more):
    then there are no entries.
    """

    session: Session | None
    is_told: bool = False
    entries: list[timeline.Entry] = field(default_factory=list)
    call_count: int = 0
    failed_count: int = 0
    unanswered_count: int = 0
    left: int = 0
    has_words: bool = False


def read_turn_actions(db: str, session_id: str, number: int | None) -> TurnActions:
    """The doings of a turn. `db` is the agent's alias, as databases.alias gives it."""
    session = Session.objects.using(db).filter(id=session_id).only("id", "title").first()
    turns = ConversationTurn.objects.using(db).active().filter(session_id=session_id, turn_number=number)
    turn = turns.only("first_seq", "last_seq", "agent_message_id").first() if session and number is not None else None
    if session is None or turn is None:
        return TurnActions(session)
    place = {"seq__gte": turn.first_seq, "seq__lte": turn.last_seq, "turn_number": number, "kind__in": KINDS}
    events = session.events.filter(is_active=True, is_synthetic=False, **place)
    asked = list(events.order_by("seq").values(*transcript_page.COLUMNS)[: MOST + 1])
    rows = transcript_page.take_fitting(asked[:MOST], BUDGET)
    transcript_page.parse_rows(session, rows)
    stashed = outputs.read_outputs(session.agent_id, rows)
    found = TurnActions(session, is_told=True)
    for section in timeline.build_sections(rows, {}, outputs=stashed):
        found.entries += map(_opened, section.entries)
    _count(found)
    if len(rows) < len(asked):
        _count_all(found, events, len(rows))
    _without_reply(found, turn.agent_message_id)
    return found


def _opened(entry):
    """What failed is to be seen at once."""
    for call in entry.calls:
        call.is_open = bool(call.result and call.result.is_failed)
    return entry


def _count(found):
    calls = [call for entry in found.entries for call in entry.calls]
    found.call_count = len(calls) + sum(entry.more_calls for entry in found.entries)
    found.failed_count = sum(bool(call.result and call.result.is_failed) for call in calls)
    found.unanswered_count = sum(call.result is None for call in calls)


def _count_all(found, events, shown):
    """The numbers of a turn that is too long for one page; its calls without a result are not known then."""
    failed = Count("seq", filter=Q(kind="tool_result", is_failed=True))
    sums = events.aggregate(records=Count("seq"), calls=Sum("tool_call_count"), failed=failed)
    found.left, found.unanswered_count = sums["records"] - shown, 0
    found.call_count, found.failed_count = sums["calls"] or 0, sums["failed"]


def _without_reply(found, reply_id):
    """The reply itself is what the page is about; it shows that beside these."""
    for entry in found.entries:
        if entry.record_id == reply_id:
            entry.text = timeline.Preview("", 0)
    found.entries = [entry for entry in found.entries if entry.text.text or entry.calls or entry.error]
    found.has_words = any(entry.text.text for entry in found.entries)
