"""Answers of commands and the API about artifacts, as JSON values."""

from typing import Any

from .models import Artifact
from .store import layout
from .store.content_writer import StoredContent

STASH_SCHEMA = "openclaw-mem.artifact.stash.v1"
LIST_SCHEMA = "openclaw-mem.artifact.list.v1"
RM_SCHEMA = "openclaw-mem.artifact.rm.v1"


def build_stash_receipt(row: Artifact, stored: StoredContent) -> dict[str, Any]:
    """The receipt of a stash.

    `createdAt`, `kind` and `meta` are those of the first stash of the content.
    """
    return {
        "schema": STASH_SCHEMA,
        "handle": stored.handle,
        "sha256": stored.sha256,
        "bytes": stored.bytes,
        "createdAt": stored.created_at,
        "kind": stored.kind,
        "meta": stored.meta,
        "isNew": stored.is_new,
        "storedBytes": stored.stored_bytes,
        "compression": stored.compression,
        "lines": row.lines,
        "chars": row.chars,
        "contentType": row.content_type,
        "summary": row.summary,
        "secretKinds": row.secrets,
    }


def used(row: Artifact) -> dict[str, Any]:
    """One use of a content."""
    return {
        "handle": row.handle,
        "kind": row.kind,
        "bytes": row.bytes,
        "storedBytes": row.stored_bytes,
        "lines": row.lines,
        "contentType": row.content_type,
        "summary": row.summary,
        "secretKinds": row.secrets,
        "createdAt": layout.to_iso(row.created_at),
        "sessionId": row.session_id,
        "turnId": row.turn_id,
        "recordId": row.record_id,
        "tool": row.tool,
        "toolCallId": row.tool_call_id,
        "meta": row.meta,
    }


def build_list_receipt(page) -> dict[str, Any]:
    """A page of uses; `next` is the cursor of the page after."""
    return {"schema": LIST_SCHEMA, "artifacts": [used(row) for row in page], "next": page.next}


def build_remove_receipt(handle: str, count: int) -> dict[str, Any]:
    """The receipt of `rm`."""
    return {"schema": RM_SCHEMA, "handle": handle, "references": count}
