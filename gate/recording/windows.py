"""Stores the inputs of the gate by hash, and finds those that may not be used."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from ledger import consent
from openclaw_web import clock
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import encode

from ..models import GateWindow, MemoryGateDecision
from . import sql

SURE = (MemoryGateDecision.Match.GIVEN, MemoryGateDecision.Match.EXACT)


@dataclass(frozen=True)
class Window:
    """The input of memory_gate (Reflection spec `MemoryGateInput`): messages before the turn, and the turn itself.

    Each message is `{"role": "user"|"agent", "message", "timestamp"}`, the oldest first. A half of the turn that the
    gate was not given is None.
    """

    recent: tuple[dict[str, Any], ...]
    user: str | None = None
    reply: str | None = None
    left_out: int = 0  # count of older messages that the gate was given too

    @property
    def body(self) -> dict[str, Any]:
        """Return the window as it is sent."""
        return {
            "recentMessages": list(self.recent),
            "currentUserMessage": self.user,
            "currentAgentReply": self.reply,
        }

    @cached_property
    def text(self) -> bytes:
        """Return the stored JSON; equal windows give equal bytes."""
        stored = self.body | ({"leftOut": self.left_out} if self.left_out else {})
        return orjson.dumps(stored, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def hash(self) -> str:
        """Return the SHA-256 of the text, the id of its row."""
        return hashlib.sha256(self.text).hexdigest()


def store_windows(db: str, windows: Iterable[Window]) -> None:
    """Store windows, in the caller's transaction.

    A window that is stored already does not change.
    """
    now = clock.now_ms()
    by_hash = {window.hash: window for window in windows}
    known = {name for (name,) in statements.read_rows(db, sql.WINDOWS, [encode(list(by_hash))])}
    rows = [
        GateWindow(hash=name, body_zstd=packing.pack(window.text), message_count=len(window.recent), created_at=now)
        for name, window in by_hash.items()
        if name not in known
    ]
    sql.insert_rows(db, rows)


def read_window(db: str, window_hash: str | None) -> Window | None:
    """Return a stored window; None when it is missing or does not fit its hash."""
    row = GateWindow.objects.using(db).filter(hash=window_hash).first() if window_hash else None
    if row is None:
        return None
    try:
        text = packing.unpack(bytes(row.body_zstd), sha256=row.hash)
    except Refused:
        return None
    body = orjson.loads(text)
    texts = (body["currentUserMessage"], body["currentAgentReply"])
    return Window(tuple(body["recentMessages"]), *texts, body.get("leftOut", 0))


def find_withheld(db: str, decisions: Iterable[MemoryGateDecision]) -> set[str]:
    """Return ids of those decisions whose stored windows may not be used.

    Empty while nobody has opted out. Needs `turn_id`, `match` and `window_hash` of each decision.
    """
    return find_withheld_windows(db, ((row, read_window(db, row.window_hash)) for row in decisions))


def find_withheld_windows(db: str, decision_windows: Iterable[tuple[MemoryGateDecision, Window | None]]) -> set[str]:
    """Return ids of those decisions whose given windows may not be used.

    The windows were read, or are not stored yet. A window is text: who wrote its messages is looked up in the turns of
    the session up to the decision's. A window without a turn is withheld, and so is one with a message of an unknown
    sender.
    """
    if not consent.read_opted_out():
        return set()
    checked, by_turn = [], defaultdict(list)
    for row, window in decision_windows:
        messages = _list_messages(window, is_sure=row.match in SURE)
        checked.append((row, messages))
        by_turn[row.turn_id] += messages
    usable = consent.filter_messages(db, by_turn)
    return {
        row.id
        for row, messages in checked
        if row.turn_id not in usable or any(message not in usable[row.turn_id] for message in messages)
    }


def _list_messages(window, *, is_sure):
    """Return the messages of a window; where its turn is sure, without the turn itself."""
    if window is None:
        return []
    own = [(role, text) for role, text in (("user", window.user), ("agent", window.reply)) if text]
    if is_sure:
        return [message for message in window.recent if (message["role"], message["message"]) not in own]
    return [*window.recent, *({"role": role, "message": text} for role, text in own)]
