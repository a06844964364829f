"""API of artifacts: stash, list, read, verify and remove them."""

from collections.abc import Iterator
from contextlib import contextmanager

from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, page_to_json

from . import access, actions, content_download, handles, receipts
from .artifact_list import ARTIFACTS, count_uses
from .contents import adoption, measurement, secret_flags, summaries
from .errors import MissingContent, NoSuchArtifact
from .excerpts import content_fetch
from .schemas import (
    ArtifactOut,
    ArtifactQuery,
    FetchQuery,
    FetchReceipt,
    NotStashed,
    PeekQuery,
    PeekReceipt,
    RemoveReceipt,
    StashIn,
    StashReceipt,
    VerifyReceipt,
)

router = Operations("artifacts_api", tags=["artifacts"], by_alias=True)
ANY_CONTENT = {"content": {"text/plain": {}, "application/octet-stream": {}}}


@router.get("/agents/{agent}/artifacts", Page[ArtifactOut], 404, 409, 503)
@agent_view_for("viewer")
def artifact_list(request, agent, filters: Query[ArtifactQuery]):
    """Artifacts of an agent, last used first.

    A search may return fewer than `limit`, and a `next`.
    """
    page = ARTIFACTS.fits(agent, **filters.criteria()).page(**filters.place)
    times, kinds = count_uses(agent.db, [row.handle for row in page]), secret_flags.read_flagged_kinds()
    for row in page:
        row.uses, row.is_flagged = times[row.handle], secret_flags.is_flagged(row.secret_kinds, kinds)
        row.secret_kinds = row.secrets
    return page_to_json(page)


@router.post(
    "/agents/{agent}/artifacts", StashReceipt | NotStashed, 404, 503, exclude_unset=True, summary="Artifact Store"
)
@agent_view_for("operator")
def artifact_stash(request, agent, body: StashIn):
    """Store a text or bytes. With `auto`, content that the adoption rule excludes is only summarized."""
    content = body.content
    if body.auto and not adoption.is_adoptable(content.decode("utf-8", "replace"), injected=body.injected):
        measured = measurement.measure_content(content)
        return {
            "stashed": False,
            "bytes": measured.bytes,
            "lines": measured.lines,
            "chars": measured.chars,
            "contentType": measured.content_type,
            "summary": summaries.summarise(measured, exit_code=body.exit_code),
        }
    row, stored = actions.stash(
        agent,
        content,
        by=request.user.username,
        kind=body.kind,
        meta=body.meta,
        place=body.place,
        is_compressed=body.auto if body.gzip is None else body.gzip,
        exit_code=body.exit_code,
    )
    return {"stashed": True, "preview": row.preview, **receipts.build_stash_receipt(row, stored)}


@router.get("/agents/{agent}/artifacts/{handle}", PeekReceipt, 404, 409, 410, 503)
@agent_view_for("viewer")
def artifact_peek(request, agent, handle: str, query: Query[PeekQuery]):
    """A short preview of an artifact and its details. `handle` may be the SHA-256 alone."""
    with _open_row(request, agent, handle) as row:
        return content_fetch.peek(agent.db, row.handle, chars=query.preview_chars)


@router.get("/agents/{agent}/artifacts/{handle}/fetch", FetchReceipt, 404, 409, 410, 503, exclude_unset=True)
@agent_view_for("viewer")
def artifact_fetch(request, agent, handle: str, query: Query[FetchQuery]):
    """A part of an artifact, limited in size.

    With the sizes of what was left out and the selector of the next part.
    """
    with _open_row(request, agent, handle) as row:
        reader = {"by": request.user.username, "agent_id": agent.agent_id}
        return content_fetch.fetch(agent.db, row.handle, query.selector(), **reader).as_receipt()


@router.get(
    "/agents/{agent}/artifacts/{handle}/content",
    None,
    404,
    409,
    410,
    503,
    openapi_extra={"responses": {200: ANY_CONTENT}},
)
@agent_view_for("viewer")
def artifact_content(request, agent, handle: str):
    """The full content as an attachment, verified before it is sent.

    Flagged artifacts are for admins (403).
    """
    with _open_row(request, agent, handle) as row:
        content_download.check_downloader(row, request.user, agent_id=agent.agent_id)
        return content_download.build_response(row)


@router.delete("/agents/{agent}/artifacts/{handle}", RemoveReceipt, 404, 503)
@agent_view_for("admin")
def artifact_remove(request, agent, handle: str):
    """Remove every reference of the agent to an artifact.

    `gc` removes the content when no other reference is left.
    """
    handle = handles.from_address(handle)
    return receipts.build_remove_receipt(handle, actions.remove(agent, handle, by=request.user.username))


@router.post("/agents/{agent}/artifacts/{handle}/verify", VerifyReceipt, 404, 503)
@agent_view_for("admin")
def artifact_verify(request, agent, handle: str):
    """Read an artifact in full and compare it with its handle; `problems` says what is wrong."""
    row = content_fetch.find_artifact(agent.db, handles.from_address(handle))
    return actions.verify(agent, row.handle, by=request.user.username).as_receipt()


@contextmanager
def _open_row(request, agent, handle) -> Iterator:
    """The row of a content that is going to be read.

    Raises MissingContent when there is a row and no content.
    """
    row = content_fetch.find_artifact(agent.db, handles.from_address(handle))
    access.check_reader(agent.db, row, request.user)
    request.opened = ("artifact", row.handle)
    try:
        yield row
    except NoSuchArtifact as exc:
        raise MissingContent(exc.sentence) from exc
