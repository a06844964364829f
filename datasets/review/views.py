"""The review queue: samples one by one, each claimed for the person who reviews it."""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.models import Agent
from guardian.runner import proposals
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.lists.filters import MINUTE
from openclaw_web.pages import states, zones
from openclaw_web.pages.html import read_next_address, redirect_after_post, redirect_to, refuse_post, render_page
from openclaw_web.pages.roles import needs

from .. import sample_page
from ..forms import BulkForm, VerdictForm
from ..models import DatasetSample
from ..queues.answers import answer_and_take_next
from ..queues.blind import cover_hidden, expect_nothing_hidden
from ..queues.page import build_queue_context, read_answer
from ..queues.queue_store import find_own_queue, list_queues
from ..queues.seats import SeatClaims, describe_no_seat
from ..queues.words import ORDER_WORDS
from ..sample_list import SAMPLES, SampleFilters, build_rows
from ..words import ENDING_WORDS, PROMPTED_WORDS, STATUS_WORDS, TYPE_WORDS, describe_status
from . import bulk, claims, drafts, forms, parts, queues, undo, verdicts
from .forms import DraftForm, KeysForm, QueuePlace

REVIEWED = (DatasetSample.Status.APPROVED, DatasetSample.Status.REJECTED)


@require_safe
@needs("labeller")
def review(request, queue=""):
    """The sample of the address, else the next waiting one, claimed for this person."""
    if queue and queue not in forms.QUEUES:
        raise Http404
    place = read_place(request, queue)
    claim, sample_id = _claim_sample(place, request.user.username)
    if place.is_ahead:
        if claim is None:
            return HttpResponse(status=204)
        return _render_step(request, place.queue, _build_sample_context(request, place.queue, claim.sample_id, claim))
    return _render_page(request, place.queue, sample_id, claim)


review.takes_agent = True  # its address has the filter `agent`, as that of a list


@require_POST
@needs("labeller")
def review_label(request):
    """Add a verdict and go on to the next sample."""
    queue, form = read_place(request).queue, VerdictForm(request.POST, keys=_read_keys(request))
    sample_id, ahead, by = request.POST.get("sample", ""), request.POST.get("ahead", ""), request.user.username
    if form.is_valid() or (queue.conflicts and request.POST.get("chosen")):
        try:
            if queue.review_queue:
                verdict = read_answer(request.POST, form)
                sample, claim = answer_and_take_next(queue, sample_id, verdict, user=request.user, ahead=ahead)
            else:
                verdict = expect_nothing_hidden(form.read_verdict(), sample_id, request.user)
                sample, claim = verdicts.label_and_take_next(queue, sample_id, verdict, by=by, ahead=ahead)
        except verdicts.NoSuchSample as exc:
            raise Http404 from exc
        except Refused as refused:  # on the page itself: what was typed must not be lost
            form.add_error(None, refused.sentence)
        else:
            message = _build_message(describe_status(sample), sample, queue)
            return _render_next(request, queue, claim, ahead, message, **_ask_reason(sample))
    return _render_page(request, queue, sample_id, None, form=form, status=422)


@require_POST
@needs("labeller")
def review_skip(request):
    """Skip a sample and go on to the next one."""
    queue = read_place(request).queue
    sample = get_object_or_404(DatasetSample.objects.defer("content"), id=request.POST.get("sample", ""))
    ahead, by = request.POST.get("ahead", ""), request.user.username
    if queue.review_queue and not queue.conflicts:
        verdicts.skip_sample(sample.id, by=by)
        SeatClaims(queue).release(sample.id, by=by)
        place = {"after": ahead or sample.id, "besides": (sample.id, ahead) if ahead else (sample.id,)}
        claim = SeatClaims(queue).take_next(queue, by=by, **place)
    else:
        claim = verdicts.skip_and_take_next(queue, sample.id, by=by, ahead=ahead)
    return _render_next(request, queue, claim, ahead, _build_message(states.word("skipped"), sample, queue))


