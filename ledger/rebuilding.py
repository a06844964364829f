"""Everything that follows from the records of a session, made again from those records and nothing else.

A record is what `transcript_events` and `transcript_event_identities` hold of it: what it says, the numbers beside it,
its order and whom it follows.
"""

from collections.abc import Iterable, Iterator

import orjson
from django.db import connections, transaction

from artifacts.services import KIND
from openclaw_web.errors import Refused

from . import record_sums, tool_days, turns
from .models import (
    ConversationContext,
    ConversationTurn,
    Session,
    SessionDay,
    TranscriptEvent,
    TranscriptEventIdentity,
    TranscriptSnapshot,
)
from .records import facts
from .rows import TURN_COLUMNS, Row, insert_sql
from .trees import Node, Tree
from .trees import Turn as Branched
from .trimming import untrim

BATCH = 500
ROWS_AT_ONCE = 2_000
SAYING = ("user", "assistant", "compaction")  # kinds whose words stand in other tables too
# What names a turn that is there was told so, by a record or by a person.
TURN_OF_ARTIFACT = """
    UPDATE artifacts SET turn_id = (
        SELECT turns.id FROM transcript_event_identities ids
        JOIN transcript_events events ON events.session_id = ids.session_id AND events.seq = ids.seq
        JOIN conversation_turns turns
            ON turns.session_id = ids.session_id AND turns.turn_number = events.turn_number
        WHERE ids.session_id = artifacts.session_id AND ids.event_id = artifacts.record_id
    )
    WHERE session_id = %s AND kind = %s
        AND record_id IN (SELECT event_id FROM transcript_event_identities WHERE session_id = artifacts.session_id)
        AND NOT EXISTS (SELECT 1 FROM conversation_turns WHERE id = artifacts.turn_id)
"""
COLUMNS = (
    *("seq", "created_at", "kind", "is_failed", "is_synthetic", "model", "is_active", "turn_number"),
    *("event_json", "full_zstd"),
)


def rebuild_session(db: str, session_id: str) -> None:
    """Make everything derived of a session again from its stored records, in one transaction (or the caller's).

    Covers: turn and active branch of each record; `conversation_turns`, `transcript_snapshots`, `session_days`,
    `session_tools` with `tool_days`; the turn of its artifacts; of `sessions` all totals and counts, `created_at`, the
    model that answered last, a title when there is none, and the record its branch ends with when that is not one of
    its records. `last_activity_at` is moved on to the last record. Ids are the same as before: turns are called after
    their user message and numbered in the order in which those arrived. Records without a session get a row for it.

    Not covered: what only the source knows (channel, key, origin, state, metadata, where the branch ended, when that is
    a record of its), numbers beside records, rejected lines, contents of artifacts, and the agent's sums in the global
    file (`operations.summaries.refresh`). A turn whose user message is no record any more goes, unless messages before
    it were kept as evidence (`conversation_contexts`): remove those first if it is to go.
    """
    with transaction.atomic(using=db):
        identities = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id)
        kinds = dict(_events(db, session_id).values_list("seq", "kind").iterator())
        session = _session(db, session_id, has_records=bool(kinds))
        if session is None:
            return
        tree = Tree(
            Node(seq, record_id, parent_id, kinds.get(seq) == "user")
            for record_id, seq, parent_id in identities.values_list("event_id", "seq", "parent_id").iterator()
        )
        _end_of_branch(db, session, tree, kinds)
        found = _place(db, session, tree)
        _turns(db, session, found)
        _snapshots(db, session, tree, [seq for seq, kind in kinds.items() if kind == "compaction"])
        _sums(db, session, has_records=bool(kinds))
        _artifacts(db, session)
        session.save(using=db, force_insert=session._state.adding)
        tool_days.count_again(db, session_id, channel=session.channel_id)


def _events(db, session_id):
    return TranscriptEvent.objects.using(db).filter(session_id=session_id)


def _session(db, session_id, *, has_records):
    found = Session.objects.using(db).filter(id=session_id).first()
    if found or not has_records:
        return found
    return Session(id=session_id, created_at=0, last_activity_at=0)


def _end_of_branch(db, session, tree, kinds):
    """Where the branch ends is the source's word; when that is lost, the last record or what a `leaf` names."""
    if session.leaf_record_id in tree.by_id:
        return
    session.leaf_record_id = None
    for node in reversed(tree.nodes):
        kind = kinds.get(node.seq)
        if kind == "session":
            continue
        session.leaf_record_id = node.record_id if kind != "leaf" else _target(db, session, node.seq)
        if session.leaf_record_id:
            return


def _target(db, session, seq):
    (row,) = _read(db, session, {}, [seq])
    target = orjson.loads(row.event_json).get("targetId") if row.facts.type != "unknown" else None
    return target if isinstance(target, str) else None


def _place(db, session, tree) -> list[Branched]:
    """Write down turn and branch of every record; the turns in order."""
    active = tree.active(session.leaf_record_id)
    found = tree.turns(active)
    numbers = {node.seq: number for number, turn in enumerate(found, start=1) for node in turn.nodes}
    stored = _events(db, session.id).values_list("seq", "turn_number", "is_active")
    ids = {node.seq: node.record_id for node in tree.nodes}
    changed = [
        (numbers.get(seq), is_active, session.id, seq)
        for seq, number, was_active in stored.iterator()
        for is_active in [ids.get(seq) in active]
        if (number, was_active) != (numbers.get(seq), is_active)
    ]
    query = "UPDATE transcript_events SET turn_number = %s, is_active = %s WHERE session_id = %s AND seq = %s"
    with connections[db].cursor() as cursor:
        cursor.executemany(query, changed)
    return found


