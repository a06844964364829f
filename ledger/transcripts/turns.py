"""Turns of a session, updated while its transcript grows.

These are their numbers, sums and words, and whether they are on the active branch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from typing import Any

import orjson

from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import decode
from openclaw_web.sqlite.rows import insert_sql

from ..collectors import answers
from ..collectors.answers import Conversation
from ..collectors.records import read_content_facts, read_facts, read_file_lists
from ..injected_prompts import find_heading
from ..models import ConversationTurn, Session, TranscriptEvent, TranscriptSnapshot
from .origins import find_conversation
from .rows import TOTALS, TURN_COLUMNS, RecordSums, Row
from .trees import LOST_END, Node, Tree
from .trimming import CAP

# record id -> its node, whether it is on the active branch, its kind, its turn number
KnownNodes = dict[str, tuple[Node, bool, str, int | None]]
INSERT_TURN = insert_sql("conversation_turns", TURN_COLUMNS)
TITLE = 120
TITLE_TURNS = 20
PRIVATE_CHARACTERS = 500  # of words that nobody received
EPOCH = date(1970, 1, 1).toordinal()
BATCH = 500
NONE: Mapping[str, int] = {}
FROM = ("sender_id", "senderId", "id", "sender", "e164", "username", "name", "label")  # the best name first


def utc_day(ms: int) -> str:
    """The UTC day of a moment, YYYY-MM-DD."""
    return _format_day(ms // 86_400_000)


@lru_cache(maxsize=4096)
def _format_day(number):
    return date.fromordinal(EPOCH + number).isoformat()


def read_known_nodes(db: str, session: Session) -> KnownNodes:
    """Every stored record of a session, by id."""
    events = TranscriptEvent.objects.using(db).filter(session_id=session.id, event_id__isnull=False)
    columns = ("event_id", "seq", "parent_id", "is_active", "kind", "turn_number")
    return {
        event_id: (Node(seq, event_id, parent_id, kind == "user"), active, kind, turn)
        for event_id, seq, parent_id, active, kind, turn in events.order_by("seq").values_list(*columns).iterator()
    }


def build_last_row(session: Session, known: KnownNodes) -> Row | None:
    """The last stored record, which an appended line without links follows."""
    if not known:
        return None
    record_id, (node, *_) = max(known.items(), key=lambda item: item[1][0].seq)
    row = Row(record_id, None, session.last_activity_at, read_facts({"type": "unknown"}), "", None, None, None)
    row.seq = node.seq
    return row


def assign_turns(
    db: str, session: Session, tree: Tree, rows: list[Row], known: KnownNodes, before: Mapping[str, int] = NONE
) -> tuple[set[int], dict[int, int]]:
    """Give new rows their turn and branch, and move known ones.

    Returns the numbers of stored turns to refresh, and the holes of turns by number. `before` are earlier numbers of
    turns by record: these turns get them again, and no other turn does.
    """
    active = tree.active(session.leaf_record_id, session.leaves if session.leaf_ids else ())
    numbers = {record_id: number for record_id, (node, _, _, number) in known.items() if node.starts_turn and number}
    highest = max((*numbers.values(), *before.values()), default=0)
    stored = set(numbers.values())
    by_id = {row.record_id: row for row in rows}
    refresh: set[int] = set()
    holes: dict[int, int] = {}
    taken, last = {*numbers.values(), *before.values()}, 0
    given = set(numbers.values())  # a record that is another one now may have been in a turn that has its number
    for turn in tree.turns(active):
        number = numbers.get(turn.user.record_id) or _find_earlier_number(turn, before, given)
        if number is None and before and last + 1 not in taken:
            number = last + 1  # the turn is gone, and only its number is free
        if number is None:
            number = highest + 1
        taken.add(number)
        given.add(number)
        highest, last = max(highest, number), number
        if turn.hole is not None:
            holes[number] = turn.hole
            refresh.add(number)
        for node in turn.nodes:
            if row := by_id.get(node.record_id):
                row.turn_number = number
                refresh.add(number)
    for row in rows:
        row.is_active = row.record_id in active
    return (refresh | _move_known(db, session, active, known)) & stored, holes


def _find_earlier_number(turn, before, given):
    if not before:
        return None
    known = (before.get(record_id) for record_id in (turn.user.record_id, *(node.record_id for node in turn.nodes)))
    return next((number for number in known if number and number not in given), None)


def find_user_records(rows: list[Row], known: KnownNodes) -> dict[int, str]:
    """Turn number -> id of its user message; call it after `assign_turns`."""
    user_ids = {number: record_id for record_id, (node, _, _, number) in known.items() if node.starts_turn and number}
    return user_ids | {row.turn_number: row.record_id for row in rows if row.facts.kind == "user" and row.turn_number}


def store_turns(
    db: str, session: Session, rows: list[Row], refresh: set[int], holes: Mapping[int, int]
) -> Counter[str]:
    """Write the turns that new rows begin, and compute the turns in `refresh` again.

    `refresh` and `holes` are those of `assign_turns`. Returns how many turns of the active branch each UTC day has;
    all of them are the session's `turn_count`.
    """
    members: dict[int, list[Row]] = {}
    for row in rows:
        if row.turn_number is not None and row.turn_number not in refresh:
            members.setdefault(row.turn_number, []).append(row)
    # As plain rows: of a big import, building and saving model objects would be a third of the time.
    conversation = find_conversation(session)
    values = [build_turn_row(session, turn, conversation, holes.get(number)) for number, turn in members.items()]
    statements.run_many(db, INSERT_TURN, [[*map(each.get, TURN_COLUMNS)] for each in values])
    if not session.record_count:  # a new session: its turns are at hand
        current = [turn for turn in values if turn["is_active"]]
        days = Counter(utc_day(turn["created_at"]) for turn in current)
        words = [(turn["user_message_content"], turn["user_metadata"]) for turn in current[:TITLE_TURNS]]
    else:
        stored = ConversationTurn.objects.using(db).filter(session_id=session.id)
        for turn in stored.filter(turn_number__in=refresh).order_by("turn_number"):
            turn_rows, hole = _order_rows(session, _read_stored_rows(db, turn)), holes.get(turn.turn_number)
            stored.filter(id=turn.id).update(**_build_sum_columns(turn_rows, conversation, hole))
        days = by_day(db, session.id)
        active = stored.filter(is_active=True).order_by("first_seq")
        words = [*active.values_list("user_message_content", "user_metadata")[:TITLE_TURNS]]
    session.turn_count = days.total()
    if not session.title:
        session.title = find_title(words)
    return days


def by_day(db: str, session_id: str) -> Counter[str]:
    """How many turns of the active branch a session has on each UTC day.

    Turns are counted in this way everywhere. A turn whose user message repeats another session counts in that session.
    """
    turns = ConversationTurn.objects.using(db).filter(session_id=session_id, is_active=True)
    repeated = TranscriptEvent.objects.using(db).filter(session_id=session_id, repeat_of__isnull=False)
    repeated = repeated.filter(kind=TranscriptEvent.Kind.USER, is_active=True)
    days = Counter(map(utc_day, turns.values_list("created_at", flat=True).iterator()))
    return days - Counter(map(utc_day, repeated.values_list("created_at", flat=True)))


def store_snapshots(db: str, session: Session, tree: Tree, rows: Iterable[Row]) -> None:
    """Store the compactions among new rows: their summaries and the files they name."""
    TranscriptSnapshot.objects.using(db).bulk_create(
        [_build_snapshot(session, tree, row) for row in rows if row.facts.kind == "compaction"], ignore_conflicts=True
    )


def build_turn_row(session: Session, rows: list[Row], conversation: Conversation, hole: int | None) -> dict[str, Any]:
    """The values of TURN_COLUMNS of a turn, from its records, user message first.

    `conversation` is the session's, and `hole` as in trees.Turn.
    """
    columns = _build_sum_columns(_order_rows(session, rows), conversation, hole)
    return {**_build_first_columns(session, rows[0]), **columns}


def _order_rows(session, rows):
    """The records of a turn; of several sources or versions in the order of time, because they came in any order."""
    return [rows[0], *sorted(rows[1:], key=lambda row: row.created_at)] if session.leaf_ids else rows


def build_snapshot_row(session: Session, tree: Tree, row: Row) -> TranscriptSnapshot:
    """The row of a compaction, not saved yet."""
    return _build_snapshot(session, tree, row)


def _move_known(db, session, active, known):
    """Update known records that left or joined the active branch; return their turns."""
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


def _build_first_columns(session, user):
    """The columns of a turn that follow from its user message alone."""
    return {
        "id": f"{session.id}:{user.record_id}",
        "session_id": session.id,
        "turn_number": user.turn_number,
        "user_message_id": user.record_id,
        "user_message_content": _clean_text(user.facts.text),
        "user_from": _find_sender_name(user.facts.sender),
        "user_metadata": orjson.dumps(user.facts.sender).decode() if user.facts.sender else None,
        "created_at": user.created_at,
        "first_seq": user.seq,
    }


def _build_sum_columns(rows, conversation, hole):
    """The columns of a turn that follow from its records, the user's first."""
    user, sums = rows[0], RecordSums()
    for row in rows:
        sums.add(row)
    spoken = list(_list_spoken(rows, hole))
    answer = answers.find_answer([row.facts for row in spoken], conversation)
    own = [row for row in spoken if row.facts.kind == "assistant" and not row.facts.is_synthetic]
    reply = spoken[answer.place] if answer.place is not None else None
    is_open = answer.place is None or answer.state == answers.INTERRUPTED
    if hole is not None and (hole != LOST_END or is_open):
        answer.state = answers.DAMAGED
    last = reply or (own[-1] if own else None)
    model = next((row.facts for row in reversed(own) if row.facts.model), None)
    return {
        **dict(zip(TOTALS, sums.totals(), strict=True)),
        "is_active": user.is_active,
        "record_count": len(rows),
        "prompt_tokens": sums.biggest_prompt or None,
        # With an answer of its own it is no repeated turn, even when its question repeats another session.
        "repeat_of": user.repeat_of if not reply or reply.repeat_of else None,
        "last_seq": max(row.seq for row in rows),
        "model": model.model if model else None,
        "asked_model": model.asked_model if model else None,
        "answer_state": answer.state,
        "delivery": answer.delivery if reply else answers.NOT_KNOWN,
        "agent_message_id": reply.record_id if reply else None,
        "agent_message_content": _clean_text(answer.text) if reply else "",
        "agent_metadata": _encode_reply_facts((own[-1] if answer.sent else last).facts, answer) if last else None,
        "latency_ms": max(0, last.created_at - user.created_at) or None if last else None,  # 0: no time of its own
    }


