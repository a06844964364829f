"""Heads: values of the chain after the last event, to be kept outside of the home."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import files, inspection, statements, write_queue
from openclaw_web.sqlite.json_columns import BIGGEST
from people.audit import log as audit

from ..events import LATEST_MS
from ..models import EpisodeGap, EpisodeHead, EpisodicEvent
from .hashes import START

LAST_EVENT = "SELECT id, chain_hash FROM episodic_events ORDER BY id DESC LIMIT 1"
GIVEN_OUT = "SELECT last_id, chain_hash, destination, created_at FROM episode_heads ORDER BY last_id"
LAST_GAP = "SELECT last_id, chain_after FROM episode_gaps ORDER BY last_id DESC LIMIT 1"
HEAD = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


class WrongHead(Refused):
    """A text is no head."""

    status = 400


class DamagedLedger(Refused):
    """A ledger that takes no events, because its end is damaged."""

    status = 503
    is_of_store = True


@dataclass(frozen=True, slots=True)
class Head:
    """The number of the last event, removed ones included, and the chain after it."""

    last_id: int
    chain_hash: bytes

    def __str__(self) -> str:
        return f"{self.last_id}:{self.chain_hash.hex()}"


EMPTY = Head(0, START)  # of a ledger that never had an event


def read_head(db: str) -> Head:
    """Return the head of a ledger; number 0 for one that never had an event.

    Raises DamagedLedger for one that was removed, or whose end is damaged.
    """
    if not inspection.read_kind(db, EpisodicEvent._meta.db_table):
        raise DamagedLedger(_("The ledger was removed: its table was dropped. Only a backup brings it back."))
    return _choose_last([statements.read_rows(db, sql) for sql in (LAST_EVENT, LAST_GAP)])


def read_copy_head(copy: Path) -> Head | None:
    """Return the head of a copied file that no process writes to; None without a ledger."""
    with files.open_database(copy, is_still=True) as database:
        if EpisodicEvent._meta.db_table not in files.list_tables(database):
            return None
        return _choose_last([database.execute(sql).fetchall() for sql in (LAST_EVENT, LAST_GAP)])


def _choose_last(results):
    """Return the later one of the last event and the last gap. Raises DamagedLedger."""
    if not all(type(row_id) is int and type(value) is bytes for rows in results for row_id, value in rows):
        raise DamagedLedger(_("The ledger is damaged: its last event has no value of the chain."))
    last = [Head(row_id, value) for rows in results for row_id, value in rows]
    return max(last, key=lambda head: head.last_id, default=EMPTY)


def parse_head(text: str) -> Head:
    """Return the head that a text such as `12:<64 hex digits>` holds.

    Raises WrongHead for another text.
    """
    match = HEAD.fullmatch(text.strip())
    if match is None:
        raise WrongHead(_("A head is a number, a colon and 64 hexadecimal digits, as `episodes head` prints it."))
    return Head(int(match[1]), bytes.fromhex(match[2]))


def give_out(db: str, destination: str) -> Head:
    """Return the head, and note that it left the home.

    Retention leaves a trace at each head that was given out, so that it can be compared for ever.
    """
    with write_queue.agent_transaction(db):
        head = read_head(db)
        _note(db, head, destination)
    return head


def release(agent: Agent, destination: str, *, by: str) -> Head:
    """Give out the head of an agent's ledger, with an entry in the audit log."""
    head = give_out(agent.db, destination)
    subject = {"object_type": "episode", "object_id": str(head.last_id), "agent_id": agent.agent_id}
    audit.record(by, "episodes_head", **subject)
    return head


def is_in_chain(db: str, head: Head) -> bool:
    """Return whether the ledger has this value after this number."""
    rows = EpisodicEvent.objects.using(db).filter(id=head.last_id, chain_hash=head.chain_hash)
    gaps = EpisodeGap.objects.using(db).filter(last_id=head.last_id, chain_after=head.chain_hash)
    return head == EMPTY or rows.exists() or gaps.exists()


def note_copied(db: str, head: Head, destination: str) -> bool:
    """Note that the head of a copy left the home; returns whether it stays comparable.

    It cannot when a gap that retention made since the copy holds it.
    """
    with write_queue.agent_transaction(db):
        if EpisodeGap.objects.using(db).filter(first_id__lte=head.last_id, last_id__gt=head.last_id).exists():
            return False
        _note(db, head, destination)
    return True


def _note(db, head, destination):
    if head.last_id:
        values = {"chain_hash": head.chain_hash, "destination": destination, "created_at": clock.now_ms()}
        EpisodeHead.objects.using(db).update_or_create(last_id=head.last_id, defaults=values)


def list_known_heads(db: str, agent_id: str) -> list[tuple[str, Head]]:
    """Return all known heads of an agent, each with a name.

    They are those of backups that are there, and those that were given out elsewhere.
    """
    heads: list[tuple[str, Head]] = []
    for name, text in import_string(settings.BACKUP_HEADS)(agent_id):
        with suppress(WrongHead):  # of a backup whose manifest somebody changed
            heads.append((name, parse_head(text)))
    of_backups = {head for _name, head in heads}
    with statements.undecodable_texts(db):
        rows = statements.read_rows(db, GIVEN_OUT)
    for last_id, chain_hash, destination, created_at in rows:
        is_readable = type(last_id) is int and type(chain_hash) is bytes and type(created_at) is int
        if is_readable and Head(last_id, chain_hash) not in of_backups:
            heads.append((f"{destination}, {_format_time(created_at)}", Head(last_id, chain_hash)))
        elif not is_readable:  # compared all the same: no ledger has it
            heads.append((_("damaged row of episode_heads"), Head(BIGGEST, b"")))
    return heads


def parse_heads(texts: Sequence[Sequence[str]]) -> list[tuple[str, Head]]:
    """Return heads that somebody kept, each with its name. Raises WrongHead."""
    return [(name, parse_head(text)) for name, text in texts]


def _format_time(moment):
    if not 0 <= moment <= LATEST_MS:
        return str(moment)
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
