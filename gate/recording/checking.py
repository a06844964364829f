"""Whether decisions still have what they name: their windows, responses and turns. Nothing is changed."""

import hashlib
from collections.abc import Iterator

from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Length, StrIndex

from artifacts import handles
from artifacts.models import Artifact
from ledger.models import ConversationTurn, Session
from openclaw_web.disk import packing
from openclaw_web.errors import Refused

from ..models import GateCall, GateReceipt, GateWindow, MemoryGateDecision

CHUNK = 500


def without_window(db: str) -> QuerySet[MemoryGateDecision]:
    """Decisions whose window is not there."""
    window = GateWindow.objects.using(db).filter(hash=OuterRef("window_hash"))
    return MemoryGateDecision.objects.using(db).filter(~Exists(window), window_hash__isnull=False)


def damaged_windows(db: str) -> Iterator[str]:
    """Hashes of windows whose bytes are not what the hash says."""
    for row in GateWindow.objects.using(db).order_by("hash").iterator(chunk_size=CHUNK):
        try:
            text = packing.unpack(bytes(row.body_zstd))
        except Refused:
            yield row.hash
            continue
        if hashlib.sha256(text).hexdigest() != row.hash:
            yield row.hash


def lonely_receipts(db: str) -> QuerySet[GateReceipt]:
    """Receipts of decisions that are not there: told again, they would be taken for known."""
    decision = MemoryGateDecision.objects.using(db).filter(id=OuterRef("decision_id"))
    return GateReceipt.objects.using(db).filter(~Exists(decision))


def without_response(db: str) -> Iterator[QuerySet]:
    """Decisions, and calls, whose response is an artifact that this agent does not have."""
    artifact = Artifact.objects.using(db).filter(handle=OuterRef("raw_response"))
    for model in (MemoryGateDecision, GateCall):
        rows = model.objects.using(db).alias(chars=Length("raw_response"))
        named = rows.alias(place=StrIndex("raw_response", Value(handles.PREFIX)))
        yield named.filter(~Exists(artifact), chars=handles.LENGTH, place=1)


def without_turn(db: str) -> QuerySet[MemoryGateDecision]:
    """Decisions on a turn that is not there, though its session is."""
    turn = ConversationTurn.objects.using(db).filter(id=OuterRef("turn_id"))
    session = Session.objects.using(db).filter(id=OuterRef("session_id"))
    return MemoryGateDecision.objects.using(db).filter(~Exists(turn), Exists(session), turn_id__isnull=False)
