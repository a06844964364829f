"""Pages of findings: the list of values, one value, verdicts, and the scan."""

from django import forms
from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents import databases
from agents.models import Agent
from jobs import services as jobs
from jobs.notices import redirect_after_start
from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.lists.neighbours import find_neighbours, read_list_filters
from openclaw_web.lists.paging import Page, read_cursors
from openclaw_web.pages.html import read_form, read_next_address, redirect_after_post, refuse_post, render_page
from openclaw_web.pages.roles import needs

from ..forms import LONGEST_NOTES
from ..models import DatasetSample, FindingValue, FindingVerdict
from ..review import claims
from ..review.actions import find_last_action
from ..review.forms import read_keys
from ..review.undo import undo_value_verdict
from . import sample_findings, value_list, verdicts, words
from .sample_findings import QUESTION, REPLY
from .value_list import VALUES, ValueFilters
from .words import ADDED_KINDS

LONGEST_SELECTED = 10_000
MOST_VALUES = 200
ROW, PAGE = "row", "page"
VERDICTS = (FindingVerdict.Verdict.CONFIRMED, FindingVerdict.Verdict.DISMISSED)
KEYS = {"approve": "y", "reject": "n", "undo": "u", "next": "j", "previous": "k"}  # of the pages of findings


class PlaceOfForm(forms.Form):
    """Where a form was sent: from the list, or from the page of a value."""

    at = forms.ChoiceField(required=False, choices=[(name, name) for name in (PAGE, ROW)])

    def read_fields(self):
        """The fields by name. Raises Refused for values that no page sends, and long texts."""
        sentence = _("This verdict cannot be saved: a text is too long, or the page is outdated. Reload it.")
        return read_form(self, sentence)


class FindingVerdictForm(PlaceOfForm):
    """A verdict on a value, a place or a rule."""

    verdict = forms.ChoiceField(choices=[(name.value, name.value) for name in VERDICTS])
    scope = forms.ChoiceField(choices=[(name.value, name.value) for name in FindingVerdict.Scope])
    agent = forms.CharField(required=False, max_length=100)
    finding = forms.IntegerField(required=False, min_value=0, max_value=2**53)
    notes = forms.CharField(required=False, max_length=LONGEST_NOTES)
    expected = forms.ChoiceField(required=False, choices=FindingValue.State.choices)  # the state that the page showed


class SelectionForm(forms.Form):
    """A text that a person selected in a sample, and its kind."""

    text = forms.CharField(max_length=LONGEST_SELECTED, strip=False)
    part = forms.ChoiceField(required=False, choices=[(name, name) for name in (QUESTION, REPLY)])
    kind = forms.ChoiceField(choices=[(name, name) for name in ADDED_KINDS])

    def read_fields(self):
        """The text without blanks around it, its part and its kind.

        Raises Refused for what is no selection.
        """
        text = str(self.data.get("text", "")).replace("\r\n", "\n").strip()
        if not self.is_valid() or not text:
            raise Refused(_("Select a text of the question or the reply first, up to 10,000 characters."))
        return {**self.cleaned_data, "text": text}


class FindingUndoForm(PlaceOfForm):
    """The undoing of a verdict; without `undoes`, of the person's last one."""

    undoes = forms.CharField(required=False, max_length=40)


class ListedHashes(forms.Form):
    """The values that a list shows: `ids`, several times."""

    def read_hashes(self) -> list[str]:
        """The hashes without repetitions, at most 200."""
        return list(dict.fromkeys(self.data.getlist("ids")))[:MOST_VALUES]


SCAN = "findings_scan"


@require_safe
@needs("viewer")
@shows(VALUES)
def finding_list(request):
    """The values that fit the filters, the newest first; as a file with `format`."""
    return render_list(request, "datasets/finding_list.html", VALUES)


@require_safe
@needs("labeller")
def finding_texts(request):
    """The values that a list shows, read from one of their places (HTMX, out of band)."""
    values = value_list.read_values(ListedHashes(request.GET).read_hashes())
    return render(request, "datasets/finding_texts.html", {"values": values})


@require_safe
@needs("viewer")
def finding_lag(request):
    """How many texts are not scanned yet, with a button for operators that starts the scan."""
    context = {"lag": value_list.describe_lag(), "may_scan": request.user.has_role("operator")}
    return render(request, "datasets/finding_lag.html", context)


@require_POST
@needs("operator")
def findings_scan(request):
    """Queue a scan of all agents, or show the one under way."""
    job = jobs.start(SCAN, {}, by=request.user.username)
    return redirect_after_start(request, job, to=reverse("datasets:finding_list"))


@require_safe
@needs("viewer")
def finding_detail(request, value_hash):
    """One value: its places in one agent's texts, and the verdicts of people."""
    return _render_value(request, get_object_or_404(FindingValue, value_hash=value_hash))


