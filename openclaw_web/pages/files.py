"""Files that never change, as answers: with an ETag, and in parts for those whose download was cut off."""

import re
from pathlib import Path

from django.utils.translation import ngettext

from ..errors import UserFacingError
from .downloads import FileDownload

RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
CHUNK = 256 * 1024


class NoSuchRange(UserFacingError):
    """The part asked for is not in the file, which has `size` bytes."""

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
        """How long the file is."""
        return {"Content-Range": f"bytes */{self.size}"}


def download(request, path: Path, *, checksum: str, content_type: str):
    """The file, or with `Range` the part asked for (206). Raises NoSuchRange. `checksum` is its ETag."""
    size = path.stat().st_size
    part = _part(request, checksum, size)
    response = FileDownload(path, as_attachment=True, filename=path.name, content_type=content_type)
    if part:
        (first, last), file = part, response.file_to_stream
        response.status_code = 206
        file.seek(first)
        response.streaming_content = _read(file, last - first + 1)
        response["Content-Length"] = last - first + 1
        response["Content-Range"] = f"bytes {first}-{last}/{size}"
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = f'"{checksum}"'
    return response


def _part(request, checksum, size):
    """The first and the last byte asked for; None for the whole file, also when it is another one by now."""
    match = RANGE.fullmatch(request.headers.get("Range", "").strip())
    wanted = request.headers.get("If-Range", f'"{checksum}"')
    if not match or match.group(0) == "bytes=-" or wanted != f'"{checksum}"':
        return None
    first, last = match.groups()
    if not first:
        first, last = max(0, size - int(last)), size - 1
    else:
        first, last = int(first), min(int(last) if last else size - 1, size - 1)
    if first > last:
        raise NoSuchRange(size)
    return first, last


def _read(file, left):
    while left > 0 and (data := file.read(min(CHUNK, left))):
        left -= len(data)
        yield data
