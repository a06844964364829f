"""Turns of a session kept true while its transcript grows: numbers, sums, words, and what is on the active branch."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from itertools import takewhile
from typing import Any

import orjson

from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import decode
from openclaw_web.sqlite.rows import insert_sql

from ..collectors.records import read_content_facts, read_facts, read_file_lists
from ..models import ConversationTurn, Session, TranscriptEvent, TranscriptEventIdentity, TranscriptSnapshot
from .rows import TOTALS, TURN_COLUMNS, RecordSums, Row
from .trees import Node, Tree
from .trimming import CAP

# record id -> its node, whether it is on the active branch, its kind, its turn number
KnownNodes = dict[str, tuple[Node, bool, str, int | None]]
INSERT_TURN = insert_sql("conversation_turns", TURN_COLUMNS)
TITLE = 120
TITLE_TURNS = 20
EPOCH = date(1970, 1, 1).toordinal()
BATCH = 500
NONE: Mapping[str, int] = {}
FROM = ("sender_id", "senderId", "id", "sender", "e164", "username", "name", "label")  # what best says who spoke


def utc_day(ms: int) -> str:
    """The UTC day of a moment, YYYY-MM-DD."""
    return _day(ms // 86_400_000)


@lru_cache(maxsize=4096)
def _day(number):
    return date.fromordinal(EPOCH + number).isoformat()


def read_known_nodes(db: str, session: Session) -> KnownNodes:
    """Every record the store has of a session."""
    events = TranscriptEvent.objects.using(db).filter(session_id=session.id)
    columns = ("seq", "is_active", "kind", "turn_number")
    about = {seq: (active, kind, turn) for seq, active, kind, turn in events.values_list(*columns).iterator()}
    identities = TranscriptEventIdentity.objects.using(db).filter(session_id=session.id)
    return {
        event_id: (Node(seq, event_id, parent_id, about[seq][1] == "user"), *about[seq])
        for event_id, seq, parent_id in identities.values_list("event_id", "seq", "parent_id").iterator()
    }


def build_last_row(session: Session, known: KnownNodes) -> Row | None:
    """The record that came last before now: what an appended line without links follows."""
    if not known:
        return None
    record_id, (node, *_) = max(known.items(), key=lambda item: item[1][0].seq)
    row = Row(record_id, None, session.last_activity_at, read_facts({"type": "unknown"}), "", None, None, None)
    row.seq = node.seq
    return row


def assign_turns(
    db: str, session: Session, tree: Tree, rows: list[Row], known: KnownNodes, before: Mapping[str, int] = NONE
) -> set[int]:
    """Give new rows their turn and branch, move known ones; returns the numbers of stored turns to refresh.

    `before` are the numbers that turns had before, by record: those get them again, and nobody else does.
    """
    active = tree.active(session.leaf_record_id)
    numbers = {record_id: number for record_id, (node, _, _, number) in known.items() if node.starts_turn and number}
    highest = max((*numbers.values(), *before.values()), default=0)
    stored = set(numbers.values())
    by_id = {row.record_id: row for row in rows}
    refresh: set[int] = set()
    taken, last = {*numbers.values(), *before.values()}, 0
    given = set(numbers.values())  # a record that is another one now may have been in a turn that has its number
    for turn in tree.turns(active):
        number = numbers.get(turn.user.record_id) or _number_before(turn, before, given)
        if number is None and before and last + 1 not in taken:
            number = last + 1  # nothing of it is left but the gap
        if number is None:
            number = highest + 1
        taken.add(number)
        given.add(number)
        highest, last = max(highest, number), number
        for node in turn.nodes:
            if row := by_id.get(node.record_id):
                row.turn_number = number
                refresh.add(number)
    for row in rows:
        row.is_active = row.record_id in active
    return (refresh | _move(db, session, active, known)) & stored


def _number_before(turn, before, given):
    if not before:
        return None
    known = (before.get(record_id) for record_id in (turn.user.record_id, *(node.record_id for node in turn.nodes)))
    return next((number for number in known if number and number not in given), None)


def find_user_records(rows: list[Row], known: KnownNodes) -> dict[int, str]:
    """The record of the user message of each turn, by the turn's number; call it after `place`."""
    found = {number: record_id for record_id, (node, _, _, number) in known.items() if node.starts_turn and number}
    return found | {row.turn_number: row.record_id for row in rows if row.facts.kind == "user" and row.turn_number}


