"""Pages of checkpoint packs: create one from a compaction, and show one."""

from typing import Any
from urllib.parse import quote

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from agents.models import Agent
from artifacts import handles
from artifacts.errors import NoSuchArtifact
from artifacts.handles import NotAHandle
from artifacts.models import Artifact
from ledger.checkpoints import compactions
from ledger.models import Session
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.pages.html import redirect_after_post, refuse_post, render_page

from . import services as checkpoints

MAX_ITEMS = 50  # rows of one list; a pack may hold more


LISTS = ("turns", "files_read", "files_modified", "decisions", "open_calls", "open_errors", "artifacts")


@require_POST
@agent_view_for("labeller")
def checkpoint_make(request, agent, session_id):
    """Create the pack of a compaction, unless it exists, and go to it."""
    session = get_object_or_404(Session.objects.using(agent.db), id=session_id)
    which = request.POST.get("compaction", compactions.LATEST)
    try:
        if which == compactions.ALL:
            raise Refused(_("This page creates one checkpoint at a time."))
        built = next(checkpoints.build_checkpoints(agent, session, which, by=request.user.username))
    except Refused as refused:
        return refuse_post(request, refused, to=session)
    sentence = _("Checkpoint created.") if built.is_new else _("This checkpoint already exists.")
    return redirect_after_post(
        request, sentence, to=reverse("operations:checkpoint_detail", args=[agent.agent_id, built.row.sha256])
    )


@require_safe
@agent_view_for("viewer")
def checkpoint_detail(request, agent, sha256):
    """One pack: the removed records, and the text that replaces them."""
    context = {"agent": agent, "sha256": sha256}
    try:
        row, pack = checkpoints.read_checkpoint(agent, sha256)
    except (NotAHandle, NoSuchArtifact) as exc:
        raise Http404 from exc
    except Refused as refused:
        return render_page(request, "operations/checkpoint_detail.html", {**context, "refused": refused}, status=409)
    request.opened = ("checkpoint", row.handle)
    context |= build_page_context(agent, row, pack)
    return render_page(request, "operations/checkpoint_detail.html", context)


def build_page_context(agent: Agent, row: Artifact, pack: dict[str, Any]) -> dict[str, Any]:
    """Build the page context of a checkpoint pack."""
    session_id = pack["session"]["id"]
    session = Session.objects.using(agent.db).filter(id=session_id).only("id", "title").first()
    address = session.get_absolute_url() if session else ""
    lists = {name: _build_list(agent, address, pack[name]) for name in LISTS}
    compaction = pack["compaction"]
    return {
        "row": row,
        "pack": pack,
        "session": session,
        "address": address,
        "compaction": {**compaction, **_build_link(address, compaction)},
        "lists": lists,
        "left_out": listed(
            f"{name.replace('_', ' ')}: {count:,}" for name, count in pack["bundle"]["left_out"].items()
        ),
    }


def _build_list(agent, address, item_list):
    """The last MAX_ITEMS items with links, and how many others there are."""
    items = [
        {**item, **_build_link(address, item), "artifact": _build_artifact_address(agent, item)}
        for item in item_list["items"]
    ]
    return {"items": items[-MAX_ITEMS:], "more": item_list["more"] + max(0, len(items) - MAX_ITEMS)}


def _build_link(address, item):
    """The address of an item's record; empty without its session."""
    record_id = item.get("user_record_id") or item.get("first_record_id") or item.get("record_id")
    place = quote(record_id or "", safe="")
    return {"href": f"{address}?record={place}#r-{place}" if address and place else ""}


def _build_artifact_address(agent, item):
    """The address of the artifact that an item names, if it names one."""
    if "handle" not in item:
        return ""
    return reverse("artifacts:artifact_detail", args=[agent.agent_id, handles.parse(item["handle"])])