def _list_spoken(rows, hole):
    """The messages and results on the branch of a turn, up to a reset of the session or a hole.

    A message of the agent after a reset is no answer to one before it; after a hole nobody can tell.
    """
    for row in rows:
        if row.is_active != rows[0].is_active:
            continue
        if row.facts.kind == "reset" or (hole is not None and hole != LOST_END and row.seq >= hole):
            return
        if row.facts.kind in ("assistant", "tool_result"):
            yield row


def _encode_reply_facts(last, answer):
    """The details of a reply: `last` is the message with them, `sent` says that the tool `message` delivered it."""
    values = {"provider": last.provider, "stopReason": last.stop_reason, "error": last.error}
    values |= {"sent": True} if answer.sent else {}
    values |= {"private": answer.private[:PRIVATE_CHARACTERS]} if answer.private else {}
    return orjson.dumps({name: value for name, value in values.items() if value}).decode()


def _read_stored_rows(db, turn):
    """The rows of a stored turn as they were when they came in, with capped texts."""
    events = TranscriptEvent.objects.using(db).filter(
        session_id=turn.session_id, turn_number=turn.turn_number, seq__gte=turn.first_seq
    )
    rows = []
    for event in events.defer("full_zstd").order_by("seq").iterator(chunk_size=BATCH):
        # The words of the user count for no sum, and unwrapping them would take most of the time.
        read = read_content_facts if event.kind == "user" else read_facts
        record_facts = read(orjson.loads(event.event_json))
        record_facts.kind, record_facts.is_failed = event.kind, event.is_failed
        row = Row(event.event_id or "", None, event.created_at, record_facts, "", None, None, None)
        row.seq, row.turn_number, row.is_active = event.seq, event.turn_number, event.is_active
        row.repeat_of = event.repeat_of
        rows.append(row)
    return rows


