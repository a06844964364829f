"""The decisions of a replay beside their originals: those that became others, and of these the regressions."""

from collections.abc import Mapping
from dataclasses import dataclass

from django import forms
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused

from ..models import GateReplay, GateReplayDecision, MemoryGateDecision
from .results import Result, find_disagreements, find_replayed

Verdict = MemoryGateDecision.Verdict
REGRESSIONS, FIXED, DIFFERENT, SAME = KINDS = ("regressions", "fixed", "different", "same")
KIND_LABELS = {
    REGRESSIONS: gettext_lazy("Was right"),
    FIXED: gettext_lazy("Was wrong"),
    DIFFERENT: gettext_lazy("Different"),
    SAME: gettext_lazy("Same"),
}
JUDGED = {REGRESSIONS: Verdict.RIGHT, FIXED: Verdict.WRONG}


@dataclass(frozen=True, slots=True)
class PairFilter:
    """Which pairs are shown: of a kind, or of one cell of the matrix."""

    kind: str
    original: str = ""
    decision: str = ""

    @property
    def is_cell(self) -> bool:
        """Whether it is a cell of the matrix."""
        return bool(self.original and self.decision)


class PairsForm(forms.Form):
    """Which pairs the address of a replay asks for."""

    show = forms.ChoiceField(required=False, choices=list(KIND_LABELS.items()))
    original = forms.ChoiceField(required=False, choices=MemoryGateDecision.Decision.choices)
    decision = forms.ChoiceField(required=False, choices=MemoryGateDecision.Decision.choices)

    def read_filter(self, counts: Mapping[str, int]) -> PairFilter:
        """What is shown: regressions first where there are some. Raises Refused for an address that cannot be."""
        if not self.is_valid():
            raise Refused(_("This address is not valid for a replay. Remove its filters."))
        usual = REGRESSIONS if counts[REGRESSIONS] else DIFFERENT
        said = self.cleaned_data
        return PairFilter(said["show"] or usual, said["original"], said["decision"])


def count_pairs(db: str, replay: GateReplay, result: Result) -> dict[str, int]:
    """How many pairs there are of each kind."""
    judged = MemoryGateDecision.objects.using(db).filter(verdict__isnull=False, id=OuterRef("decision_id"))
    rows = find_disagreements(db, replay.id).annotate(verdict=judged.values("verdict")).order_by().values("verdict")
    numbers = {row["verdict"]: row["number"] for row in rows.annotate(number=Count("decision_id"))}
    known = {kind: numbers.get(verdict, 0) for kind, verdict in JUDGED.items()}
    return known | {DIFFERENT: result.decided - result.agreed, SAME: result.agreed}


def filter_pairs(db: str, replay_id: str, chosen: PairFilter) -> QuerySet[GateReplayDecision]:
    """The decisions of a replay that are shown, to be ordered by `number`."""
    if chosen.is_cell:
        return find_replayed(db, replay_id).filter(original=chosen.original, decision=chosen.decision)
    if chosen.kind == SAME:
        return find_replayed(db, replay_id).filter(is_same=True)
    rows = find_disagreements(db, replay_id)
    if verdict := JUDGED.get(chosen.kind):
        original = MemoryGateDecision.objects.using(db).filter(id=OuterRef("decision_id"), verdict=verdict)
        rows = rows.filter(Exists(original))
    return rows
