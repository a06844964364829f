"""The list of samples: its filters and what fits them, its columns, its words and the tabs above it."""

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.paging import Listing, Term, build_terms, get_order_columns
from openclaw_web.pages import glyphs, states

from . import sample_order
from .exporters.samples import GATE_TYPES
from .models import DatasetSample
from .review import reasons
from .sample_order import Filters
from .words import ENDING_WORDS, PROMPTED_WORDS, STATUS_WORDS, TYPE_WORDS, UNDONE

# Beside what `Filters` has.
COLUMNS = {"by": "annotated_by", "edited": Term("output", "gt", "")}


class SampleFilters(DayFilters):
    """The filters of the list, from its address."""

    ORDERS, DEFAULT = {"made": ("created_at", "id")}, "-made"
    HIDDEN = ("status", "session")
    RARE = ("reason", "prompted_by", "ending")
    agent = forms.ChoiceField(label=_("Agent"), required=False)
    type = forms.ChoiceField(label=_("Type"), required=False, choices=[("", _("All types")), *TYPE_WORDS.items()])
    status = forms.ChoiceField(label=_("Status"), required=False, choices=list(STATUS_WORDS.items()))
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    by = forms.CharField(label=_("Reviewed by"), required=False, max_length=150)
    reason = forms.CharField(label=_("Reject reason"), required=False, max_length=40)
    prompted_by = forms.ChoiceField(label=_("Prompted by"), required=False, choices=list(PROMPTED_WORDS.items()))
    ending = forms.ChoiceField(label=_("Reply"), required=False, choices=list(ENDING_WORDS.items()))
    edited = forms.BooleanField(label=_("Edited only"), required=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        ids = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
        self.fields["agent"].choices = [("", _("All agents")), *((agent_id, agent_id) for agent_id in ids)]

    @cached_property
    def offered(self):
        """The reasons that can be given; rows with others, of a setting that changed, can be asked for as well."""
        return {"reason": list(reasons.read_choices().items())}

    def in_words(self, name, value):
        """As every list does it; a reason by its label."""
        return dict(self.offered["reason"]).get(value, value) if name == "reason" else super().in_words(name, value)

    def read_filters(self):
        """The filters in force. Raises Refused for one that does not exist."""
        if not self.is_valid():
            raise Refused(_("The filters in this address are not valid. Start again from the list."))
        return Filters(**{name: self.cleaned_data[name] for name in Filters.NAMES})


def fits(_user, *, sort=SampleFilters.DEFAULT, **asked) -> Listing:
    """The samples that fit."""
    known = Filters(**{name: asked.get(name) or "" for name in Filters.NAMES})
    wanted = build_terms(asked, COLUMNS, moment="created_at")
    return known.listing(DatasetSample.objects.all(), wanted, order=get_order_columns(SampleFilters.ORDERS, sort))


def build_rows(samples: list[dict[str, Any]], filters: Filters) -> list[dict[str, Any]]:
    """A page of `for_reading` samples as the list shows them: address, status and texts ready to print."""
    query = filters.query
    words = {status.value: str(word) for status, word in STATUS_WORDS.items()} | {UNDONE: str(states.word(UNDONE))}
    found = []
    for sample in samples:
        status = sample["annotation_status"] or UNDONE
        is_edited = sample["edited"] is not None
        row = {
            "href": f"{quote(sample['id'], safe='')}/{query}",
            "status": status,
            "status_word": words[status],
            "user": glyphs.to_one_line(sample["user"] or (sample["decision"] and sample["reply"]) or "")
            or sample["id"],
            "fact": glyphs.to_one_line(sample["fact"] or ""),
            "reply": glyphs.to_one_line((sample["edited"] if is_edited else sample["reply"]) or ""),
            "is_edited": is_edited,
            "by": sample["annotated_by"] or "–",
        }
        # A decision is called by its fact, as on its page; what was said stands beside it.
        named = ("fact", "user") if sample["sample_type"] in GATE_TYPES and row["fact"] else ("user", "fact")
        found.append(sample | row | {"title": row[named[0]], "beside": row[named[1]]})
    return found


def _beside(form):
    """All samples that fit and a tab for each status; their numbers only when they would be those of the list."""
    filters, counted = form.filters(), all(name in Filters.NAMES for name in form.chosen)
    words = {"": _("All"), **STATUS_WORDS}
    amounts = sample_order.count_samples([replace(filters, status=status) for status in words])
    tabs = [
        {
            "label": word,
            "amount": amount if counted else None,
            "href": form.query_with(status=status or None) or "?",
            "is_current": status == filters.status,
        }
        for (status, word), amount in zip(words.items(), amounts, strict=True)
    ]
    return {"chosen": filters, "tabs": tabs, "tabs_label": _("Status")}


SAMPLES = List(
    on="samples",
    words=Words(
        counted=ngettext_lazy("%(shown)s sample", "%(shown)s samples", "count"),
        uncounted=_("Samples"),
        none=_("No samples yet"),
        how=_(
            "A sample is one turn of a conversation, reviewed before it is used for training. Open a "
            "session, select turns, then press “Create samples from selected turns”."
        ),
        icon="check-badge",
    ),
    filters=SampleFilters,
    fits=fits,
    columns=(
        ("", _("Message or fact"), False),
        ("", _("Reply or result"), False),
        ("", _("Status"), False, PLAIN),
        ("", _("Agent"), False, PLAIN),
        ("", _("Reviewed by"), False),
        ("", _("Turn"), True),
        ("made", _("Created"), True, PLAIN),
    ),
    table=DatasetSample,
    fields=(
        *file_columns(
            DatasetSample,
            *("id", "sample_type", "annotation_status", "agent_id", "session_id", "turn_number", "turn_id"),
            *("created_at", "annotated_by", "annotated_at", "annotation_notes", "reject_reason", "quality_score"),
        ),
        *("user", "reply", "edited", "decision", "fact", "gate_label"),
    ),
    prepare=lambda page, form, _user: {"rows": build_rows(page, form.filters())},
    read=lambda samples: samples.for_reading(),
    beside=_beside,
)
