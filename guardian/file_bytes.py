"""Contents of files as texts that lose no byte, and the exact bytes of versions."""

import hashlib

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from .models import FileVersion


class DamagedVersion(Refused):
    """The content of a version differs from its hash."""


def bytes_to_text(data: bytes) -> str:
    """Return a content as text; `text_to_bytes` gives the same bytes back.

    Bytes that are no UTF-8 are kept as surrogates.
    """
    return data.decode("utf-8", "surrogateescape")


def text_to_bytes(text: str) -> bytes:
    """Return the bytes of a text that `bytes_to_text` made."""
    return text.encode("utf-8", "surrogateescape")


def read_version_bytes(version: FileVersion) -> bytes:
    """Return the bytes of a version, checked against its hash.

    Raises DamagedVersion when they are missing or other bytes.
    """
    raw = version.raw
    content = version.content.encode("utf-8", "surrogatepass") if raw is None else bytes(raw)
    if hashlib.sha256(content).hexdigest() != version.content_hash:
        words = {"file": version.file_name, "id": version.id}
        raise DamagedVersion(_("The version %(id)s of %(file)s is damaged: its hash is another one.") % words)
    return content
