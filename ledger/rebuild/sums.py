"""Stores again everything that is derived from the records of a session."""

from collections.abc import Iterator

from django.db import transaction

from artifacts.services import OUTPUT_KIND
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.rows import insert_sql

from .. import rules, source_order
from ..models import (
    ConversationContext,
    ConversationTurn,
    SessionDay,
    TranscriptEvent,
    TranscriptSnapshot,
)
from ..transcripts import tool_days
from ..transcripts.rows import TURN_COLUMNS
from ..transcripts.tool_days import SUM_COLUMNS, TOTAL_PLACE
from . import derivation
from .derivation import DerivedRows

# An artifact that names an existing turn keeps it: a record or a person set it.
TURN_OF_ARTIFACT = """
    UPDATE artifacts SET turn_id = (
        SELECT turns.id FROM transcript_events events
        JOIN conversation_turns turns
            ON turns.session_id = events.session_id AND turns.turn_number = events.turn_number
        WHERE events.session_id = artifacts.session_id AND events.event_id = artifacts.record_id
    )
    WHERE session_id = %s AND kind = %s
        AND record_id IN (SELECT event_id FROM transcript_events WHERE session_id = artifacts.session_id)
        AND NOT EXISTS (SELECT 1 FROM conversation_turns WHERE id = artifacts.turn_id)
"""
# The turn that has a message now.
TURN_NOW = """
    SELECT turns.id, turns.turn_number FROM transcript_events events
    JOIN conversation_turns turns ON turns.session_id = events.session_id AND turns.turn_number = events.turn_number
    WHERE events.session_id = %s AND events.event_id = %s
"""
DAY_COLUMNS = ", ".join((*TOTAL_PLACE, *SUM_COLUMNS))
BY_DAY = f"""
    SELECT {", ".join((*TOTAL_PLACE, *(f"SUM({name})" for name in SUM_COLUMNS)))} FROM session_tools
    GROUP BY {", ".join(TOTAL_PLACE)} HAVING {" OR ".join(f"SUM({name}) <> 0" for name in SUM_COLUMNS)}
"""  # noqa: S608 - constants
DIFFERENT_DAYS = f"""
    SELECT DISTINCT {", ".join(TOTAL_PLACE)} FROM (
        SELECT * FROM ({BY_DAY} EXCEPT SELECT {DAY_COLUMNS} FROM tool_days)
        UNION ALL SELECT * FROM (SELECT {DAY_COLUMNS} FROM tool_days EXCEPT {BY_DAY})
    ) ORDER BY 1, 2, 3
"""  # noqa: S608
PLACE = "UPDATE transcript_events SET turn_number = %s, is_active = %s WHERE session_id = %s AND seq = %s"


def rebuild_session(db: str, session_id: str) -> None:
    """Derive everything of a session again from its stored records, in one transaction (or the caller's).

    Covers: turn and active branch of each record; `conversation_turns`, `transcript_snapshots`, `session_days`,
    `session_tools` with `tool_days`; the turn of its artifacts; of `sessions` all totals and counts, `created_at`, the
    model that answered last, a title when there is none, and the record its branch ends with when that is not one of
    its records. `last_activity_at` is moved on to the last record. Ids are the same as before: turns are called after
    their user message and numbered in the order in which those arrived. Nothing is
    done for a session without a row.

    Not covered: what only the source knows (channel, key, origin, state, metadata, where the branch ended, when that is
    a record of its), numbers beside records, rejected lines, contents of artifacts, and the agent's sums in the global
    file (`overview.summaries.refresh`). A turn whose user message is no record any more goes, unless messages before
    it were kept as evidence (`conversation_contexts`): remove those first if it is to go.
    """
    with transaction.atomic(using=db):
        derived = derivation.derive_rows(db, session_id)
        if derived is None:
            return
        session = derived.session
        session.rules = rules.VERSION
        for name, value in derived.columns.items():
            setattr(session, name, value)
        session.save(using=db)
        changed = [
            (*place, derived.session.id, seq) for seq, place in derived.places.items() if derived.stored[seq] != place
        ]
        statements.run_many(db, PLACE, changed)
        stored = ConversationTurn.objects.using(db).filter(session_id=derived.session.id)
        lonely_ids = find_lonely_turns(db, derived.session.id)
        removed_ids = stored.exclude(id__in=lonely_ids).values_list("id", flat=True)
        # Not through the model: it would delete their contexts too, which are evidence.
        statements.run_many(db, "DELETE FROM conversation_turns WHERE id = %s", [(turn_id,) for turn_id in removed_ids])
        for number, turn_id in enumerate(sorted(lonely_ids), start=1):  # a number that no record of a session gets
            stored.filter(id=turn_id).update(turn_number=-number, is_active=False)
        rows = [[*map(turn.get, TURN_COLUMNS)] for turn in derived.turns]
        statements.run_many(db, insert_sql("conversation_turns", TURN_COLUMNS), rows)
        _store_days_and_snapshots(db, derived)
        tool_days.replace_sums(db, session_id, session.channel_id, derived.tools)
        statements.run(db, TURN_OF_ARTIFACT, [session_id, OUTPUT_KIND])
        if session.leaf_ids or not all(is_active for _number, is_active in derived.places.values()):
            source_order.refresh_title_and_model(db, session_id)


def rebuild_tool_days(db: str) -> None:
    """Make the daily sums by tool again from the sums of each session."""
    with transaction.atomic(using=db):
        statements.run(db, "DELETE FROM tool_days")
        statements.run(db, f"INSERT INTO tool_days ({DAY_COLUMNS}) {BY_DAY}")


def find_different_tool_days(db: str) -> Iterator[str]:
    """Rows of `tool_days` that `rebuild_tool_days` would change, or that it would add."""
    for place in statements.iterate_rows(db, DIFFERENT_DAYS):
        yield " ".join(["tool_days", *map(str, place)])


def find_lonely_turns(db: str, session_id: str) -> set[str]:
    """Turns that are no longer in the records, but are referred to by kept messages.

    Their user message is no record any more; the kept messages (`conversation_contexts`) are evidence.
    """
    messages = TranscriptEvent.objects.using(db).filter(session_id=session_id, event_type="message")
    ids = {f"{session_id}:{record_id}" for record_id in messages.values_list("event_id", flat=True)}
    contexts = ConversationContext.objects.using(db).filter(turn__session_id=session_id)
    return set(contexts.values_list("turn_id", flat=True)) - ids


def find_turn(db: str, session_id: str, turn_id: str) -> tuple[str, int] | None:
    """Id and number of the turn that has the message which a turn was called after; None when no turn has it."""
    return next(iter(statements.read_rows(db, TURN_NOW, [session_id, turn_id.removeprefix(f"{session_id}:")])), None)


def _store_days_and_snapshots(db, derived: DerivedRows):
    session_id = derived.session.id
    SessionDay.objects.using(db).filter(session_id=session_id).delete()
    SessionDay.objects.using(db).bulk_create([SessionDay(session_id=session_id, **day) for day in derived.days])
    TranscriptSnapshot.objects.using(db).filter(session_id=session_id).delete()
    TranscriptSnapshot.objects.using(db).bulk_create(derived.snapshots)
