"""Whether decisions still have what they name: their windows, responses and turns. Nothing is changed."""

import hashlib
from collections.abc import Iterable, Iterator

from django.db.models import Exists, F, Func, Model, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Length, StrIndex

from artifacts import handles
from artifacts.models import Artifact
from ledger.models import ConversationTurn, Session
from openclaw_web.disk import packing
from openclaw_web.errors import Refused

from ..models import GateCall, GateReceipt, GateWindow, MemoryGateDecision

CHUNK = 500
# What SQLite calls the values of our columns; it takes any value in any column.
KINDS = {
    "TextField": ("text",),
    "BigIntegerField": ("integer",),
    "IntegerField": ("integer",),
    "BooleanField": ("integer",),
    "FloatField": ("real", "integer"),
    "BinaryField": ("blob",),
}


def of_other_types(db: str, models: Iterable[type[Model]] = (MemoryGateDecision, GateCall)) -> list[str]:
    """Ids of decisions and calls with values that their columns do not have: nothing can be counted with them.

    With `models`: of rows of these tables.
    """
    found = []
    for model in models:
        wrong = Q()
        for field in model._meta.concrete_fields:
            own = field.target_field if field.is_relation else field
            kinds = KINDS.get(own.get_internal_type(), ("integer",)) + (("null",) if field.null else ())
            wrong |= ~Q(**{f"type_of_{field.attname}__in": kinds})
        types = {
            f"type_of_{field.attname}": Func(F(field.attname), function="typeof", output_field=TextField())
            for field in model._meta.concrete_fields
        }
        rows = model.objects.using(db).alias(**types).filter(wrong).order_by("id")
        found += [str(name) for name in rows.values_list(Cast("id", TextField()), flat=True)]
    return found


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
