"""Sends a whole content as a file.

It is read and verified before the first byte is sent, then read again while it is sent.
"""

from contextlib import ExitStack, closing

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.pages.downloads import StreamedDownload
from openclaw_web.pages.formatting import listed
from people.audit import log as audit

from .contents import content_types, secret_flags
from .models import Artifact
from .store import blobs, layout
from .words import secret_word

POLICY = "sandbox; default-src 'none'"
# The end of a file's name. HTML is none of them: opened from a disk it would run.
ENDINGS = {
    content_types.JSON: "json",
    content_types.JSON_LINES: "jsonl",
    content_types.PDF: "pdf",
    content_types.BINARY: "bin",
    "application/gzip": "gz",
    "application/vnd.sqlite3": "sqlite3",
    "application/zip": "zip",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
}


class FlaggedArtifact(Refused):
    """The content may hold secrets, and the person is no admin."""

    status = 403


class Content:
    """An open content that was read in full and found sound.

    Its chunks are verified once more while they are sent. A blob that changes in between breaks the answer off before
    its last chunk, so that nobody takes it for whole.
    """

    def __init__(self, row: Artifact):
        """Raises NoSuchArtifact for a missing content, DamagedArtifact for one that was changed."""
        self._row, self._open = row, ExitStack()
        with ExitStack() as stack:
            self._blob = stack.enter_context(blobs.open_blob(layout.get_root(), row.sha256))
            for _chunk in self._blob.chunks(expected=row.bytes):
                pass
            self._open = stack.pop_all()

    def __iter__(self):
        """The chunks, each of them given after the next one was read.

        The last one is given when the hash is right.
        """
        previous = None
        for chunk in self._blob.chunks(expected=self._row.bytes):
            if previous is not None:
                yield previous
            previous = chunk
        if previous is not None:
            yield previous

    def close(self) -> None:
        """Close the file; the answer does so when it ends or breaks off."""
        self._open.close()


def check_downloader(row: Artifact, user, *, agent_id: str) -> None:
    """Raises FlaggedArtifact when the content may hold secrets and `user` is no admin.

    The attempt is written to the audit log.
    """
    kinds = secret_flags.find_flagged_kinds(row.secret_kinds)
    if kinds and not user.has_role("admin"):
        target = {"object_type": "artifact", "object_id": row.handle, "agent_id": agent_id}
        audit.record(user.get_username(), "download_refused", **target, kinds=", ".join(kinds))
        raise FlaggedArtifact(
            _("This artifact may contain secrets: %(kinds)s. Only admins may download it. Parts can be viewed.")
            % {"kinds": listed(map(secret_word, kinds))}
        )


def build_response(row: Artifact) -> StreamedDownload:
    """The content as an attachment that no browser runs or shows.

    Raises NoSuchArtifact and DamagedArtifact.
    """
    kind = "text/plain; charset=utf-8" if content_types.is_text(row.content_type) else content_types.BINARY
    with ExitStack() as stack:  # its place among the downloads is taken before anything is read
        response = stack.enter_context(closing(StreamedDownload((), content_type=kind)))
        response.streaming_content = Content(row)
        stack.pop_all()
    name = f"artifact-{row.sha256[:12]}.{ENDINGS.get(row.content_type, 'txt')}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Length"] = row.bytes
    response["Content-Security-Policy"] = POLICY
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response
