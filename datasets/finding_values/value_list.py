"""The list of found values: its filters, its query, its columns and rows."""

from dataclasses import replace

from django import forms
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import NAMED, PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.pages import states

from ..models import FindingValue, FindingValueAgent
from . import words

SEEKS = ("state", "kind")  # columns whose index continues with the time of the first finding
SEARCH_MS = 200  # for the values of one agent among all others


class ValueFilters(DayFilters):
    """The filters of the list of values."""

    ORDERS, DEFAULT = {"appeared": ("first_found_at", "value_hash"), "places": ("places", "value_hash")}, "-appeared"
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[("", _("All kinds")), *words.KIND_WORDS.items()])
    state = forms.ChoiceField(label=_("Status"), required=False, choices=states.choices(FindingValue.State))
    agent = forms.ChoiceField(label=_("Agent"), required=False)
    rule = forms.CharField(label=_("Rule"), required=False, max_length=100)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        ids = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
        self.fields["agent"].choices = [("", _("All agents")), *((agent_id, agent_id) for agent_id in ids)]


def fits(_user, *, sort=ValueFilters.DEFAULT, agent="", **criteria) -> Listing:
    """The values that fit these criteria; with `agent`, those that stand in its texts."""
    order = get_order_columns(ValueFilters.ORDERS, sort)
    is_by_time = order[0].endswith("first_found_at")
    terms = build_terms(criteria, {"state": "state", "kind": "kind", "rule": "rule"}, moment="first_found_at")
    rows = FindingValue.objects.all()
    if is_by_time and criteria.get("state") and criteria.get("kind"):  # an index of both
        rows = rows.filter(state=criteria["state"], kind=criteria["kind"])
        terms = [term for term in terms if term.column not in SEEKS]
    listing = build_listing(rows, terms, order=order, seeks=SEEKS if is_by_time else ())
    if not agent:
        return listing
    places = FindingValueAgent.objects.filter(value_hash=OuterRef("value_hash"), agent_id=agent)
    condition = Q(Exists(places)) if listing.condition is None else listing.condition & Q(Exists(places))
    return replace(listing, condition=condition, time_ms=SEARCH_MS if is_by_time else 0)


VALUES = List(
    on="findings",
    words=Words(
        counted=ngettext_lazy("%(shown)s value", "%(shown)s values", "count"),
        uncounted=_("Findings"),
        none=_("No findings yet"),
        how=_(
            "Personal data and secrets in the texts of agents are listed here, one row for each value. Texts are "
            "scanned after each import."
        ),
        icon="shield-exclamation",
    ),
    filters=ValueFilters,
    fits=fits,
    columns=(
        ("", _("Value"), False),
        ("", _("Kind"), False, PLAIN),
        ("", _("Status"), False, PLAIN),
        ("places", _("Places"), True, NAMED),
        ("", _("Agents"), True),
        ("", _("Rule"), False),
        ("appeared", _("First found"), True, PLAIN),
        ("", _("Verdict"), False),
    ),
    table=FindingValue,
    fields=file_columns(FindingValue),
    prepare=lambda page, _filters, user: {
        "rows": page,
        "kind_word": words.get_kind_word,
        "may_judge": user.has_role("labeller"),
    },
)
