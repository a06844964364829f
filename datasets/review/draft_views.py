"""Stores what a person types on the page of a sample, while they type."""

from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from openclaw_web.pages.html import read_next_address, redirect_after_post
from openclaw_web.pages.roles import needs

from .. import sample_page
from ..forms import VerdictForm
from ..models import DatasetSample
from . import drafts
from .forms import DraftForm, QueuePlace


@require_POST
@needs("labeller")
def review_draft(request):
    """Store the typed fields; answer with the reply and its changes so far."""
    sample = get_object_or_404(DatasetSample, id=request.POST.get("sample", ""))
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
    queue, sample_id = QueuePlace(request.GET).read_place().queue, request.POST.get("sample", "")
    drafts.discard(sample_id, by=request.user.username)
    return redirect_after_post(
        request, _("Your draft was discarded."), to=read_next_address(request, queue.address(sample=sample_id))
    )