@require_POST
@needs("labeller")
def review_undo(request):
    """Undo the last action, and show its sample again."""
    queue = read_place(request).queue
    try:
        result = undo.undo(request.user.username)
    except Refused as refused:
        if request.htmx:
            return _render_step(request, queue, {"message": refused.sentence, "is_warning": True}, status=422)
        return refuse_post(request, refused, to=queue.address())
    address = queue.address(sample=result.sample_id) if result.sample_id else reverse("datasets:sample_list")
    message = sample_page.build_link_message(result.sentence, address)
    if not request.htmx:
        return redirect_after_post(
            request, message, to=queue.address(sample=result.sample_id) if result.sample_id else queue.address()
        )
    if result.sample_id is None:
        return _render_step(request, queue, {"message": message})
    claim = _get_claims(queue).take(result.sample_id, by=request.user.username)
    return _render_page(request, queue, result.sample_id, claim, message=message)


@require_POST
@needs("labeller")
def review_reason(request):
    """Store why the sample before was rejected; the one on the screen stays there."""
    queue, chosen = read_place(request).queue, request.POST.get("reason", "")
    try:
        sample = verdicts.give_reason(request.POST.get("label", ""), chosen, by=request.user.username)
    except Refused as refused:
        if request.htmx:
            return _render_step(request, queue, {"message": refused.sentence, "is_warning": True}, status=422)
        return refuse_post(request, refused, to=queue.address())
    verdict = _("Rejected, %(reason)s") % {"reason": parts.read_reasons()[chosen]}
    message = _build_message(verdict, sample, queue)
    return (
        _render_step(request, queue, {"message": message})
        if request.htmx
        else redirect_after_post(request, message, to=queue.address())
    )


@require_safe
@needs("labeller")
def review_waiting(request):
    """The number of waiting samples, at most 99+, for the badge in the rail.

    Empty when no sample waits.
    """
    badge = queues.build_badge(*queues.read_counts([queues.build_count(queues.Queue(), by=request.user.username)]))
    return render(request, "datasets/review_waiting.html", {"badge": badge})


@require_safe
@needs("labeller")
def review_keys(request):
    """The keys of the actions, which each person may choose."""
    return _render_keys(request, KeysForm(initial=_read_keys(request)))


@require_POST
@needs("labeller")
def review_keys_save(request):
    """Store this person's keys."""
    form = KeysForm(request.POST)
    if form.is_valid():
        try:
            forms.store_keys(request.user.username, form.cleaned_data)
        except Refused as refused:
            form.add_error(None, refused.sentence)
        else:
            return redirect_after_post(request, _("Your keys are saved."), to=reverse("datasets:review_keys"))
    return _render_keys(request, form, status=422)


@require_POST
@needs("labeller")
def review_keys_reset(request):
    """Restore the default keys."""
    forms.reset(request.user.username)
    return redirect_after_post(request, _("The default keys are restored."), to=reverse("datasets:review_keys"))


def read_place(request, name=""):
    """The place of an address. Raises Http404 or PermissionDenied for a review queue that this person may not use."""
    place = QueuePlace(request.GET).read_place(name)
    if place.queue.review_queue:
        queue = place.queue
        request.review_queue = find_own_queue(request.user, queue.review_queue, to_adjudicate=queue.conflicts)
    return place


def _get_claims(queue):
    """The claims of a queue: on items of a queue of several people, else on samples."""
    return SeatClaims(queue) if queue.review_queue and not queue.conflicts else claims


def _claim_sample(place, by):
    """The claim, if others do not hold it, and the id of the sample to show."""
    desk = _get_claims(place.queue)
    if place.sample:
        return desk.take(place.sample, by=by), place.sample
    neighbour_id = place.after or place.before
    if neighbour_id and not place.is_ahead:
        desk.release(neighbour_id, by=by)
    besides = (neighbour_id,) if place.is_ahead else ()
    claim = desk.take_next(place.queue, by=by, after=place.after, before=place.before, besides=besides)
    if claim is None and place.before:  # it was the first one, so the page stays at it
        return desk.take(place.before, by=by), place.before
    return claim, claim.sample_id if claim else None


