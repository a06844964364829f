"""Answers with files that never change: ETag and byte ranges.

Ranges let an interrupted download continue.
"""

import re
from pathlib import Path

from django.utils.translation import ngettext

from ..errors import UserFacingError
from .downloads import FileDownload

RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
CHUNK = 256 * 1024


class NoSuchRange(UserFacingError):
    """The requested range is not in the file, which has `size` bytes."""

    status = 416

    def __init__(self, size: int):
        words = ngettext(
            "The file has %(size)s byte: the requested part does not exist.",
            "The file has %(size)s bytes: the requested part does not exist.",
            size,
        )
        super().__init__(words % {"size": size})
        self.size = size

    @property
    def headers(self):
        """The `Content-Range` with the length of the file."""
        return {"Content-Range": f"bytes */{self.size}"}


def download(request, path: Path, *, checksum: str, content_type: str):
    """The file, or the range that `Range` requests (206). Raises NoSuchRange.

    `checksum` is the ETag of the file.
    """
    size = path.stat().st_size
    part = _read_range(request, checksum, size)
    response = FileDownload(path, as_attachment=True, filename=path.name, content_type=content_type)
    if part:
        (first, last), file = part, response.file_to_stream
        response.status_code = 206
        file.seek(first)
        response.streaming_content = _read_chunks(file, last - first + 1)
        response["Content-Length"] = last - first + 1
        response["Content-Range"] = f"bytes {first}-{last}/{size}"
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = f'"{checksum}"'
    return response


def _read_range(request, checksum, size):
    """The first and the last requested byte; None for the whole file.

    It is the whole file also when `If-Range` names another version.
    """
    match = RANGE.fullmatch(request.headers.get("Range", "").strip())
    known_version = request.headers.get("If-Range", f'"{checksum}"')
    if not match or match.group(0) == "bytes=-" or known_version != f'"{checksum}"':
        return None
    first, last = match.groups()
    if not first:
        first, last = max(0, size - int(last)), size - 1
    else:
        first, last = int(first), min(int(last) if last else size - 1, size - 1)
    if first > last:
        raise NoSuchRange(size)
    return first, last


def _read_chunks(file, remaining):
    while remaining > 0 and (data := file.read(min(CHUNK, remaining))):
        remaining -= len(data)
        yield data
