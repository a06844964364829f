"""Reads contents of the store and compares each with its name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from .. import handles
from ..models import Artifact
from . import blobs, inventory, layout

VERIFY_SCHEMA = "openclaw-mem.artifact.verify.v1"


@dataclass(slots=True)
class VerifyResult:
    """Counts of sound contents and their bytes, and a row for each other content."""

    sound: int = 0
    bytes: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)

    def as_receipt(self) -> dict:
        return {"schema": VERIFY_SCHEMA, "sound": self.sound, "bytes": self.bytes, "problems": self.problems}


def verify(hashes: Iterable[str]) -> VerifyResult:
    """Check these contents (hashes), and that their metadata exists."""
    root, result = layout.get_root(), VerifyResult()
    for sha256 in hashes:
        try:
            with blobs.open_blob(root, sha256) as blob:
                meta = blobs.read_meta(root, sha256)
                result.bytes += sum(map(len, blob.chunks(expected=meta.get("bytes") if meta else None)))
            reason = _find_difference(meta, blob)
        except Refused as exc:
            reason = exc.sentence
        if reason:
            result.problems.append({"id": handles.from_sha256(sha256), "reason": reason})
        else:
            result.sound += 1
    return result


def list_all_contents(db: str) -> Iterator[str]:
    """The hashes of all contents in the store, then of those that are missing.

    The agent whose file is `db` refers to the missing ones.
    """
    seen = set()
    for sha256, _paths in inventory.list_contents(layout.get_root()):
        seen.add(sha256)
        yield sha256
    for handle in Artifact.objects.using(db).values_list("handle", flat=True).distinct().order_by("handle"):
        if handle[-64:] not in seen:
            yield handle[-64:]


def _find_difference(meta, blob):
    if meta is None:
        return _("The metadata is missing or damaged; the content is intact.")
    if meta.get("compression") != ("gzip" if blob.is_compressed else "none"):
        return _("The metadata names a different compression; the content is intact.")
    return ""