def _ask_reason(sample):
    """The form for the reason of a reject; empty if the reason came with it."""
    is_open = sample.annotation_status == DatasetSample.Status.REJECTED and not sample.reject_reason
    codes = parts.read_reasons() if is_open else {}
    return {"reason_form": {"label": sample.label_id, "reasons": codes}} if codes else {}


def _render_next(request, queue, claim, ahead, message, **more):
    if not request.htmx:
        messages.success(request, message)
        return redirect_to(request, queue.address(sample=claim.sample_id) if claim else queue.address())
    if claim is None and ahead:  # the page shows the last one already
        return _render_step(request, queue, {"message": message, **more})
    return _render_page(request, queue, claim.sample_id if claim else None, claim, message=message, **more)


def _render_page(request, queue, sample_id, claim, *, form=None, status=200, **more):
    content = (
        _build_sample_context(request, queue, sample_id, claim, form)
        if sample_id
        else _build_empty_context(request, queue)
    )
    return _render_step(request, queue, {**content, **more}, status=status)


def _render_step(request, queue, content, *, status=200):
    by = request.user.username
    numbers = queues.read_progress(queue, by)
    context = {
        **dict.fromkeys(("message", "is_warning", "reason_form", "rest", "shown", "item")),
        "orders": ORDER_WORDS,
        "queue": queue,
        "names": forms.QUEUES if queue.name == queues.NEEDS_REASON or numbers.has_unexplained else queues.NAMES,
        "agents": Agent.objects.order_by("agent_id").values_list("agent_id", flat=True),  # read by whole pages only
        "types": TYPE_WORDS.items(),
        "prompts": PROMPTED_WORDS.items(),
        "endings": ENDING_WORDS.items(),
        "progress": numbers,
        "today": datetime.fromtimestamp(zones.find_day_start(clock.now_ms()) / 1000, UTC).strftime(MINUTE),
        "badge": queues.build_badge(numbers.everywhere),
        "my_drafts": drafts.find_own_drafts(by),
        "proposals": proposals.read_counts() if request.user.has_role("operator") else {},
        "keys": _read_keys(request),
        "reason_keys": forms.find_free_keys(_read_keys(request)),
        "review_queue": getattr(request, "review_queue", None),
        "my_queues": [] if queue.review_queue else list_queues(request.user),
        **content,
    }
    response = render_page(request, "datasets/review.html", context, partial="review_step", status=status)
    return response if request.htmx else sample_page.forbid_caching(response)


def _build_sample_context(request, queue, sample_id, claim, form=None):
    sample = get_object_or_404(DatasetSample, id=sample_id)
    request.opened = ("sample", sample.id)  # for the audit log: the address need not name it
    by, is_of_several = request.user.username, bool(queue.review_queue and not queue.conflicts)
    other = None if claim or is_of_several else claims.find_holder(sample.id, besides=by)
    of_queue = build_queue_context(request.review_queue, sample, queue, request.user) if queue.review_queue else {}
    cover_hidden([sample], request.user)
    typed = drafts.find_drafts(sample.id, by=by)
    form = form or sample_page.build_form(sample, typed, _read_keys(request))
    address = queue.address(sample=sample.id)
    sample_context = sample_page.build_sample_context(sample, form, may_label=True, typed=typed)
    sample_context |= sample_page.build_evidence_context(sample, back=address, holds=not other)
    claim = claim or (None if other else _get_claims(queue).take(sample.id, by=by))
    if is_of_several:
        held = "" if claim else describe_no_seat(queue.review_queue, sample.id, by)
    else:
        held = claims.describe_holder(other) if other else _describe_reviewed(sample, by)
    return {
        "shown": sample_context,
        "claim": claim,
        "held": held,
        **of_queue,
        "address": address,
        "next_address": queue.address(after=sample.id),
        "previous_address": queue.address(before=sample.id),
        "name": sample_context["fact"] or undo.describe_sample(sample),
    }


