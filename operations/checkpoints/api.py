"""API of checkpoint packs: create one, read one."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from pydantic import Field

from agents.decorators import agent_view_for
from artifacts import content_download
from artifacts.errors import NoSuchArtifact
from artifacts.handles import NotAHandle
from ledger.checkpoints import compactions
from ledger.checkpoints.bundle import LEAST_CHARS, MOST_CHARS, USUAL_CHARS
from ledger.checkpoints.schemas import Pack
from ledger.models import Session
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.errors import Refused

from . import services as checkpoints


class CheckpointIn(Body):
    compaction: str = Field("latest", min_length=1, max_length=300, description="`latest`, or the id of the record")
    budget_chars: int = Field(
        USUAL_CHARS, ge=LEAST_CHARS, le=MOST_CHARS, description="characters of the text for a prompt"
    )


class CheckpointOut(Schema):
    handle: str
    sha256: str
    session_id: str | None
    compaction_id: str | None
    compacted_at: int
    bytes: int
    fetch: str = Field(description="the command that reads the checkpoint")


class CheckpointMade(CheckpointOut):
    is_new: bool = Field(description="false if the same checkpoint already exists")


class CheckpointDetail(CheckpointOut):
    pack: Pack


router = Operations("operations_checkpoints_api", tags=["checkpoints"])


@router.post(
    "/agents/{agent}/sessions/{session_id}/checkpoints", CheckpointMade, 400, 404, 409, 503, summary="Checkpoint Create"
)
@agent_view_for("labeller")
def checkpoint_make(request, agent, session_id: str, body: CheckpointIn):
    """Create the checkpoint of a compaction. Creating it again gives the same handle."""
    session = get_object_or_404(Session.objects.using(agent.db), id=session_id)
    if body.compaction == compactions.ALL:
        raise Refused(_("A request creates one checkpoint: use `latest`, or the id of a compaction."))
    options = {"budget": body.budget_chars, "by": request.user.username}
    built = next(checkpoints.build_checkpoints(agent, session, body.compaction, **options))
    return {**checkpoints.build_facts(agent, built.row), "is_new": built.is_new}


@router.get("/agents/{agent}/checkpoints/{sha256}", CheckpointDetail, 404, 409, 503, by_alias=True)
@agent_view_for("viewer")
def checkpoint_detail(request, agent, sha256: str):
    """A checkpoint with its full content, by its handle or its 64 digits.

    Flagged checkpoints are for admins.
    """
    try:
        row, pack = checkpoints.read_checkpoint(agent, sha256)
    except (NotAHandle, NoSuchArtifact) as exc:
        raise Http404 from exc
    request.opened = ("checkpoint", row.handle)
    content_download.check_downloader(row, request.user, agent_id=agent.agent_id)
    return {**checkpoints.build_facts(agent, row), "pack": pack}
