"""How often the errors of each group occurred: counted in each agent's file, kept in the global file.

A record has the id of its group (`error_group`). Copies, repeated records and the turns of people who opted out are not
counted.
"""

from collections.abc import Iterator

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import F

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.batches import in_batches
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode
from openclaw_web.sqlite.rows import insert_sql
from problems.models import ErrorDay, ErrorGroup, ErrorSum, State

from .. import consent
from ..models import IS_COUNTED_ERROR, ConversationTurn, TranscriptEvent
from ..transcripts.turns import utc_day
from . import record_groups

MOST_GROUPS = 2_000  # of one agent: those that occurred last
KEPT_DAYS = 90  # the last ones on which an agent had errors
DAY_MS = 86_400_000
BATCH = 500
COUNTED = "is_failed AND NOT is_synthetic AND repeat_of IS NULL"  # as the indexes of errors have it
SHOWN = f"session_id || ' ' || turn_number NOT IN (SELECT value FROM {dialect.json_array('hidden')})"  # noqa: S608
SUMS = """
    SELECT error_group, COUNT(*), COUNT(DISTINCT session_id), MIN(created_at), MAX(created_at)
    FROM transcript_events WHERE {counted} AND error_group IS NOT NULL GROUP BY 1 ORDER BY 5 DESC, 1 LIMIT {most}
"""
DAYS = """
    SELECT error_group, created_at / 86400000, COUNT(*)
    FROM transcript_events WHERE {counted} AND error_group IS NOT NULL GROUP BY 1, 2
"""
COLUMNS = ("agent_id", "group_id", "count", "session_count", "first_at", "last_at")
TOTAL_COLUMNS = ("count", "session_count", "agent_count", "first_at", "last_at", "id")
TOTALS = f"""
    SELECT SUM(count), SUM(session_count), COUNT(*), MIN(first_at), MAX(last_at), group_id FROM error_sums
    WHERE group_id IN (SELECT value FROM {dialect.json_array("listed")}) GROUP BY group_id
"""  # noqa: S608
STORE_TOTAL = f"UPDATE error_groups SET {', '.join(f'{name} = %s' for name in TOTAL_COLUMNS[:-1])} WHERE id = %s"  # noqa: S608
INSERT_SUM = insert_sql("error_sums", COLUMNS)
DAY_COLUMNS = ("agent_id", "group_id", "date", "count")
INSERT_DAY = insert_sql("error_days", DAY_COLUMNS)


def refresh(agent: Agent, *, had_errors: bool | None) -> None:
    """Count the errors of one agent again; write what changed, and open groups again that came back.

    `had_errors`: whether the import before this one knew errors of the agent; None: there was none. Groups that an
    agent had before they were ever counted are not new.
    """
    sums, days = _count(agent)
    rows, day_rows = ErrorSum.objects.filter(agent_id=agent.agent_id), ErrorDay.objects.filter(agent_id=agent.agent_id)
    with transaction.atomic():
        stored, stored_days = _read_stored(agent)
        missing = {row[1] for row in sums - stored}
        _store_groups(agent.db, missing, is_new=bool(stored) or had_errors is False)
        for group_id in {row[1] for row in stored - sums}:
            rows.filter(group_id=group_id).delete()
        statements.run_many(DEFAULT_DB_ALIAS, INSERT_SUM, sorted(sums - stored))
        for _agent_id, group_id, date, _number in stored_days - days:
            day_rows.filter(group_id=group_id, date=date).delete()
        statements.run_many(DEFAULT_DB_ALIAS, INSERT_DAY, sorted(days - stored_days))
        _store_totals(_find_wrong_totals({row[1] for row in stored | sums}))


def find_wrong(agent: Agent) -> Iterator[str]:
    """The tables of sums that differ from an agent's file, or from the sums of all agents."""
    sums, days = _count(agent)
    stored, stored_days = _read_stored(agent)
    if stored != sums:
        yield "error_sums"
    if _find_wrong_totals({row[1] for row in sums}):
        yield "error_groups"
    if stored_days != days:
        yield "error_days"


