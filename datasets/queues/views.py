"""Pages of review queues: the list with the form, and one queue with its items in numbers."""

from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.amounts import format_plural
from openclaw_web.errors import Refused
from openclaw_web.pages.html import redirect_after_post, redirect_to, refuse_post, render_page
from openclaw_web.pages.roles import needs

from ..models import QueueItem
from . import queue_store
from .forms import QueueChangeForm, QueueForm, StateForm
from .queue_agreement import build_report
from .words import MEASURE_WORDS, PART_NAMES


@require_safe
@needs("labeller")
def queue_list(request):
    """The queues in which a person may work, with what waits for them, and the form for a new one."""
    initial = {"sample_filter": request.GET["sample_filter"]} if "sample_filter" in request.GET else None
    return _render_list(request, QueueForm(initial=initial))


@require_POST
@needs("operator")
def queue_create(request):
    """Create a queue and go to its page."""
    form = QueueForm(request.POST)
    if form.is_valid():
        try:
            queue = queue_store.create_queue(by=request.user.username, **form.cleaned_data)
        except Refused as refused:
            form.add_error(None, refused.sentence)
        else:
            return redirect_to(request, queue)
    return _render_list(request, form, status=422)


@require_safe
@needs("labeller")
def queue_detail(request, queue_id):
    """One queue: its guideline, its items in numbers, and for operators the form that changes it."""
    queue = queue_store.read_queue(queue_id)
    if not (
        queue.has_reviewer(request.user) or queue.has_adjudicator(request.user) or request.user.has_role("operator")
    ):
        raise PermissionDenied
    return _render_queue(request, queue, QueueChangeForm.from_queue(queue))


@require_safe
@needs("operator")
def queue_agreement(request, queue_id):
    """How far the reviewers of a queue agree, and how often they gave a known verdict."""
    queue = queue_store.read_queue(queue_id)
    context = {"queue": queue, "report": build_report(queue), "parts": PART_NAMES, "names": MEASURE_WORDS}
    return render_page(request, "datasets/queue_agreement.html", context)


@require_POST
@needs("operator")
def queue_change(request, queue_id):
    """Change a queue, or with `state` alone open or close it."""
    queue = queue_store.read_queue(queue_id)
    guideline = queue.guidelines.get(number=queue.guideline)
    state, form = StateForm(request.POST), QueueChangeForm(request.POST)
    is_state = "state" in request.POST and state.is_valid()
    if is_state or form.is_valid():
        fields = {"text": guideline.text, "questions": guideline.questions, **state.cleaned_data} if is_state else None
        try:
            queue_store.change_queue(queue, by=request.user.username, **(fields or form.cleaned_data))
        except Refused as refused:
            form.add_error(None, refused.sentence)
        else:
            return redirect_after_post(request, _("The queue is changed."), to=queue)
    return _render_queue(request, queue, form, status=422)


@require_POST
@needs("operator")
def queue_extend(request, queue_id):
    """Add the samples that fit the filter by now."""
    queue = queue_store.read_queue(queue_id)
    count = queue_store.extend_queue(queue, by=request.user.username)
    if not count:
        return refuse_post(request, Refused(_("No other sample fits the filter of this queue.")), to=queue)
    sentence = format_plural("%(count)s item was added.", "%(count)s items were added.", count)
    return redirect_after_post(request, sentence, to=queue)


def _render_list(request, form, *, status=200):
    context = {
        "queues": queue_store.list_queues(request.user, is_all=request.user.has_role("operator")),
        "form": form,
        "may_create": request.user.has_role("operator"),
    }
    return render_page(request, "datasets/queue_list.html", context, status=status)


def _render_queue(request, queue, form, *, status=200):
    counts = dict(queue.items.values_list("state").annotate(Count("id")))
    place = reverse("datasets:review") + f"?review_queue={queue.id}"
    context = {
        "queue": queue,
        "guideline": queue.guidelines.get(number=queue.guideline),
        "states": [(state, counts.get(state, 0)) for state in QueueItem.State.values],
        "conflicts": counts.get("conflict", 0),
        "gold": queue.items.filter(gold_label__isnull=False).count() if request.user.has_role("operator") else None,
        "waiting": queue_store.count_waiting([queue], request.user)[0],
        "review_href": place if queue.has_reviewer(request.user) and queue.is_open else "",
        "conflicts_href": f"{place}&conflicts=1" if queue.has_adjudicator(request.user) else "",
        "form": form,
        "may_change": request.user.has_role("operator"),
    }
    return render_page(request, "datasets/queue_detail.html", context, status=status)