def _describe_reviewed(sample, by):
    """The sentence that somebody else reviewed the sample; empty otherwise.

    It is for a person who comes back to the sample from its session.
    """
    if sample.annotation_status not in REVIEWED or sample.annotated_by in (None, by):
        return ""
    words = {"who": sample.annotated_by, "status": STATUS_WORDS[sample.annotation_status]}
    return _("%(who)s has reviewed this sample: %(status)s. Your verdict would replace that one.") % words


def _build_empty_context(request, queue):
    by = request.user.username
    return {"rest": queues.read_rest(queue, by), "holders": claims.find_holders(queue, besides=by)}


def _read_keys(request):
    """This person's keys, read once for a request."""
    if not hasattr(request, "review_keys"):
        request.review_keys = forms.read_keys(request.user.username)
    return request.review_keys


def _render_keys(request, form, *, status=200):
    return render_page(request, "datasets/review_keys.html", {"form": form}, status=status)


def _build_message(verdict, sample, queue):
    """A message about the verdict, with a link back to the sample."""
    name, address = undo.describe_sample(sample), queue.address(sample=sample.id)
    return sample_page.build_link_message(name, address, before=f"{verdict}: ", after=".")


@require_POST
@needs("labeller")
def review_draft(request):
    """Store the typed fields; answer with the reply and its changes so far."""
    sample = get_object_or_404(DatasetSample, id=request.POST.get("sample", ""))
    cover_hidden([sample], request.user)
    form = DraftForm(request.POST)
    typed, place = form.read_fields(), form.cleaned_data
    initial = VerdictForm.build_initial(sample)
    page, base, by = place["draft_page"], place["draft_base"], request.user.username
    draft = drafts.save(sample, typed, initial, by=by, page=page, base=base)
    text = typed.get("output", initial["output"])
    return render(request, "datasets/draft.html", sample_page.build_reply_context(sample, text, draft))


@require_POST
@needs("labeller")
def review_discard(request):
    """Discard this person's drafts of a sample, and show it again."""
    queue, sample_id = read_place(request).queue, request.POST.get("sample", "")
    drafts.discard(sample_id, by=request.user.username)
    return redirect_after_post(
        request, _("Your draft was discarded."), to=read_next_address(request, queue.address(sample=sample_id))
    )


@require_safe
@needs("labeller")
def samples_bulk(request):
    """The preview of a verdict on a list: the count, the filters, the first samples."""
    filters = SampleFilters(request.GET).validate()
    scope, verdict = _read_scope(request, filters), request.GET.get("verdict", "")
    if verdict not in bulk.VERDICTS or scope.status == verdict:
        raise Refused(_("Bulk review can only approve or reject. Choose from the list of samples."))
    plan = bulk.plan_bulk(scope, by=request.user.username)
    context = {
        "filters": filters,
        "scope": scope,
        "verdict": verdict,
        "verdict_word": STATUS_WORDS[verdict],
        "plan": plan,
        "rows": build_rows(plan.first, filters.read_filters()),
        "most": bulk.MOST,
        "form": BulkForm(),
        "reasons": parts.read_reasons() if verdict != bulk.APPROVED else {},
    }
    return render_page(request, "datasets/samples_bulk.html", context)


@require_POST
@needs("labeller")
def samples_bulk_label(request):
    """Give the verdict to exactly as many samples as the preview showed."""
    filters, form = SampleFilters(request.GET).validate(), BulkForm(request.POST)
    back = reverse("datasets:sample_list") + filters.query
    if not form.is_valid():
        return refuse_post(request, Refused(_("Nothing was changed. Choose again.")), to=back)
    try:
        result = bulk.label_all(_read_scope(request, filters), by=request.user.username, **form.cleaned_data)
    except Refused as refused:
        again = filters.query_with(verdict=form.cleaned_data["status"])
        return refuse_post(request, refused, to=reverse("datasets:samples_bulk") + again)
    sentence = _("%(done)s A single “Undo” in Review undoes all of them.") % {"done": result.sentence}
    return redirect_after_post(request, sentence, to=back)


def _read_scope(request, filters):
    rows, plain = SAMPLES.fits(request.user, **filters.criteria).all, filters.read_filters()
    return bulk.Scope(rows, plain.status, plain.agent, filters.query)
