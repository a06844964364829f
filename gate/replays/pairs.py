"""Pairs of an original and its replayed decision: differences, and regressions among them."""

from collections.abc import Mapping
from dataclasses import dataclass

from django import forms
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.pages.html import read_form

from ..models import GateReplay, GateReplayDecision, MemoryGateDecision
from .comparison import Comparison
from .results import Result, find_disagreements, find_replayed

Verdict = MemoryGateDecision.Verdict
REGRESSIONS, FIXED, DIFFERENT, SAME = KINDS = ("regressions", "fixed", "different", "same")
KIND_LABELS = {
    REGRESSIONS: gettext_lazy("Was right"),
    FIXED: gettext_lazy("Was wrong"),
    DIFFERENT: gettext_lazy("Different"),
    SAME: gettext_lazy("Same"),
}
VERDICT_KINDS = {REGRESSIONS: Verdict.RIGHT, FIXED: Verdict.WRONG}


@dataclass(frozen=True, slots=True)
class PairFilter:
    """The pairs of a page: of a kind, or of one cell of the matrix."""

    kind: str
    original: str = ""
    decision: str = ""

    @property
    def is_cell(self) -> bool:
        """Return whether it is a cell of the matrix."""
        return bool(self.original and self.decision)


class PairsForm(forms.Form):
    """The pairs that the address of a replay asks for."""

    show = forms.ChoiceField(required=False, choices=list(KIND_LABELS.items()))
    original = forms.ChoiceField(required=False, choices=MemoryGateDecision.Decision.choices)
    decision = forms.ChoiceField(required=False, choices=MemoryGateDecision.Decision.choices)

    def read_filter(self, counts: Mapping[str, int]) -> PairFilter:
        """Return the pairs to show; regressions by default where there are some.

        Raises Refused for an address that is not valid.
        """
        values = read_form(self, _("This address is not valid for a replay. Remove its filters."))
        default_kind = REGRESSIONS if counts[REGRESSIONS] else DIFFERENT
        return PairFilter(values["show"] or default_kind, values["original"], values["decision"])


def count_pairs(db: str, replay: GateReplay, result: Result, comparison: Comparison | None = None) -> dict[str, int]:
    """Return the number of pairs of each kind; `comparison` is that of a replay of a regression set."""
    numbers = {DIFFERENT: result.decided - result.agreed, SAME: result.agreed}
    if comparison:
        return numbers | {REGRESSIONS: len(comparison.broken), FIXED: len(comparison.fixed)}
    judged = MemoryGateDecision.objects.using(db).filter(verdict__isnull=False, id=OuterRef("decision_id"))
    rows = find_disagreements(db, replay.id).annotate(verdict=judged.values("verdict")).order_by().values("verdict")
    verdicts = {row["verdict"]: row["number"] for row in rows.annotate(number=Count("decision_id"))}
    return numbers | {kind: verdicts.get(verdict, 0) for kind, verdict in VERDICT_KINDS.items()}


def filter_pairs(
    db: str, replay_id: str, pair_filter: PairFilter, comparison: Comparison | None = None
) -> QuerySet[GateReplayDecision]:
    """Return the decisions of a replay that fit, to be ordered by `number`."""
    if pair_filter.is_cell:
        return find_replayed(db, replay_id).filter(original=pair_filter.original, decision=pair_filter.decision)
    if pair_filter.kind == SAME:
        return find_replayed(db, replay_id).filter(is_same=True)
    if comparison and pair_filter.kind in VERDICT_KINDS:
        ids = comparison.broken if pair_filter.kind == REGRESSIONS else comparison.fixed
        return GateReplayDecision.objects.using(db).filter(replay_id=replay_id, decision_id__in=ids)
    rows = find_disagreements(db, replay_id)
    if verdict := VERDICT_KINDS.get(pair_filter.kind):
        original = MemoryGateDecision.objects.using(db).filter(id=OuterRef("decision_id"), verdict=verdict)
        rows = rows.filter(Exists(original))
    return rows
