"""Reads a whole ledger again and compares it with its chain and with kept heads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from openclaw_web.sqlite import inspection, statements
from openclaw_web.sqlite.json_columns import decode

from ..models import REDACTED, REDACTED_JSON, RUN_SESSION, SCHEMA_VERSION, EpisodicEvent
from . import gaps, hashes, triggers
from .heads import EMPTY, Head

EVENTS = f"""SELECT id, {", ".join(hashes.LINKED)}, summary, payload_json, refs_json, redacted, salt, content_hash,
    chain_hash FROM episodic_events WHERE id > %s ORDER BY id"""  # noqa: S608 - constants
BEFORE_FIRST = -(2**63)  # less than the number of every event, also of one that somebody inserted
# A value of another type is null: a text that is no UTF-8 could not be read.
GAPS = """SELECT first_id, CASE typeof(last_id) WHEN 'integer' THEN last_id END,
    CASE typeof(count) WHEN 'integer' THEN count END, CASE typeof(chain_before) WHEN 'blob' THEN chain_before END,
    CASE typeof(chain_after) WHEN 'blob' THEN chain_after END FROM episode_gaps ORDER BY first_id"""
LAST_RUN = f"""SELECT payload_json FROM episodic_events WHERE session_id = '{RUN_SESSION}' AND redacted = 0
    AND event_id LIKE 'retention-%%' ORDER BY id DESC LIMIT 1"""  # noqa: S608 - constants
INDEXES = {part.name for part in (*EpisodicEvent._meta.indexes, *EpisodicEvent._meta.constraints)}
NAMED = 20  # faults that a result names
EVERY = 10_000  # rows between two reports of progress
TEXTS = len(hashes.LINKED)
ChainValues = dict[int, tuple[bytes, int] | None]


@dataclass(slots=True)
class Verification:
    """Result of a verification: what was compared, and each fault as (event id or rows, sentence)."""

    head: Head = EMPTY
    events: int = 0
    removed: int = 0
    fault_count: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)
    heads: list[dict[str, Any]] = field(default_factory=list)
    runs: list[tuple[int, Any]] = field(default_factory=list)  # events of retention: number, and how many they removed
    redacted: dict[int, Any] = field(default_factory=dict)  # event ids by number, of texts that were stored once
    named_ids: set[Any] = field(default_factory=set)  # numbers of rows that redactions named
    is_removed: bool = False  # an operator dropped the table

    @property
    def is_unchanged(self) -> bool:
        return not self.fault_count and all(entry["unchanged"] for entry in self.heads)

    def add(self, name: object, sentence: str) -> None:
        """Note a fault; the first twenty are named."""
        self.fault_count += 1
        if len(self.faults) < NAMED:
            # A changed name may hold what no answer can.
            self.faults.append((str(name).encode("utf-8", "backslashreplace").decode(), sentence))


def verify(
    db: str, expected: Sequence[tuple[str, Head]] = (), report: Callable[[int], object] = lambda count: None
) -> Verification:
    """Compare every event, gap and trigger with the chain.

    `expected` are heads that were kept elsewhere, each with a name; `report(rows)` is called now and then.
    """
    result = Verification(is_removed=not inspection.read_kind(db, triggers.TABLE))
    if result.is_removed:
        result.add(triggers.TABLE, _("This table was dropped: the ledger was removed."))
        facts = {"unchanged": False, "sentence": _("This head was given out before the ledger was removed.")}
        result.heads = [{"name": name, "head": str(head), **facts} for name, head in expected]
        return result
    values: ChainValues = dict.fromkeys(head.last_id for _name, head in expected)
    with statements.read_transaction(db):
        _walk(db, result, values, report)
        _check_gaps(db, result)
        _check_table(db, result)
    for row_id in sorted(result.redacted.keys() - result.named_ids):
        result.add(result.redacted[row_id], _("The texts of this event were removed, and no redaction names it."))
    for name in triggers.find_wrong(db):
        result.add(name, _("This trigger is missing or different: rows may have been changed without a trace."))
    for name, head in expected:
        result.heads.append(_compare_head(name, head, values, result))
    return result


def _walk(db, result, values, report):
    """Follow the chain from its start.

    `values` gets the chain, and the number of faults before it, at the numbers of its keys.
    """
    chain, number = hashes.START, 0
    waiting = iter(statements.iterate_rows(db, GAPS))
    gap = next(waiting, None)
    for row in _iterate_events(db):
        while gap and gap[0] < row[0]:
            chain, number = _step_over(result, gap, chain, number, values)
            gap = next(waiting, None)
        if row[0] != number + 1:
            result.add(f"{number + 1}-{row[0] - 1}", _("These events are missing, and no retention run removed them."))
        chain, number = _check_event(result, row, chain), row[0]
        if number in values:
            values[number] = chain, result.fault_count
        if not result.events % EVERY:
            report(result.events)
    while gap:
        chain, number = _step_over(result, gap, chain, number, values)
        gap = next(waiting, None)
    result.head = Head(number, chain)


def _iterate_events(db) -> Iterator[tuple[Any, ...]]:
    """Yield every event, also those whose texts are no texts any more."""
    last_id = BEFORE_FIRST
    try:
        for row in statements.iterate_rows(db, EVENTS, [last_id]):
            last_id = row[0]
            yield row
    except DatabaseError:
        with statements.undecodable_texts(db):
            yield from statements.iterate_rows(db, EVENTS, [last_id])


def _step_over(result, gap, chain, number, values):
    first, last, count, before, after = gap
    is_whole = all(type(value) is int for value in gap[:3]) and all(type(value) is bytes for value in gap[3:])
    if not is_whole or first != number + 1 or last < first or count != last - first + 1 or before != chain:
        result.add(f"{first}-{last}", _("This gap does not join the events around it."))
    if not is_whole:
        return chain, number
    result.removed += count
    if last in values:
        values[last] = after, result.fault_count
    return after, max(last, number)


def _check_event(result, row, chain):
    """Check one event, and return the value of the chain that is stored with it.

    The walk goes on with the stored value, so that one change is one fault.
    """
    result.events += 1
    row_id, linked = row[0], row[1 : TEXTS + 1]
    summary, payload, refs, redacted, salt, content_hash, stored = row[TEXTS + 1 :]
    try:
        link = hashes.hash_link(chain, row_id, linked, _check_bytes(content_hash))
        if link != stored:
            result.add(row[1], _("This event, or its place in the ledger, was changed."))
        elif linked[6] != SCHEMA_VERSION or not _are_texts_right(summary, payload, refs, redacted, salt, content_hash):
            result.add(row[1], _("The texts of this event were changed."))
        if redacted and content_hash != hashes.WITHHELD:
            result.redacted[row_id] = row[1]
        if linked[3] == RUN_SESSION:
            facts = decode(payload)
            result.runs.append((row_id, facts.get("removed_count")))
            result.named_ids.update(number for number in facts.get("redacted_ids", ()) if type(number) is int)
    except (TypeError, ValueError):
        result.add(row[1], _("This event holds values that no event can have."))
    return stored if type(stored) is bytes else chain


def _are_texts_right(summary, payload, refs, redacted, salt, content_hash):
    if type(redacted) is not int or redacted not in (0, 1):
        return False
    if redacted:
        return summary == REDACTED and refs is None and payload in (None, REDACTED_JSON) and salt is None
    return hashes.hash_content(_check_bytes(salt), summary, payload, refs) == content_hash


def _check_bytes(value):
    """Return bytes. Raises TypeError for anything else: `bytes` would make some of a number."""
    if type(value) is not bytes:
        raise TypeError(value)
    return value


def _check_table(db, result):
    """Check the indexes, which queries read, and the number that SQLite gives to the next event."""
    indexes = inspection.read_parts(db, "index", [triggers.TABLE])
    if damage := inspection.find_table_damage(db, triggers.TABLE):
        result.add(triggers.TABLE, _("The table is damaged: %(reason)s") % {"reason": damage})
    missing = sorted(INDEXES - indexes.keys()) + sorted(name for name, sql in indexes.items() if " WHERE " in sql)
    for name in missing:
        result.add(name, _("This index is missing or partial: queries may leave out events."))
    try:
        last_number = inspection.read_last_number(db, triggers.TABLE)
    except ValueError:
        last_number = None
    if last_number != result.head.last_id:
        sentence = _(
            "The number of the last event is another one than SQLite gave out: the last events may be missing."
        )
        result.add("sqlite_sequence", sentence)


def _check_gaps(db, result):
    """Compare the gaps with what retention runs said of them."""
    with statements.undecodable_texts(db):
        row = statements.read_row(db, LAST_RUN)
    recorded_hash = decode(row[0]).get("gaps_sha256") if row else None
    if recorded_hash != (gaps.read_gaps_hash(db) if row or result.removed else None):
        result.add("gaps", _("The gaps are not those that the last retention run left: events were removed otherwise."))
    elif result.removed != sum(count for _row_id, count in result.runs if type(count) is int):
        result.add("gaps", _("Retention runs removed another number of events than are missing."))


def _compare_head(name, head, values, result):
    """Compare a head that was kept elsewhere with the chain as it is."""
    chain, faults = values.get(head.last_id) or (hashes.START if head.last_id == 0 else None, 0)
    later = result.head.last_id - head.last_id
    if head.chain_hash == chain and faults:
        sentence = _("The chain has this value, but events before it were changed.")
    elif head.chain_hash == chain:
        removed = sum(count for row_id, count in result.runs if row_id > head.last_id and type(count) is int)
        counts = {"count": f"{later:,}", "removed": f"{removed:,}"}
        sentence = _("Unchanged since this head; events after it: %(count)s, removed by retention since: %(removed)s.")
        sentence %= counts
    elif later < 0:
        sentence = _("The ledger ends before this head: its last events are missing.")
    else:
        sentence = _("The ledger is another one than when this head was given out.")
    is_same = head.chain_hash == chain and not faults
    return {"name": name, "head": str(head), "unchanged": is_same, "sentence": sentence}
