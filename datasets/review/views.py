"""The review queue: one sample after the other, each claimed for the person who looks at it."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.models import Agent
from guardian.runner import proposal_counts
from openclaw_web.errors import Refused
from openclaw_web.pages import states
from openclaw_web.pages.html import redirect_after_post, redirect_to, refuse_post, render_page
from openclaw_web.pages.roles import needs

from .. import sample_page
from ..forms import VerdictForm
from ..models import DatasetSample
from ..words import ENDING_WORDS, PROMPTED_WORDS, STATUS_WORDS, TYPE_WORDS
from . import claims, drafts, keys, progress, queue_steps, queues, reasons, undo, verdicts
from .forms import KeysForm, QueuePlace

REVIEWED = (DatasetSample.Status.APPROVED, DatasetSample.Status.REJECTED)


@require_safe
@needs("labeller")
def review(request, queue=""):
    """The sample of the address, else the next one that waits, claimed for this person."""
    if queue and queue not in queues.NAMES:
        raise Http404
    place = QueuePlace(request.GET).read_place(queue)
    claim, sample_id = _claimed(place, request.user.username)
    if place.is_ahead:
        return _ahead(request, place.queue, claim)
    return _page(request, place.queue, sample_id, claim)


@require_POST
@needs("labeller")
def review_label(request):
    """Add a verdict and go on to the next sample."""
    queue, form = QueuePlace(request.GET).read_place().queue, VerdictForm(request.POST, keys=_keys(request))
    sample_id, ahead, by = request.POST.get("sample", ""), request.POST.get("ahead", ""), request.user.username
    if form.is_valid():
        try:
            judged, claim = queue_steps.label_and_take_next(queue, sample_id, form.read_verdict(), by=by, ahead=ahead)
        except verdicts.NoSuchSample as exc:
            raise Http404 from exc
        except Refused as refused:  # on the page itself: what was typed must not be lost
            form.add_error(None, refused.sentence)
        else:
            said = _said(STATUS_WORDS[judged.annotation_status], judged, queue)
            return _next_page(request, queue, claim, ahead, said, **_asked(judged))
    return _page(request, queue, sample_id, None, form=form, status=422)


@require_POST
@needs("labeller")
def review_skip(request):
    """Leave a sample to others and go on to the next one."""
    queue = QueuePlace(request.GET).read_place().queue
    sample = get_object_or_404(DatasetSample.objects.defer("content"), id=request.POST.get("sample", ""))
    ahead = request.POST.get("ahead", "")
    claim = queue_steps.skip_and_take_next(queue, sample.id, by=request.user.username, ahead=ahead)
    return _next_page(request, queue, claim, ahead, _said(states.word("skipped"), sample, queue))


@require_POST
@needs("labeller")
def review_undo(request):
    """Take back the last action, and look at its sample again."""
    queue = QueuePlace(request.GET).read_place().queue
    try:
        done = undo.undo(request.user.username)
    except Refused as refused:
        if request.htmx:
            return _step(request, queue, {"said": refused.sentence, "is_warning": True}, status=422)
        return refuse_post(request, refused, to=queue.address())
    said = _undone(done, queue)
    if not request.htmx:
        return redirect_after_post(
            request, said, to=queue.address(sample=done.sample_id) if done.sample_id else queue.address()
        )
    if done.sample_id is None:
        return _step(request, queue, {"said": said})
    claim = claims.take(done.sample_id, by=request.user.username)
    return _page(request, queue, done.sample_id, claim, said=said)


@require_POST
@needs("labeller")
def review_reason(request):
    """Say why the sample before was rejected; the one on the screen stays there."""
    queue, chosen = QueuePlace(request.GET).read_place().queue, request.POST.get("reason", "")
    try:
        judged = reasons.give_reason(request.POST.get("label", ""), chosen, by=request.user.username)
    except Refused as refused:
        if request.htmx:
            return _step(request, queue, {"said": refused.sentence, "is_warning": True}, status=422)
        return refuse_post(request, refused, to=queue.address())
    what = _("Rejected, %(reason)s") % {"reason": reasons.read_choices()[chosen]}
    said = _said(what, judged, queue)
    return (
        _step(request, queue, {"said": said})
        if request.htmx
        else redirect_after_post(request, said, to=queue.address())
    )


@require_safe
@needs("labeller")
def review_waiting(request):
    """How many samples wait, for the badge beside the entry of the rail: a number, at most 99+, or nothing."""
    badge = progress.waiting(request.user.username)
    return render(request, "datasets/review_waiting.html", {"badge": badge})


@require_safe
@needs("labeller")
def review_keys(request):
    """Which key does what; everybody has their own."""
    return _keys_page(request, KeysForm(initial=_keys(request)))


@require_POST
@needs("labeller")
def review_keys_save(request):
    """Keep this person's keys."""
    form = KeysForm(request.POST)
    if form.is_valid():
        try:
            keys.store_keys(request.user.username, form.cleaned_data)
        except Refused as refused:
            form.add_error(None, refused.sentence)
        else:
            return redirect_after_post(request, _("Your keys are saved."), to=reverse("datasets:review_keys"))
    return _keys_page(request, form, status=422)


