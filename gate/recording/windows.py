"""What a gate was shown, kept once under its hash, and which of it may be used today."""

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
    left_out: int = 0  # messages that the gate was given besides, older than these

    @property
    def body(self) -> dict[str, Any]:
        """As it is sent."""
        return {
            "recentMessages": list(self.recent),
            "currentUserMessage": self.user,
            "currentAgentReply": self.reply,
        }

    @cached_property
    def text(self) -> bytes:
        """What is stored, as JSON, always the same."""
        stored = self.body | ({"leftOut": self.left_out} if self.left_out else {})
        return orjson.dumps(stored, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def hash(self) -> str:
        """What its row is called."""
        return hashlib.sha256(self.text).hexdigest()


def store_windows(db: str, windows: Iterable[Window]) -> None:
    """Store windows, in the caller's transaction; one that is there stays."""
    now = clock.now_ms()
    by_hash = {window.hash: window for window in windows}
    known = sql.find_stored_windows(db, by_hash)
    rows = [
        GateWindow(hash=name, body_zstd=packing.pack(one.text), message_count=len(one.recent), created_at=now)
        for name, one in by_hash.items()
        if name not in known
    ]
    sql.insert_rows(db, rows)


def read_window(db: str, window_hash: str | None) -> Window | None:
    """A window; None when it was not kept, or is not what its hash says any more."""
    row = GateWindow.objects.using(db).filter(hash=window_hash).first() if window_hash else None
    if row is None:
        return None
    try:
        text = packing.unpack(bytes(row.body_zstd), sha256=row.hash)
    except Refused:
        return None
    body = orjson.loads(text)
    said = (body["currentUserMessage"], body["currentAgentReply"])
    return Window(tuple(body["recentMessages"]), *said, body.get("leftOut", 0))


def find_withheld(db: str, decisions: Iterable[MemoryGateDecision]) -> set[str]:
    """Ids of those of these decisions whose stored windows may not be used; none while nobody has opted out.

    Read of each are `turn_id`, `match` and `window_hash`.
    """
    return find_withheld_windows(db, ((row, read_window(db, row.window_hash)) for row in decisions))


def find_withheld_windows(db: str, seen: Iterable[tuple[MemoryGateDecision, Window | None]]) -> set[str]:
    """The same for windows that were read, or are not stored yet.

    A window is a text: who said its messages is looked up in the turns of the session up to the decision's. Without a
    turn it is withheld, as it is for a message that nobody can tell who said.
    """
    if not consent.read_opted_out():
        return set()
    asked, by_turn = [], defaultdict(list)
    for row, window in seen:
        messages = _messages_in(window, is_sure=row.match in SURE)
        asked.append((row, messages))
        by_turn[row.turn_id] += messages
    usable = consent.filter_messages(db, by_turn)
    return {
        row.id
        for row, messages in asked
        if row.turn_id not in usable or any(message not in usable[row.turn_id] for message in messages)
    }


def _messages_in(window, *, is_sure):
    """What a window holds; where its turn is sure, without the turn itself."""
    if window is None:
        return []
    own = [(role, text) for role, text in (("user", window.user), ("agent", window.reply)) if text]
    if is_sure:
        return [message for message in window.recent if (message["role"], message["message"]) not in own]
    return [*window.recent, *({"role": role, "message": text} for role, text in own)]