def _build_snapshot(session, tree, row):
    record = decode(row.event_json)
    read, modified = read_file_lists(row.facts.text, row.facts.details)
    metadata = {"summary": row.facts.text, "readFiles": read, "modifiedFiles": modified}
    for name in ("firstKeptEntryId", "tokensBefore", "tokensAfter", "fromHook"):
        if record.get(name) is not None:
            metadata[name] = record[name]
    return TranscriptSnapshot(
        session_id=session.id,
        snapshot_id=row.record_id,
        reason="compaction",
        event_count=tree.depth(row.record_id),
        created_at=row.created_at,
        metadata_json=orjson.dumps(metadata).decode(),
    )


def find_title(words: Iterable[tuple[str, str | None]]) -> str:
    """The first line that a person wrote, else the first injected prompt."""
    first = ""
    for text, metadata in words:
        lines = (find_heading(line.strip()) for line in text.splitlines())
        line = next(filter(None, lines), "")
        if line and not (metadata and "injected" in decode(metadata)):
            return line[:TITLE]
        first = first or line
    return first[:TITLE]


def _clean_text(text):
    """A text for a column: capped, and without NUL, at which SQLite's functions stop.

    The record keeps the rest.
    """
    return text[:CAP].replace("\x00", "\ufffd")


def _find_sender_name(sender):
    return next((str(sender[key]) for key in FROM if sender.get(key)), None)
