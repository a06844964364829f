"""Handles of artifacts that stand in what was said, for templates that make links of them."""

import re
from collections.abc import Iterator

from django.utils.safestring import SafeString

from artifacts.handles import PREFIX

HANDLE = re.compile(rf"(?<![0-9A-Za-z_])({PREFIX}[0-9a-f]{{64}})(?![0-9a-f])")
TAG = re.compile(r"(<[^>]*>)")
# Within these a link would be in the way of another one, or of opening a fold.
CLOSED = ("a", "summary")


def handles(html: SafeString) -> Iterator[tuple[SafeString, str]]:
    """`html`, made of escaped texts, in pieces: each with the name of the content when it is a handle, else with ""."""
    kept, closed = "", 0
    for number, part in enumerate(TAG.split(html)):
        if number % 2:
            if part.strip("</>").split(" ", 1)[0] in CLOSED:
                closed += -1 if part.startswith("</") else 1
            kept += part
        elif closed:
            kept += part
        else:
            text, *found = HANDLE.split(part)
            kept += text
            for handle, after in zip(found[::2], found[1::2], strict=True):
                yield SafeString(kept), ""
                yield SafeString(handle), handle.removeprefix(PREFIX)
                kept = after
    yield SafeString(kept), ""
