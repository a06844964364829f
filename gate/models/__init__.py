"""What memory_gate decided, and what it saw and said: evidence, never rebuilt. Sums of it are derived.

Columns of the Reflection spec (REQ-002) keep its names and types; ours come after them.
"""

from .calls import GateCall, GatePrompt, GateReplay, GateReplayDecision  # noqa: F401 - Django looks for models here
from .decisions import GateReceipt, GateWindow, MemoryGateDecision  # noqa: F401 - as above
from .sums import (  # noqa: F401 - as above
    GateDay,
    GateHour,
    GateSessionSums,
    GateSumsState,
    GateVerdictDay,
    GateVerdictsState,
    MemoryGateStats,
)
