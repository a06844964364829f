"""Reading every content of the store and comparing it with its name."""

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
    """How many contents are sound, how many bytes that are, and a row for each that is not."""

    sound: int = 0
    bytes: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)

    def as_receipt(self) -> dict:
        return {"schema": VERIFY_SCHEMA, "sound": self.sound, "bytes": self.bytes, "problems": self.problems}


def verify(wanted: Iterable[str]) -> VerifyResult:
    """Check these contents (hashes), and that their metadata is there."""
    root, result = layout.get_root(), VerifyResult()
    for sha256 in wanted:
        try:
            with blobs.open_blob(root, sha256) as blob:
                about = blobs.read_meta(root, sha256)
                result.bytes += sum(map(len, blob.chunks(expected=about.get("bytes") if about else None)))
            reason = _unlike(about, blob)
        except Refused as exc:
            reason = exc.sentence
        if reason:
            result.problems.append({"id": handles.from_sha256(sha256), "reason": reason})
        else:
            result.sound += 1
    return result


def list_all_contents(db: str) -> Iterator[str]:
    """The hash of every content that is in the store, or that the agent whose file is `db` refers to and is not."""
    seen = set()
    for sha256, _paths in inventory.list_contents(layout.get_root()):
        seen.add(sha256)
        yield sha256
    for handle in Artifact.objects.using(db).values_list("handle", flat=True).distinct().order_by("handle"):
        if handle[-64:] not in seen:
            yield handle[-64:]


def _unlike(about, blob):
    if about is None:
        return _("The metadata is missing or damaged; the content is intact.")
    if about.get("compression") != ("gzip" if blob.is_compressed else "none"):
        return _("The metadata names a different compression; the content is intact.")
    return ""