def _read_stored(agent):
    rows, days = ErrorSum.objects.filter(agent_id=agent.agent_id), ErrorDay.objects.filter(agent_id=agent.agent_id)
    return set(rows.values_list(*COLUMNS)), set(days.values_list(*DAY_COLUMNS))


def _count(agent):
    """The rows of an agent's groups, and those of the days that are kept of them."""
    hidden = _find_hidden_turns(agent.db)
    counted = f"{COUNTED} AND ({SHOWN} OR turn_number IS NULL)" if hidden else COUNTED
    values = [encode(hidden)] if hidden else []
    sums = statements.read_rows(agent.db, SUMS.format(counted=counted, most=MOST_GROUPS), values)
    group_ids = {row[0] for row in sums}
    days = [row for row in statements.read_rows(agent.db, DAYS.format(counted=counted), values) if row[0] in group_ids]
    numbers = sorted({number for _group, number, _count in days})[-KEPT_DAYS:]
    return (
        {(agent.agent_id, *row) for row in sums},
        {(agent.agent_id, group, utc_day(day * DAY_MS), count) for group, day, count in days if day >= numbers[0]},
    )


def _find_hidden_turns(db):
    """The turns with errors whose words may not be used today; most sites have none and read nothing."""
    if not consent.read_opted_out():
        return []
    turns = ConversationTurn.objects.using(db).filter(error_count__gt=0)
    names = ("session_id", "turn_number", "user_message_id", "agent_message_id")
    hidden = []
    for batch in in_batches(turns.only(*names).iterator(chunk_size=consent.CHUNK), consent.CHUNK):
        ids = consent.find_withheld(db, batch)
        hidden += [f"{turn.session_id} {turn.turn_number}" for turn in batch if turn.id in ids]
    return hidden


def _store_groups(db, group_ids, *, is_new):
    """Store the groups that nobody knows yet, each with the message of one of its records."""
    known = ErrorGroup.objects.in_bulk(group_ids)
    for group_id in sorted(group_ids - known.keys()):
        events = TranscriptEvent.objects.using(db).filter(IS_COUNTED_ERROR, error_group=group_id)
        group = record_groups.find_group(db, *events.values_list("session_id", "seq")[0])
        names = {"tool": group.tool, "model": group.model, "message": group.message}
        ErrorGroup.objects.create(id=group_id, opened_at=clock.now_ms(), is_new=is_new, **names)


def _find_wrong_totals(group_ids):
    """The right totals of groups whose stored ones are others, as values of TOTAL_COLUMNS."""
    totals = {group_id: (0, 0, 0, 0, 0, group_id) for group_id in group_ids}
    totals |= {row[-1]: row for row in statements.read_rows(DEFAULT_DB_ALIAS, TOTALS, [encode(sorted(group_ids))])}
    for ids in in_batches(sorted(group_ids), BATCH):
        for row in ErrorGroup.objects.filter(id__in=ids).values_list(*TOTAL_COLUMNS):
            if totals[row[-1]] == row:
                del totals[row[-1]]
    return sorted(totals.values())


def _store_totals(totals):
    """Store totals of groups; open those again that came back, and forget those that nobody has."""
    if totals:
        ids = [row[-1] for row in totals]
        counts = dict(ErrorGroup.objects.filter(id__in=ids).values_list("id", "count"))
        statements.run_many(DEFAULT_DB_ALIAS, STORE_TOTAL, totals)
        # A group whose errors are of a clock that is ahead is open again only when another one came.
        for group in ErrorGroup.objects.filter(id__in=ids, state=State.CLOSED, last_at__gt=F("closed_at")):
            if group.count > counts.get(group.id, 0):
                group.reopen(clock.now_ms())
                group.save()
        ErrorGroup.objects.filter(state=State.OPEN, count=0).delete()
