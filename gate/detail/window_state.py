"""The window that a gate saw, and how it is known.

It was reported, is derived from the transcript, or is not known.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..collectors.source_decisions import WINDOW_MESSAGES
from ..models import GateCall, MemoryGateDecision
from ..recording import windows
from ..recording.windows import Window

REPORTED, DERIVED, LOST, UNKNOWN = "told", "derived", "lost", "unknown"
STATES = (REPORTED, DERIVED, LOST, UNKNOWN)


@dataclass(frozen=True, slots=True)
class WindowState:
    """The window of a decision, where there is one, and its state, one of STATES.

    `told`: the report of the decision had the window. `derived`: it was built from the turns before, as no report had
    it. `lost`: it was stored, and is missing or was changed. `unknown`: there never was one.
    """

    state: str
    window: Window | None = None
    most_messages: ClassVar[int] = WINDOW_MESSAGES

    @property
    def length(self) -> int:
        """Return the number of characters of its texts."""
        if self.window is None:
            return 0
        messages = sum(len(message["message"]) for message in self.window.recent)
        return messages + len(self.window.user or "") + len(self.window.reply or "")

    def as_json(self) -> dict[str, Any] | None:
        """Return the window as the API has it."""
        return self.window and {
            "recent_messages": list(self.window.recent),
            "current_user_message": self.window.user,
            "current_agent_reply": self.window.reply,
            "left_out": self.window.left_out,
        }


def read_window_state(db: str, row: MemoryGateDecision | GateCall) -> WindowState:
    """Return the window of a decision or a call."""
    if row.window_hash is None:
        return WindowState(UNKNOWN)
    window = windows.read_window(db, row.window_hash)
    if window is None:
        return WindowState(LOST)
    return WindowState(DERIVED if getattr(row, "is_window_derived", False) else REPORTED, window)
