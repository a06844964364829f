"""What a gate was shown, kept once under its hash."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from openclaw_web import clock
from openclaw_web.disk import packing
from openclaw_web.errors import Refused

from ..models import GateWindow
from . import inserting


@dataclass(frozen=True, slots=True)
class Window:
    """The input of memory_gate (Reflection spec `MemoryGateInput`): messages before the turn, and the turn itself.

    Each message is `{"role": "user"|"agent", "message", "timestamp"}`, the oldest first. A half of the turn that the
    gate was not given is None.
    """

    recent: tuple[dict[str, Any], ...]
    user: str | None = None
    reply: str | None = None

    @property
    def body(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "recentMessages": list(self.recent),
            "currentUserMessage": self.user,
            "currentAgentReply": self.reply,
        }

    @property
    def text(self) -> bytes:
        """The body as JSON, always the same."""
        return orjson.dumps(self.body, option=orjson.OPT_SORT_KEYS)

    @property
    def hash(self) -> str:
        """What its row is called."""
        return hashlib.sha256(self.text).hexdigest()


def keep(db: str, windows: Iterable[Window]) -> None:
    """Store windows, in the caller's transaction; one that is there stays."""
    now = clock.now_ms()
    rows = {
        window.hash: GateWindow(
            hash=window.hash, body_zstd=packing.pack(window.text), message_count=len(window.recent), created_at=now
        )
        for window in windows
    }
    inserting.insert(db, list(rows.values()))


def read(db: str, window_hash: str | None) -> Window | None:
    """A window; None when it was not kept, or is not what its hash says any more."""
    row = GateWindow.objects.using(db).filter(hash=window_hash).first() if window_hash else None
    if row is None:
        return None
    try:
        text = packing.unpack(bytes(row.body_zstd))
    except Refused:
        return None
    if hashlib.sha256(text).hexdigest() != row.hash:
        return None
    body = orjson.loads(text)
    return Window(tuple(body["recentMessages"]), body["currentUserMessage"], body["currentAgentReply"])
