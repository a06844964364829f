"""Contents of files as texts that lose no byte, and the exact bytes of versions."""

import hashlib

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from .models import FileVersion


class DamagedVersion(Refused):
    """A version is not what it was any more."""


def bytes_to_text(data: bytes) -> str:
    """A content as a text: what is no UTF-8 is carried through, and `bytes_of` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def text_to_bytes(text: str) -> bytes:
    """The bytes of a text that `text_of` made."""
    return text.encode("utf-8", "surrogateescape")


def read_version_bytes(version: FileVersion) -> bytes:
    """The bytes of a version, compared with its hash. Raises NotExact when they are not there, or others."""
    raw = version.raw
    data = version.content.encode("utf-8", "surrogatepass") if raw is None else bytes(raw)
    if hashlib.sha256(data).hexdigest() != version.content_hash:
        words = {"file": version.file_name, "id": version.id}
        raise DamagedVersion(_("The version %(id)s of %(file)s is damaged: its hash is another one.") % words)
    return data
