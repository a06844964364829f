"""Decisions of memory_gate, their windows, calls and prompts, and their sums.

All but the sums are evidence and never rebuilt; sums are derived.

Columns of the Reflection spec (REQ-002) keep its names and types; our own columns come after them.
"""

from .calls import (  # noqa: F401 - Django looks for models here
    GateCall,
    GatePrompt,
    GateReplay,
    GateReplayDecision,
    RegressionSet,
)
from .decisions import GateReceipt, GateWindow, MemoryGateDecision  # noqa: F401 - as above
from .sums import (  # noqa: F401 - as above
    GateDay,
    GateHour,
    GateSessionSums,
    GateStaleSum,
    GateVerdictDay,
    GateVerdictsState,
    MemoryGateStats,
)
