"""Contents of artifacts as texts of the search, but for those in records and those that not everybody may read."""

from django.db.models import Q
from django.urls import reverse

from search.sources import Item
from search.table_source import TableSource

from . import handles, words
from .access import FOR_OPERATORS
from .contents import content_types, secret_flags
from .models import Artifact
from .services import OUTPUT_KIND
from .store import blobs, layout

MOST_BYTES = 5_000_000  # of a longer content the first part is read
COLUMNS = ("handle", "kind", "content_type", "bytes", "secret_kinds", "session_id", "tool", "created_at")
# Other outputs of tools are read with their records, which they are put back into.
NOT_IN_RECORDS = Q(record_id=None) | ~Q(kind=OUTPUT_KIND) | Q(bytes__gt=MOST_BYTES)


def read_text(sha256: str) -> str:
    """The first part of a content as text; empty when it cannot be read."""
    parts, size = [], 0
    for chunk in blobs.read_unchecked(layout.get_root(), sha256):
        parts.append(chunk[: MOST_BYTES - size])
        size += len(chunk)
        if size >= MOST_BYTES:
            break
    return b"".join(parts).decode(errors="replace")


def _build(db, rows, is_hit):
    kinds, items = secret_flags.read_flagged_kinds(), []
    for row in rows:
        if not content_types.is_text(row["content_type"]) or secret_flags.is_flagged(row["secret_kinds"], kinds):
            continue
        sha256 = handles.parse(row["handle"])
        item = Item(row["id"], row["created_at"], "artifact", {"artifact": read_text(sha256)})
        if is_hit:
            item.title = str(words.artifact_word(row["kind"]))
            item.facts = {"tool": {row["tool"]}, "session_id": row["session_id"]}
            item.href = reverse("artifacts:artifact_detail", args=[db.removeprefix("agent_"), sha256])
        items.append(item)
    return items


ARTIFACTS = TableSource(
    *("artifact", Artifact, COLUMNS, _build), where=NOT_IN_RECORDS & ~Q(kind__in=FOR_OPERATORS), at_once=8
)
