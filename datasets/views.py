"""Pages of samples: the list, one sample with its verdicts, and their creation."""

from django.contrib import messages
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from ledger.models import Session
from ledger.session.session_forms import TurnNumbersForm
from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page
from openclaw_web.pages.roles import needs

from . import sample_order, sample_page, services
from .collection.page import build_evidence
from .forms import TurnChoice, VerdictForm
from .models import DatasetSample, TurnOutcome
from .quality.page import build_signal_context
from .queues.blind import cover_hidden, expect_nothing_hidden, find_hidden_ids
from .review import drafts, forms, verdicts
from .sample_list import SAMPLES, SampleFilters
from .words import describe_status


@require_safe
@needs("viewer")
@shows(SAMPLES)
def sample_list(request):
    """The samples that fit the filters, newest first; as a file with `format`."""
    return render_list(request, "datasets/sample_list.html", SAMPLES)


@require_safe
@needs("viewer")
def sample_detail(request, sample_id):
    """One sample: its messages, the verdicts so far, and for labellers the next one."""
    sample = get_object_or_404(DatasetSample, id=sample_id)
    cover_hidden([sample], request.user)
    return _render_sample(request, sample)


@require_POST
@needs("labeller")
def sample_label(request, sample_id):
    """Add a verdict and go on to the next sample that waits for one."""
    sample = get_object_or_404(DatasetSample, id=sample_id)
    filters = SampleFilters(request.GET).read_filters()
    form = VerdictForm(request.POST, keys=forms.read_keys(request.user.username))
    if form.is_valid():
        try:
            verdict = expect_nothing_hidden(form.read_verdict(), sample_id, request.user)
            sample = verdicts.label_sample(sample_id, by=request.user.username, **verdict)
        except Refused as refused:  # on the page itself: what was typed must not be lost
            form.add_error(None, refused.sentence)
            sample.refresh_from_db()
            cover_hidden([sample], request.user)
        else:
            return redirect_after_post(
                request, _build_verdict_message(sample, filters), to=_find_next_address(sample, filters)
            )
    request.opened = ("sample", sample.id)
    return _render_sample(request, sample, form, status=422)


@require_safe
@agent_view_for("viewer")
def session_samples(request, agent, session_id):
    """The samples of the turns that the session's page shows.

    Each goes to its place beside the turn (HTMX, out of band).
    """
    numbers = TurnNumbersForm(request.GET).read_numbers()
    samples = sample_order.find_by_turn(agent.agent_id, session_id, numbers)
    others = set(numbers) - {sample["turn_number"] for sample in samples}
    outcomes = TurnOutcome.objects.filter(agent_id=agent.agent_id, session_id=session_id, turn_number__in=others)
    hidden = find_hidden_ids([sample["id"] for sample in samples], request.user)
    for sample in samples:
        if sample["id"] in hidden:
            sample["annotation_status"] = DatasetSample.Status.PENDING
    return render(request, "datasets/session_samples.html", {"samples": samples, "outcomes": outcomes})


@require_POST
@agent_view_for("labeller")
def samples_make(request, agent, session_id):
    """Create samples of the chosen turns and show them."""
    session = get_object_or_404(Session.objects.using(agent.db).only("id"), id=session_id)
    form = TurnChoice(request.POST)
    try:
        result = services.make_samples(agent, session.id, form.read_numbers(), by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=session)
    for sentence in services.describe_problems(result):
        messages.warning(request, sentence)
    if not result.made and not result.existing:
        return refuse_post(request, Refused(_("No samples were created.")), to=session)
    filters = sample_order.Filters(agent=agent.agent_id, session=session.id)
    return redirect_after_post(request, result.sentence, to=reverse("datasets:sample_list") + filters.query)


def _render_sample(request, sample, form=None, *, status=200):
    filters = SampleFilters(request.GET).read_filters()
    before, after = sample_order.find_neighbours(sample, filters)
    may_label = request.user.has_role("labeller")
    typed = drafts.find_drafts(sample.id, by=request.user.username) if may_label else []
    own_keys = forms.read_keys(request.user.username)
    form = form or sample_page.build_form(sample, typed, own_keys)
    context = {
        "shown": sample_page.build_sample_context(sample, form, may_label=may_label, typed=typed)
        | sample_page.build_evidence_context(sample, back=sample.get_absolute_url() + filters.query)
        | {"turn_signals": build_signal_context(sample)},
        "why": build_evidence(sample),
        "keys": own_keys,
        "filters": filters,
        "before": before,
        "after": after,
        "waiting": sample_order.count_samples([filters.waiting()])[0],
    }
    response = render_page(request, "datasets/sample_detail.html", context, status=status)
    return sample_page.forbid_caching(response) if may_label else response


def _build_verdict_message(sample, filters):
    """A message about the verdict, with a link to change it."""
    name = _("Turn %(number)s") % {"number": sample.turn_number} if sample.turn_number else _("Sample")
    before = f"{name}: {describe_status(sample)}. "
    return sample_page.build_link_message(_("Change verdict"), sample.get_absolute_url() + filters.query, before=before)


def _find_next_address(sample, filters):
    following = sample_order.find_next_waiting(sample, filters)
    if following is None:
        return reverse("datasets:sample_list") + filters.query
    return reverse("datasets:sample_detail", args=[following]) + filters.query
