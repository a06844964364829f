"""Checks of the doctor: decisions, windows, responses, turns, receipts, and sums."""

from django.db.models import Q, Value
from django.db.models.functions import Length, StrIndex
from django.db.models.lookups import Exact
from django.utils.translation import gettext_lazy as _

from artifacts import handles
from artifacts.models import Artifact
from ledger.models import ConversationTurn, Session
from openclaw_web.disk import packing
from openclaw_web.sqlite.integrity import (
    DAMAGED,
    DIFFERENT,
    Check,
    Reference,
    build_damage_finder,
    build_reference_check,
    build_row_removal,
)

from .models import GateCall, GateReceipt, GateWindow, MemoryGateDecision
from .statistics import sums


def _rebuild_sums(agent):
    count = sum(1 for _row in sums.find_wrong(agent.db))
    sums.rebuild(agent.db)
    return count


SESSION = Reference(MemoryGateDecision, "session_id", Session)
TURN = Reference(MemoryGateDecision, "turn_id", ConversationTurn, within=SESSION)
WINDOW = Reference(MemoryGateDecision, "window_hash", GateWindow, key="hash")
RECEIPT = Reference(
    GateReceipt, "decision_id", MemoryGateDecision
)  # a repeated report would count as known although its decision is lost
# The column of a long response holds the handle of an artifact and nothing else.
IS_HANDLE = Q(Exact(Length("raw_response"), handles.LENGTH)) & Q(
    Exact(StrIndex("raw_response", Value(handles.PREFIX)), 1)
)
RESPONSES = [
    Reference(model, "raw_response", Artifact, key="handle", where=IS_HANDLE)
    for model in (MemoryGateDecision, GateCall)
]

CHECKS = (
    build_reference_check("gate_window_gone", WINDOW, noun="decisions", target=_("a window")),
    Check(
        name="gate_window_damaged",
        sentence=DAMAGED,
        noun="windows",
        find_deep=build_damage_finder(GateWindow, lambda row: packing.unpack(bytes(row.body_zstd), sha256=row.hash)),
    ),
    build_reference_check("gate_responses", *RESPONSES, noun="decisions or calls", target=_("an artifact")),
    build_reference_check(
        "gate_receipts", RECEIPT, noun="receipts", target=_("a decision"), repair=build_row_removal(RECEIPT)
    ),
    Check(
        name="gate_sums",
        sentence=DIFFERENT,
        noun="totals",
        target=_("the decisions"),
        find=sums.find_wrong,
        repair=_rebuild_sums,
    ),
    build_reference_check("gate_turns", TURN, noun="decisions", target=_("a turn"), is_note=True),
)
