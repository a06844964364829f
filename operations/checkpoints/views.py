"""Checkpoint packs: making one from a compaction, and looking at one."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view
from artifacts.errors import NoSuchArtifact
from artifacts.handles import NotAHandle
from ledger.checkpoints import compactions
from ledger.models import Session
from openclaw_web.errors import Refused
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, refuse_post, render_page

from . import page
from . import services as checkpoints


@require_POST
@agent_view
@needs("labeller")
def checkpoint_make(request, agent, session_id):
    """Build the pack of one compaction and go to it; of one that has it already, only go there."""
    session = get_object_or_404(Session.objects.using(agent.db), id=session_id)
    which = request.POST.get("compaction", compactions.LATEST)
    try:
        if which == compactions.ALL:
            raise Refused(_("This page creates one checkpoint at a time."))
        built = next(checkpoints.make(agent, session, which, by=request.user.username))
    except Refused as refused:
        return refuse_post(request, refused, to=session)
    sentence = _("Checkpoint created.") if built.is_new else _("This checkpoint already exists.")
    return after_post(
        request, sentence, to=reverse("operations:checkpoint_detail", args=[agent.agent_id, built.row.sha256])
    )


@require_safe
@agent_view
@needs("viewer")
def checkpoint_detail(request, agent, sha256):
    """One pack: what the compaction took out of sight, and the text that stands for it."""
    context = {"agent": agent, "sha256": sha256}
    try:
        row, pack = checkpoints.opened(agent, sha256)
    except (NotAHandle, NoSuchArtifact) as exc:
        raise Http404 from exc
    except Refused as refused:
        return render_page(request, "operations/checkpoint_detail.html", {**context, "refused": refused}, status=409)
    request.opened = ("checkpoint", row.handle)
    context |= page.shown(agent, row, pack)
    return render_page(request, "operations/checkpoint_detail.html", context)
