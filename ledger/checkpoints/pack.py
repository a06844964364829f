"""Reads checkpoint packs."""

from typing import Any

import orjson
from django.utils.translation import gettext as _

from artifacts.contents import content_types
from artifacts.excerpts import content_fetch
from artifacts.models import Artifact
from artifacts.store import blobs, layout
from openclaw_web.errors import Refused

SCHEMA, KIND = "openclaw-web.checkpoint_pack.v1", "checkpoint"
MAX_BYTES = 4_000_000  # far more than the longest lists come to


def pack_to_bytes(pack: dict[str, Any]) -> bytes:
    """The bytes of a pack: the same for the same values."""
    return orjson.dumps(pack, option=orjson.OPT_SORT_KEYS)


def read_pack(db: str, handle: str) -> tuple[Artifact, dict[str, Any]]:
    """The pack behind a handle, checked against its hash and format, and its row.

    Raises NotAHandle, NoSuchArtifact, DamagedArtifact, and Refused for an artifact that is no pack.
    """
    from .schemas import Pack, ValidationError  # only here: a site at rest needs no schema

    row = content_fetch.find_artifact(db, handle)
    rows = Artifact.objects.using(db).filter(handle=handle, kind=KIND)
    row = rows.order_by("created_at", "id").first() or row
    if row.bytes > MAX_BYTES or row.content_type != content_types.JSON:
        raise _refuse_no_pack()
    content = blobs.read_whole(layout.get_root(), row.sha256, expected=row.bytes)
    try:
        pack = orjson.loads(content)
        Pack.model_validate(pack)
    except (orjson.JSONDecodeError, ValidationError) as exc:
        raise _refuse_no_pack() from exc
    return row, pack


def _refuse_no_pack():
    return Refused(_("This artifact is not a checkpoint. “artifact fetch” shows its content."))
