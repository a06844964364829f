"""What the gate saw when it decided: as it was told, as it can be told from the transcript, or that it is not known."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..collectors.source_decisions import WINDOW_MESSAGES
from ..models import GateCall, MemoryGateDecision
from ..recording import windows
from ..recording.windows import Window

TOLD, DERIVED, LOST, UNKNOWN = "told", "derived", "lost", "unknown"
STATES = (TOLD, DERIVED, LOST, UNKNOWN)


@dataclass(frozen=True, slots=True)
class WindowState:
    """What is known of the window of a decision: one of STATES, and the window where there is one.

    `told`: as whoever told of the decision said. `derived`: made of the turns before it, because nobody told. `lost`:
    it was kept, and is not there any more or was changed. `unknown`: there never was one.
    """

    state: str
    window: Window | None = None
    most_messages: ClassVar[int] = WINDOW_MESSAGES

    @property
    def length(self) -> int:
        """The characters of its texts."""
        if self.window is None:
            return 0
        messages = sum(len(message["message"]) for message in self.window.recent)
        return messages + len(self.window.user or "") + len(self.window.reply or "")

    def as_json(self) -> dict[str, Any] | None:
        """The window as the API tells it."""
        return self.window and {
            "recent_messages": list(self.window.recent),
            "current_user_message": self.window.user,
            "current_agent_reply": self.window.reply,
            "left_out": self.window.left_out,
        }


def read_window_state(db: str, row: MemoryGateDecision | GateCall) -> WindowState:
    """What the gate saw when it made this decision, or was sent with this call."""
    if row.window_hash is None:
        return WindowState(UNKNOWN)
    window = windows.read_window(db, row.window_hash)
    if window is None:
        return WindowState(LOST)
    return WindowState(DERIVED if getattr(row, "is_window_derived", False) else TOLD, window)