@require_POST
@needs("labeller")
def finding_judge(request, value_hash):
    """Confirm or dismiss a value, its place, or everything that its rule finds."""
    value = get_object_or_404(FindingValue, value_hash=value_hash)
    try:
        fields = FindingVerdictForm(request.POST).read_fields()
        row = verdicts.judge(
            request.user, value, fields["verdict"], scope=fields["scope"], agent_id=fields["agent"],
            finding_id=fields["finding"], notes=fields["notes"], expected=fields["expected"],
        )  # fmt: skip
    except Refused as refused:
        return _refuse(request, value, refused)
    return _answer(request, row, value, verdicts.describe(row, value))


@require_POST
@needs("labeller")
def finding_undo(request):
    """Undo a verdict, or the person's last one."""
    try:
        row = undo_value_verdict(request.user, FindingUndoForm(request.POST).read_fields()["undoes"])
    except Refused as refused:
        return _refuse(request, None, refused)
    value = FindingValue.objects.filter(value_hash=row.value_hash).first()
    return _answer(request, row, value, verdicts.describe(row, value))


@require_POST
@needs("labeller")
def sample_finding(request, sample_id):
    """Add a finding on a text selected in a sample, and show it again."""
    sample = get_object_or_404(DatasetSample, id=sample_id)
    to = read_next_address(request, sample.get_absolute_url())
    try:
        fields = SelectionForm(request.POST).read_fields()
        sample_findings.add_selected(sample, **fields, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=to)
    sentence = _("%(kind)s: added. Exports redact it wherever it stands.")
    return redirect_after_post(request, sentence % {"kind": words.get_kind_word(fields["kind"])}, to=to)


def _answer(request, row, value, sentence):
    """Beside a row of the list what changed in it; else the page again."""
    if request.htmx and request.POST.get("at") == ROW:
        return _render_row(request, value, sentence)
    own = value.get_absolute_url() if value else reverse("datasets:finding_list")
    return redirect_after_post(request, sentence, to=read_next_address(request, own))


def _refuse(request, value, refused):
    if request.htmx and request.POST.get("at") == ROW:
        return _render_row(request, value, refused.sentence, is_warning=True, status=422)
    own = value.get_absolute_url() if value else reverse("datasets:finding_list")
    return refuse_post(request, refused, to=read_next_address(request, own))


def _render_row(request, value, sentence, *, is_warning=False, status=200):
    context = {
        "value": FindingValue.objects.filter(value_hash=value.value_hash).first() if value else None,
        "sentence": sentence,
        "is_warning": is_warning,
        "may_undo": _may_undo(request.user),
    }
    return render(request, "datasets/finding_judged.html", context, status=status)


def _render_value(request, value):
    may_judge, by = request.user.has_role("labeller"), request.user.username
    is_waiting = may_judge and value.state == FindingValue.State.OPEN
    claim = claims.take(value.value_hash, by=by, kind=claims.VALUE) if is_waiting else None
    other = claims.find_holder(value.value_hash, besides=by) if is_waiting and not claim else None
    held_by = value_list.find_agents(value)
    agent = _choose_agent(request.GET.get("agent", ""), held_by)
    cursors = read_cursors(request)
    page = value_list.read_places(value.value_hash, agent, with_texts=may_judge, **cursors) if agent else Page()
    history = [(row, words.describe_verdict(row), may_undo) for row, may_undo in verdicts.read_history(value)]
    filters = read_list_filters(ValueFilters, request.GET)
    listing = VALUES.fits(request.user, sort=filters.sorting, **filters.criteria)
    # The keys of a value's page, by action of review: a person's own, and fixed ones that these leave free.
    own = {action: key for action, key in read_keys(by).items() if action in KEYS}
    free = {action: key for action, key in KEYS.items() if key not in own.values()}
    context = {
        "value": value,
        "filters": filters,
        "in_list": find_neighbours(listing, value),
        "keys": {action: list(filter(None, (free.get(action), own[action]))) for action in KEYS},
        "shown": next((place.excerpt.value for place in page if place.excerpt), words.DOTS),
        "kind": words.get_kind_word(value.kind),
        "held_by": held_by,
        "agent_id": agent.agent_id if agent else "",
        "page": page,
        "source_words": words.SOURCE_WORDS,
        "changed": words.CHANGED_TEXT,
        "history": history,
        "precision": value_list.measure_rules(),
        "of_rule": value_list.count_of_rule(value) if may_judge else None,
        "may_judge": may_judge,
        "claim": claim,
        "held": claims.describe_holder(other, claims.VALUE) if other else "",
        "may_undo": _may_undo(request.user),
    }
    return render_page(request, "datasets/finding_detail.html", context)


def _may_undo(user):
    """Whether a person has a verdict that the key for undoing would take back."""
    return user.has_role("labeller") and find_last_action(user.username, is_on_value=True) is not None


def _choose_agent(agent_id, held_by):
    """The agent of the address, else the first with a readable file; None without one."""
    ids = [row.agent_id for row in held_by]
    if agent_id and agent_id not in ids:
        raise Http404
    chosen = [agent_id] if agent_id else ids
    usable = (name for name in chosen if databases.find_alias(name))
    return Agent.objects.filter(agent_id=next(usable, "")).first()