@require_POST
@needs("labeller")
def review_keys_reset(request):
    """Back to the keys everybody starts with."""
    keys.reset(request.user.username)
    return redirect_after_post(request, _("The default keys are restored."), to=reverse("datasets:review_keys"))


def _claimed(place, by):
    """The claim, and the id of the sample to show: of a sample that somebody else holds there is no claim."""
    if place.sample:
        return claims.take(place.sample, by=by), place.sample
    here = place.after or place.before
    if here and not place.is_ahead:
        claims.release(here, by=by)
    besides = (here,) if place.is_ahead else ()
    claim = claims.take_next(place.queue, by=by, after=place.after, before=place.before, besides=besides)
    if claim is None and place.before:  # it was the first one: stay
        return claims.take(place.before, by=by), place.before
    return claim, claim.sample_id if claim else None


def _ahead(request, queue, claim):
    """The sample to come, for a page that shows the one before it; nothing when there is none."""
    if claim is None:
        return HttpResponse(status=204)
    return _step(request, queue, _sample(request, queue, claim.sample_id, claim))


def _asked(judged):
    """What the page asks after a reject: why. A reason that came with it is not asked for again."""
    is_open = judged.annotation_status == DatasetSample.Status.REJECTED and not judged.reject_reason
    known = reasons.read_choices() if is_open else {}
    return {"asked": {"label": judged.label_id, "reasons": known}} if known else {}


def _next_page(request, queue, claim, ahead, said, **more):
    if not request.htmx:
        messages.success(request, said)
        return redirect_to(request, queue.address(sample=claim.sample_id) if claim else queue.address())
    if claim is None and ahead:  # the page shows the last one already
        return _step(request, queue, {"said": said, **more})
    return _page(request, queue, claim.sample_id if claim else None, claim, said=said, **more)


def _page(request, queue, sample_id, claim, *, form=None, status=200, **more):
    found = _sample(request, queue, sample_id, claim, form) if sample_id else _empty(request, queue)
    return _step(request, queue, {**found, **more}, status=status)


def _step(request, queue, found, *, status=200):
    by = request.user.username
    numbers = progress.read_progress(queue, by)
    context = {
        **dict.fromkeys(("said", "is_warning", "asked", "rest", "shown")),
        "queue": queue,
        "agents": Agent.objects.order_by("agent_id").values_list("agent_id", flat=True),  # asked for by whole pages
        "types": TYPE_WORDS.items(),
        "prompts": PROMPTED_WORDS.items(),
        "endings": ENDING_WORDS.items(),
        "progress": numbers,
        "badge": progress.build_badge(numbers.everywhere),
        "my_drafts": drafts.find_own_drafts(by),
        "proposals": proposal_counts.read_counts() if request.user.has_role("operator") else {},
        "keys": _keys(request),
        "reason_keys": keys.find_free_keys(_keys(request)),
        **found,
    }
    response = render_page(request, "datasets/review.html", context, partial="review_step", status=status)
    return response if request.htmx else sample_page.forbid_caching(response)


def _sample(request, queue, sample_id, claim, form=None):
    sample = get_object_or_404(DatasetSample, id=sample_id)
    request.opened = ("sample", sample.id)  # for the audit log: the address need not name it
    by = request.user.username
    other = None if claim else claims.find_holder(sample.id, besides=by)
    typed = drafts.find_drafts(sample.id, by=by)
    form = form or sample_page.build_form(sample, typed, _keys(request))
    address = queue.address(sample=sample.id)
    found = sample_page.build_sample_context(sample, form, may_label=True, typed=typed)
    found |= sample_page.build_evidence_context(sample, back=address, holds=not other)
    return {
        "shown": found,
        "claim": claim or (None if other else claims.take(sample.id, by=by)),
        "held": claims.describe_holder(other) if other else _reviewed_sentence(sample, by),
        "address": address,
        "next_address": queue.address(after=sample.id),
        "previous_address": queue.address(before=sample.id),
        "name": found["fact"] or undo.describe_sample(sample),
    }


def _reviewed_sentence(sample, by):
    """That somebody else reviewed a sample, for whoever comes back to it from its session; empty otherwise."""
    if sample.annotation_status not in REVIEWED or sample.annotated_by in (None, by):
        return ""
    words = {"who": sample.annotated_by, "status": STATUS_WORDS[sample.annotation_status]}
    return _("%(who)s has reviewed this sample: %(status)s. Your verdict would replace that one.") % words


def _empty(request, queue):
    by = request.user.username
    return {"rest": progress.read_rest(queue, by), "holders": claims.find_holders(queue, besides=by)}


def _keys(request):
    """This person's keys, read once for a request."""
    if not hasattr(request, "review_keys"):
        request.review_keys = keys.read_keys(request.user.username)
    return request.review_keys


def _keys_page(request, form, *, status=200):
    return render_page(request, "datasets/review_keys.html", {"form": form}, status=status)


def _said(what, sample, queue):
    """What was done, with the way back to it."""
    name, address = undo.describe_sample(sample), queue.address(sample=sample.id)
    return sample_page.build_link_message(name, address, before=f"{what}: ", after=".")


def _undone(done, queue):
    address = queue.address(sample=done.sample_id) if done.sample_id else reverse("datasets:sample_list")
    return sample_page.build_link_message(done.sentence, address)
