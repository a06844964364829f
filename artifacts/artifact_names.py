"""Names of artifacts on pages.

An artifact is named by the tool call that it came from, else by the kind of its content. The call is in a transcript,
which only apps above this one can read: settings.ARTIFACT_CALLS names the function that does.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from . import words
from .models import Artifact

PLACE = ("id", "session_id", "record_id", "tool_call_id")
READ_COLUMNS = (*PLACE, "kind", "content_type")


@dataclass(frozen=True, slots=True)
class Name:
    """The name of one use of a content.

    `text` is the command, path, address or query of the call, or else (`is_call` is false) the kind of content.
    """

    text: str
    is_call: bool
    session: str  # the title of the session it was used in; its id when it has none


def build_names(db: str, uses: Iterable[dict[str, Any]]) -> dict[str, Name]:
    """The names of uses of contents, by their ids; each use has READ_COLUMNS."""
    uses = list(uses)
    calls, titles = import_string(settings.ARTIFACT_CALLS)(db, [{name: use[name] for name in PLACE} for use in uses])
    names = {}
    for use in uses:
        text = calls.get(use["id"], "")
        session = titles.get(use["session_id"]) or use["session_id"] or ""
        names[use["id"]] = Name(text or content_word(use["kind"], use["content_type"]), bool(text), session)
    return names


def build_latest_name(db: str, handle: str) -> Name:
    """The name of a content of an agent: that of its latest use."""
    uses = Artifact.objects.using(db).filter(handle=handle).order_by("-created_at", "-id")
    use = uses.values(*READ_COLUMNS)[:1].get()
    return build_names(db, [use])[use["id"]]


def content_word(kind: str, content_type: str) -> str:
    """The kind of a content without a known call, such as `Checkpoint` or `Web page`."""
    return words.content_word(content_type) if kind == words.OUTPUT else words.artifact_word(kind)