def store_turns(db: str, session: Session, rows: list[Row], refresh: set[int]) -> Counter[str]:
    """Write the turns that new rows begin, and compute the turns in `refresh` again from what is stored.

    Returns how many turns of the active branch each UTC day has; all of them are the session's `turn_count`.
    """
    members: dict[int, list[Row]] = {}
    for row in rows:
        if row.turn_number is not None and row.turn_number not in refresh:
            members.setdefault(row.turn_number, []).append(row)
    # As plain rows: of a big import, building and saving model objects would be a third of the time.
    values = [{**_begun(session, turn[0]), **_summed(turn)} for turn in members.values()]
    statements.run_many(db, INSERT_TURN, [[*map(each.get, TURN_COLUMNS)] for each in values])
    if not session.record_count:  # a new session: its turns are at hand
        current = [turn for turn in values if turn["is_active"]]
        days = Counter(utc_day(turn["created_at"]) for turn in current)
        words = [(turn["user_message_content"], turn["user_metadata"]) for turn in current[:TITLE_TURNS]]
    else:
        stored = ConversationTurn.objects.using(db).filter(session_id=session.id)
        for turn in stored.filter(turn_number__in=refresh).order_by("turn_number"):
            stored.filter(id=turn.id).update(**_summed(_stored_rows(db, turn)))
        days = by_day(db, session.id)
        active = stored.filter(is_active=True).order_by("first_seq")
        words = [*active.values_list("user_message_content", "user_metadata")[:TITLE_TURNS]]
    session.turn_count = days.total()
    if not session.title:
        session.title = find_title(words)
    return days


def by_day(db: str, session_id: str) -> Counter[str]:
    """How many turns of the active branch a session has on each UTC day: what a turn counts for, everywhere.

    A turn whose user message was said in another session counts there.
    """
    turns = ConversationTurn.objects.using(db).filter(session_id=session_id, is_active=True)
    repeated = TranscriptEvent.objects.using(db).filter(session_id=session_id, repeat_of__isnull=False)
    repeated = repeated.filter(kind=TranscriptEvent.Kind.USER, is_active=True)
    days = Counter(map(utc_day, turns.values_list("created_at", flat=True).iterator()))
    return days - Counter(map(utc_day, repeated.values_list("created_at", flat=True)))


def store_snapshots(db: str, session: Session, tree: Tree, rows: Iterable[Row]) -> None:
    """Write down the compactions among new rows: what they summarised and which files they name."""
    TranscriptSnapshot.objects.using(db).bulk_create(
        [_snapshot(session, tree, row) for row in rows if row.facts.kind == "compaction"], ignore_conflicts=True
    )


def build_turn_row(session: Session, rows: list[Row]) -> dict[str, Any]:
    """The values of TURN_COLUMNS of the turn that these records are, its user message first."""
    return {**_begun(session, rows[0]), **_summed(rows)}


def build_snapshot_row(session: Session, tree: Tree, row: Row) -> TranscriptSnapshot:
    """What is written down of a compaction, not saved yet."""
    return _snapshot(session, tree, row)


def _move(db, session, active, known):
    """Known records that left or joined the active branch."""
    moved: set[int] = set()
    for now_active in (True, False) if known else ():
        changed = [
            (node.seq, number)
            for record_id, (node, was_active, _, number) in known.items()
            if was_active is not now_active and (record_id in active) is now_active
        ]
        moved.update(number for _, number in changed if number is not None)
        for start in range(0, len(changed), BATCH):
            seqs = [seq for seq, _ in changed[start : start + BATCH]]
            events = TranscriptEvent.objects.using(db).filter(session_id=session.id, seq__in=seqs)
            events.update(is_active=now_active)
    return moved


