"""The list of samples: its filters, its query, its columns and rows, and the status tabs."""

from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from django import forms
from django.db.models import Case, Q, When
from django.db.models.lookups import Exact
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import PLAIN, List, Words, file_columns
from openclaw_web.lists.filter_line import parse_line, spell
from openclaw_web.lists.filters import DayField, DayFilters, start_of
from openclaw_web.lists.paging import Listing, Term, build_terms, get_order_columns
from openclaw_web.pages import glyphs, states
from openclaw_web.pages.html import read_form
from people.models.bookkeeping import KeyValue

from . import sample_order
from .models import SETS_SCOPE, DatasetSample
from .quality.summary import SIGNAL_CHOICES, build_signal_condition
from .queues.blind import leave_out_hidden
from .review.parts import read_reasons
from .review.queues import WAITING, Queue
from .sample_order import Filters
from .sample_texts import GATE_TYPES
from .words import ENDING_WORDS, PROMPTED_WORDS, STATUS_WORDS, TYPE_WORDS, UNDONE

# Columns of the filters that `Filters` does not have.
COLUMNS = {
    "by": "annotated_by",
    "judged": "annotated_at__gte",
    "edited": Term("output", "gt", ""),
    "not_checked": Term("privacy_checked", "isnull", True),
    "not_fully_scanned": Term("privacy_checked", "exact", False),
}
QUEUED = ("agent", "type", "session", "prompted_by", "ending")  # filters that the queue has as well


class SampleFilters(DayFilters):
    """The filters of the list, from its address."""

    ORDERS, DEFAULT = {"made": ("created_at", "id")}, "-made"
    HIDDEN = ("status", "session")
    DESCRIPTIONS = {
        "by": "user name",
        "edited": "only samples whose reply was edited",
        "not_checked": "only samples that are not checked yet for personal data and secrets: they are in no export",
        "not_fully_scanned": "only samples that were not fully scanned: they are in no export",
        "reason": "samples rejected for this reason",
        "prompted_by": (
            "who started the turn: a person, one of OpenClaw's own prompts, or silent for a reply that is not sent"
        ),
        "signal": "only samples whose turn has this signal of quality",
        "ending": "whether the reply was cut off (stop reason aborted, error, length or max_tokens)",
    }
    agent = forms.ChoiceField(label=_("Agent"), required=False)
    type = forms.ChoiceField(label=_("Type"), required=False, choices=[("", _("All types")), *TYPE_WORDS.items()])
    status = forms.ChoiceField(label=_("Status"), required=False, choices=list(STATUS_WORDS.items()))
    session = forms.CharField(label=_("Session"), required=False, max_length=500)
    by = forms.CharField(label=_("Reviewed by"), required=False, max_length=150)
    judged = DayField(_("Reviewed since (UTC)"))
    reason = forms.CharField(label=_("Reject reason"), required=False, max_length=40)
    prompted_by = forms.ChoiceField(label=_("Prompted by"), required=False, choices=list(PROMPTED_WORDS.items()))
    ending = forms.ChoiceField(label=_("Reply"), required=False, choices=list(ENDING_WORDS.items()))
    signal = forms.ChoiceField(label=_("Signal"), required=False, choices=[("", _("All")), *SIGNAL_CHOICES])
    edited = forms.BooleanField(label=_("Edited only"), required=False)
    not_checked = forms.BooleanField(label=_("Not checked yet"), required=False)
    not_fully_scanned = forms.BooleanField(label=_("Not fully scanned"), required=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        sets = KeyValue.objects.filter(scope=SETS_SCOPE).values_list("key", flat=True)
        ids = Agent.objects.order_by().values_list("agent_id", flat=True).union(sets).order_by("agent_id")
        self.fields["agent"].choices = [("", _("All agents")), *((agent_id, agent_id) for agent_id in ids)]

    @cached_property
    def offered(self):
        """The reject reasons to choose from.

        Rows with other reasons, of an earlier setting, can be asked for as well.
        """
        return {"reason": list(read_reasons().items())}

    @property
    def criteria(self):
        """The filters in force as arguments of `List.fits`, days as milliseconds."""
        criteria, judged = super().criteria, self.cleaned_data.get("judged")
        return criteria | ({"judged": start_of(judged)} if judged else {})

    def in_words(self, name, value):
        """The words of a filter's value; a reject reason by its label."""
        return dict(self.offered["reason"]).get(value, value) if name == "reason" else super().in_words(name, value)

    def read_filters(self):
        """The filters in force. Raises Refused for one that does not exist."""
        fields = read_form(self, _("The filters in this address are not valid. Start again from the list."))
        return Filters(**{name: fields[name] for name in Filters.NAMES})


def read_sample_filter(line: str) -> SampleFilters:
    """The filters that a line stands for. Raises Refused, with a sentence for each part that was not understood."""
    return parse_line(SampleFilters, line)


def fits(user, *, sort=SampleFilters.DEFAULT, **criteria) -> Listing:
    """The samples that fit these criteria, without those whose verdicts this person may not know yet."""
    filters = Filters(**{name: criteria.get(name) or "" for name in Filters.NAMES})
    conditions = build_terms(criteria, COLUMNS, moment="created_at")
    order = get_order_columns(SampleFilters.ORDERS, sort)
    listing = filters.listing(leave_out_hidden(DatasetSample.objects.all(), user), conditions, order=order)
    if not criteria.get("signal"):
        return listing
    condition = listing.narrow(build_signal_condition(criteria["signal"])).condition
    # As one term: SQLite takes each further term for a sign of few rows, and sorts them.
    return replace(listing, condition=Q(Exact(Case(When(condition, then=1), default=0), 1)))


def build_rows(samples: list[dict[str, Any]], filters: Filters) -> list[dict[str, Any]]:
    """Rows of the list for a page of samples: address, status and texts.

    The samples are dictionaries of `for_reading`; the texts are ready to print.
    """
    query = filters.query
    words = {status.value: str(word) for status, word in STATUS_WORDS.items()} | {UNDONE: str(states.word(UNDONE))}
    rows = []
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
        # The title of a decision is its fact, as on its page; the user's message stands beside it.
        named = ("fact", "user") if sample["sample_type"] in GATE_TYPES and row["fact"] else ("user", "fact")
        rows.append(sample | row | {"title": row[named[0]], "beside": row[named[1]]})
    return rows


def _build_tabs(form):
    """The tabs of the list: all samples that fit, and one for each status.

    The tabs have numbers only where these would equal those of the list.
    """
    filters, counted = form.read_filters(), all(name in Filters.NAMES for name in form.chosen)
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
    start = {"sample_filter": spell(form), "sample_types": filters.type}
    query = urlencode({name: value for name, value in start.items() if value})
    shared = {name: value for name, value in form.chosen.items() if name in QUEUED}
    queue = Queue(filters.status if filters.status in WAITING else "", **shared)
    return {
        "chosen": filters,
        "tabs": tabs,
        "tabs_label": _("Status"),
        "export_href": f"{reverse('datasets:export_list')}?{query}#new",
        "coverage_href": f"{reverse('datasets:dataset_coverage')}?{query}",
        "dataset_href": f"{reverse('datasets:dataset_list')}?{query}#new",
        "review_href": queue.address() if filters.status in ("", *WAITING) else "",
        "unqueued": [form.fields[name].label for name in form.chosen if name not in ("status", *QUEUED)],
    }


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
        ("", _("Score"), True),
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
    prepare=lambda page, form, _user: {"rows": build_rows(page, form.read_filters())},
    read=lambda samples: samples.for_reading(),
    beside=_build_tabs,
)
