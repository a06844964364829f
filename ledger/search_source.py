"""The records of transcripts as texts of the search: what people and agents said, thoughts, calls and results."""

from collections.abc import Collection, Iterator
from urllib.parse import quote

import orjson
from django.db.models import Sum
from django.urls import reverse

from agents.holdings import EMPTY, add_checksums, compute_checksum
from artifacts.contents import secret_flags
from artifacts.search_source import MOST_BYTES
from openclaw_web.errors import Refused
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.word_index import Step, WordIndex
from search.sources import Item, Key, Removed, list_texts

from . import consent
from .collectors.records import read_message_facts
from .models import ConversationTurn, Session, TranscriptEvent
from .outputs.stashed_outputs import is_flagged, read_whole_record
from .transcripts.trimming import parse_stashed, untrim

SESSIONS, RECORDS = 1_000, 500  # that are read at once
SIZE = 4_000_000  # characters of records after which a step ends
KINDS = {"user": "user", "assistant": "agent", "tool_result": "result"}
STORED = ("seq", "event_id", "kind", "turn_number", "created_at", "trim_json", "event_json", "full_zstd")
COLUMNS = ("session_id", *STORED, "tool_name", "model", "is_failed")
READ = f"""
    SELECT {", ".join(COLUMNS)} FROM {dialect.json_array("places")} CROSS JOIN transcript_events
    ON session_id = {dialect.json_item("places.value", 0)} AND seq = {dialect.json_item("places.value", 1)}
    WHERE repeat_of IS NULL AND kind <> 'withheld'
"""  # noqa: S608 - names of columns
OF_SESSION = ("id", "record_count", "id_checksum", "withheld_count")


class RecordSource:
    """Each session is a part; its position is the last record with what the session's row says of all until then."""

    name, is_global = "record", False

    def read_new(self, db: str, index: WordIndex) -> Iterator[Step]:
        """Read the new records of all sessions, and sessions whose records were replaced."""
        kinds, last = secret_flags.read_flagged_kinds(), ""
        parts = [name for name, _position in index.iterate_parts(self.name)]
        for start in range(0, len(parts), SESSIONS):
            names = parts[start : start + SESSIONS]
            if Session.objects.using(db).filter(id__in=names).count() < len(names):
                raise Removed
        while sessions := list(
            Session.objects.using(db).filter(id__gt=last).order_by("id").values_list(*OF_SESSION)[:SESSIONS]
        ):
            last = sessions[-1][0]
            positions = index.read_positions(self.name, [session[0] for session in sessions])
            for session_id, *state in sessions:
                before = positions.get(session_id)
                if (before or "").split(" ")[1:] != [str(value) for value in state]:
                    yield from self._read_session(db, session_id, before, state, kinds)

    def _read_session(self, db, session_id, before, state, kinds):
        is_anew, before = before == "", before or ""  # a known part without a position: its records were replaced
        seq, records, withheld = -1, 0, 0
        if before:
            seq, records, checksum, withheld = _parse(before)
            if state[2] - withheld > max(0, state[0] - records) or records > state[0]:
                raise Removed  # records that were there are gone, or withheld now
            fresh = _summarise(db, session_id, seq)
            # Not so where records were replaced, or a killed run ended within the session.
            if [records + fresh[0], add_checksums(checksum, fresh[1]), withheld + fresh[2]] != state:
                seq, records, withheld, is_anew = -1, 0, 0, True
        while True:
            rows = list(_read_rows(db, session_id, seq))
            items = _build_items(db, [row for row in rows if row["kind"] != "withheld"], kinds)
            seq = rows[-1]["seq"] if rows else seq
            records += len(rows)
            withheld += sum(row["kind"] == "withheld" for row in rows)
            rest = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__gt=seq)
            is_end = not rows or (records >= state[0] and not rest.exists())
            # The state of the session's row, so that it is not read again where its numbers are wrong.
            after = f"{seq} {' '.join(map(str, state))}" if is_end else f"{seq} {records} {EMPTY} {withheld}"
            yield Step(self.name, session_id, before, after, [item.build_entries() for item in items], is_anew)
            if is_end:
                return
            before, is_anew = after, False

    def count_rows(self, db: str) -> int:
        """Count the records of all sessions."""
        return Session.objects.using(db).aggregate(count=Sum("record_count"))["count"] or 0

    def read_items(self, db: str, places: Collection[tuple[str, Key]]) -> dict[tuple[str, Key], Item]:
        """Read records by session and number, with the titles and channels of their sessions."""
        rows_of_places = statements.read_rows(db, READ, [orjson.dumps(list(places)).decode()])
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows_of_places]
        sessions = Session.objects.using(db).only("title", "channel_id").in_bulk({row["session_id"] for row in rows})
        addresses = {
            name: reverse("ledger:session_detail", args=[db.removeprefix("agent_"), name]) for name in sessions
        }
        items = {}
        for item in _build_items(db, rows, secret_flags.read_flagged_kinds()):
            row = item.facts
            if row["session_id"] not in sessions:  # removed between these queries
                continue
            session, name = sessions[row["session_id"]], quote(row["event_id"] or "", safe="")
            item.title, item.href = (
                session.title or row["session_id"],
                f"{addresses[session.id]}?record={name}#r-{name}",
            )
            item.facts = {"tool": {row["tool_name"]}, "model": row["model"], "channel": session.channel_id}
            item.facts |= {"turn_number": row["turn_number"], "session_id": row["session_id"]}
            item.facts["tool"] |= {call.name for call in row["calls"]}
            items[row["session_id"], item.key] = item
        return items