def _begun(session, user):
    """The columns of a turn that its user message alone decides."""
    return {
        "id": f"{session.id}:{user.record_id}",
        "session_id": session.id,
        "turn_number": user.turn_number,
        "user_message_id": user.record_id,
        "user_message_content": _words(user.facts.text),
        "user_from": _sender(user.facts.sender),
        "user_metadata": orjson.dumps(user.facts.sender).decode() if user.facts.sender else None,
        "created_at": user.created_at,
        "first_seq": user.seq,
    }


def _summed(rows):
    """The columns of a turn that follow from its records, the user's first."""
    user, sums = rows[0], RecordSums()
    for row in rows:
        sums.add(row)
    # What the agent says after a reset answers nobody before it.
    answers = [
        row
        for row in takewhile(lambda row: not (row.facts.kind == "reset" and row.is_active == user.is_active), rows)
        if row.facts.kind == "assistant" and not row.facts.is_synthetic and row.is_active == user.is_active
    ]
    reply = next((row for row in reversed(answers) if row.facts.text), None)
    last = reply or (answers[-1] if answers else None)
    return {
        **dict(zip(TOTALS, sums.totals(), strict=True)),
        "is_active": user.is_active,
        "record_count": len(rows),
        "prompt_tokens": sums.biggest_prompt or None,
        # An answer of its own makes it a turn of its own, wherever the question was asked first.
        "repeat_of": user.repeat_of if not reply or reply.repeat_of else None,
        "last_seq": rows[-1].seq,
        "model": next((row.facts.model for row in reversed(answers) if row.facts.model), None),
        "agent_message_id": reply.record_id if reply else None,
        "agent_message_content": _words(reply.facts.text) if reply else "",
        "agent_metadata": _about(last.facts) if last else None,
        "latency_ms": max(0, last.created_at - user.created_at) if last else None,
    }


def _about(found):
    about = {"provider": found.provider, "stopReason": found.stop_reason, "error": found.error}
    return orjson.dumps({name: value for name, value in about.items() if value}).decode()


def _stored_rows(db, turn):
    """The rows of a stored turn as they were when they came in; capped texts are enough here."""
    events = TranscriptEvent.objects.using(db).filter(
        session_id=turn.session_id, turn_number=turn.turn_number, seq__gte=turn.first_seq
    )
    ids = dict(
        TranscriptEventIdentity.objects.using(db)
        .filter(session_id=turn.session_id, seq__gte=turn.first_seq)
        .values_list("seq", "event_id")
    )
    rows = []
    for event in events.defer("full_zstd").order_by("seq").iterator(chunk_size=BATCH):
        # The words of the user count for no sum, and unwrapping them would take most of the time.
        read = read_content_facts if event.kind == "user" else read_facts
        found = read(orjson.loads(event.event_json))
        found.kind, found.is_failed = event.kind, event.is_failed
        row = Row(ids[event.seq], None, event.created_at, found, "", None, None, None)
        row.seq, row.turn_number, row.is_active = event.seq, event.turn_number, event.is_active
        row.repeat_of = event.repeat_of
        rows.append(row)
    return rows


def _snapshot(session, tree, row):
    record = decode(row.event_json)
    read, modified = read_file_lists(row.facts.text, row.facts.details)
    about = {"summary": row.facts.text, "readFiles": read, "modifiedFiles": modified}
    for name in ("firstKeptEntryId", "tokensBefore", "tokensAfter", "fromHook"):
        if record.get(name) is not None:
            about[name] = record[name]
    return TranscriptSnapshot(
        session_id=session.id,
        snapshot_id=row.record_id,
        reason="compaction",
        event_count=tree.depth(row.record_id),
        created_at=row.created_at,
        metadata_json=orjson.dumps(about).decode(),
    )


def find_title(words: Iterable[tuple[str, str | None]]) -> str:
    """The first words a person said; the first injected prompt when nobody said any."""
    first = ""
    for text, metadata in words:
        line = next((line.strip() for line in text.splitlines() if line.strip()), "")
        if line and not (metadata and "injected" in decode(metadata)):
            return line[:TITLE]
        first = first or line
    return first[:TITLE]


def _words(text):
    """Text for a column: capped (the record keeps the rest), without NUL, which SQLite's functions stop at."""
    return text[:CAP].replace("\x00", "\ufffd")


def _sender(sender):
    return next((str(sender[key]) for key in FROM if sender.get(key)), None)
