"""Handles of artifacts that stand in what was said become links to the artifact's page."""

import re

from django.utils.safestring import SafeString

from artifacts import handles

HANDLE = re.compile(rf"(?<![0-9A-Za-z_]){handles.PREFIX}([0-9a-f]{{64}})(?![0-9a-f])")
TAG = re.compile(r"(<[^>]*>)")
# Within these a link would be in the way of another one, or of opening a fold.
CLOSED = ("a", "summary")


def linked(html: SafeString, here: str) -> SafeString:
    """`html`, made of escaped texts, with links; `here` is the session's address, `/agents/<agent>/sessions/<id>/`."""
    if handles.PREFIX not in html:
        return html
    artifacts = here.rstrip("/").rpartition("/sessions/")[0] + "/artifacts/"
    link = rf'<a class="break" href="{artifacts}\1/">\g<0></a>'
    parts, closed = TAG.split(html), 0
    for number, part in enumerate(parts):
        if number % 2:
            if part.strip("</>").split(" ", 1)[0] in CLOSED:
                closed += -1 if part.startswith("</") else 1
        elif not closed:
            parts[number] = HANDLE.sub(link, part)
    return SafeString("".join(parts))