def _turns(db, session, found):
    sums = record_sums.of_turns(db, session.id)
    kept = _evidence(db, session, {f"{session.id}:{turn.user.record_id}" for turn in found})
    words: list[tuple[str, str | None]] = []
    rows = []
    for number, members in enumerate(_members(db, session, found), start=1):
        turn = turns.turn_row(session, members) | sums[number]
        rows.append([*map(turn.get, TURN_COLUMNS)])
        if turn["is_active"] and len(words) < turns.TITLE_TURNS:
            words.append((turn["user_message_content"], turn["user_metadata"]))
    stored = ConversationTurn.objects.using(db).filter(session_id=session.id)
    with connections[db].cursor() as cursor:
        # Not through the model: contexts, which are evidence, would go with them.
        for turn_id in stored.exclude(id__in=kept).values_list("id", flat=True):
            cursor.execute("DELETE FROM conversation_turns WHERE id = %s", [turn_id])
        cursor.executemany(insert_sql("conversation_turns", TURN_COLUMNS), rows)
    session.title = session.title or turns.title_of(words)


def _evidence(db, session, ids):
    """The ids of turns that are not among `ids`, whose kept messages would lead nowhere; under numbers of their own."""
    contexts = ConversationContext.objects.using(db).filter(turn__session_id=session.id).exclude(turn_id__in=ids)
    kept = set(contexts.values_list("turn_id", flat=True))
    lonely = ConversationTurn.objects.using(db).filter(id__in=kept).order_by("first_seq")
    for number, turn in enumerate(lonely, start=1):
        turn.turn_number, turn.is_active = -number, False
        turn.save(using=db, update_fields=["turn_number", "is_active"])
    return kept


def _members(db, session, found: list[Branched]) -> Iterator[list[Row]]:
    """The records of each turn, of some turns at a time."""
    some: list[Branched] = []
    for turn in found:
        some.append(turn)
        if sum(len(each.nodes) for each in some) >= ROWS_AT_ONCE:
            yield from _of_some(db, session, some)
            some = []
    yield from _of_some(db, session, some)


def _of_some(db, session, some):
    nodes = {node.seq: node for turn in some for node in turn.nodes}
    rows = {row.seq: row for row in _read(db, session, nodes, sorted(nodes))}
    for turn in some:
        yield [rows[node.seq] for node in turn.nodes]


def _read(db, session, nodes: dict[int, Node], seqs: Iterable[int]) -> Iterator[Row]:
    """Records as they were when they came in, as far as their columns say; long outputs of tools stay capped."""
    seqs = list(seqs)
    for start in range(0, len(seqs), BATCH):
        events = _events(db, session.id).filter(seq__in=seqs[start : start + BATCH]).order_by("seq")
        for event in events.only("session_id", *COLUMNS).iterator(chunk_size=BATCH):
            found = _facts(event)
            found.kind, found.model = event.kind, event.model
            found.is_failed, found.is_synthetic = event.is_failed, event.is_synthetic
            record_id = nodes[event.seq].record_id if event.seq in nodes else ""
            row = Row(record_id, None, event.created_at, found, event.event_json, None, None, None)
            row.seq, row.turn_number, row.is_active = event.seq, event.turn_number, event.is_active
            yield row


def _facts(event):
    try:
        return facts(untrim(event.event_json, event.full_zstd if event.kind in SAYING else None))
    except (ValueError, Refused):  # damaged: it keeps its place, and the numbers beside it count
        return facts({"type": "unknown"})


def _snapshots(db, session, tree, seqs):
    nodes = {node.seq: node for node in tree.nodes}
    snapshots = TranscriptSnapshot.objects.using(db)
    snapshots.filter(session_id=session.id).delete()
    snapshots.bulk_create([turns.snapshot_row(session, tree, row) for row in _read(db, session, nodes, seqs)])


def _sums(db, session, *, has_records):
    """Totals, days, and what the records decide of the session's own row."""
    found = record_sums.of_session(db, session.id)
    if not has_records:
        found["created_at"] = session.created_at
    for name, value in found.items():
        setattr(session, name, value)
    answers = _events(db, session.id).filter(kind="assistant", is_synthetic=False).exclude(model=None)
    session.model = answers.order_by("-seq").values_list("model", flat=True).first() or session.model
    last = _events(db, session.id).order_by("-created_at").values_list("created_at", flat=True).first()
    session.last_activity_at = max(session.last_activity_at, last or 0)
    SessionDay.objects.using(db).filter(session_id=session.id).delete()
    days = [SessionDay(session_id=session.id, **day) for day in record_sums.of_days(db, session.id)]
    SessionDay.objects.using(db).bulk_create(days)


def _artifacts(db, session):
    with connections[db].cursor() as cursor:
        cursor.execute(TURN_OF_ARTIFACT, [session.id, KIND])