def _parse(position):
    seq, records, checksum, withheld = position.split(" ") if position else ("-1", "0", EMPTY, "0")
    return int(seq), int(records), checksum, int(withheld)


def _summarise(db, session_id, after):
    """The number, the checksum of the ids and the withheld ones of the records after a number."""
    rows = (
        TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__gt=after).values_list("event_id", "kind")
    )
    known = list(rows.iterator())
    ids = compute_checksum(event_id for event_id, _kind in known if event_id is not None)
    return len(known), ids, sum(kind == "withheld" for _event_id, kind in known)


def _read_rows(db, session_id, after):
    size = 0
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__gt=after).order_by("seq")
    for row in rows.values("session_id", *STORED)[:RECORDS].iterator(chunk_size=50):
        yield row
        size += len(row["event_json"])
        if size > SIZE:
            return


def _build_items(db, rows, flagged_kinds):
    """Items of records, without those of turns whose words may not be used today."""
    hidden = _find_hidden(db, rows)
    items = []
    for row in rows:
        if (row["session_id"], row["turn_number"]) in hidden:
            continue
        try:
            record = _read_record(row, flagged_kinds)
        except (Refused, ValueError):  # the doctor names damaged records
            continue
        record_facts = read_message_facts(record)
        kind = KINDS.get(row["kind"], "summary")
        fields = {kind: record_facts.text, "thinking": record_facts.thinking}
        fields["call"] = "\n".join(
            text for call in record_facts.calls for text in (call.name, *list_texts(call.arguments))
        )
        if kind == "agent" and (error := record["message"].get("errorMessage")):
            fields["agent"] += f"\n{error}"
        fields = {name: text for name, text in fields.items() if text}
        items.append(Item(row["seq"], row["created_at"], kind, fields, facts=row | {"calls": record_facts.calls}))
    return items


def _find_hidden(db, rows):
    """The turns of these records whose words may not be used today, as pairs of session and number."""
    if not consent.read_opted_out():
        return set()
    hidden = set()
    for session_id in {row["session_id"] for row in rows}:
        numbers = {row["turn_number"] for row in rows if row["session_id"] == session_id}
        turns = ConversationTurn.objects.using(db).filter(session_id=session_id, turn_number__in=numbers - {None})
        names = {turn.id: turn.turn_number for turn in turns}
        hidden |= {(session_id, names[name]) for name in consent.find_withheld(db, list(turns))}
    return hidden


def _read_record(row, flagged_kinds):
    stashed = parse_stashed(row["trim_json"])
    if not stashed or sum(note.bytes for note in stashed) > MOST_BYTES or is_flagged(row["trim_json"], flagged_kinds):
        return untrim(row["event_json"], row["full_zstd"])
    return read_whole_record(row["event_json"], row["full_zstd"], row["trim_json"])[0]


RECORDS_SOURCE = RecordSource()
