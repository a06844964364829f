"""The text that a model saw instead of a person's words.

OpenClaw adds it to their message later: `message.__openclaw.modelPromptProjection` is `{"version": 1, "text": ...}`,
the words with what hooks put around them. It is never what the person said. No Django.
"""

from typing import Any

OWN, PROJECTION = "__openclaw", "modelPromptProjection"
SIGN = PROJECTION.encode()  # in every line that may have one
VERSION = 1


def get_projection(record: dict[str, Any]) -> dict[str, Any] | None:
    """The projection of a user message, of any version; None when there is none."""
    message = record.get("message")
    own = message.get(OWN) if isinstance(message, dict) and message.get("role") == "user" else None
    projection = own.get(PROJECTION) if isinstance(own, dict) else None
    return projection if isinstance(projection, dict) else None


def get_projected_text(record: dict[str, Any]) -> str:
    """The text that the model saw; empty when it is missing or of an unknown version."""
    projection = get_projection(record)
    text = projection.get("text") if projection and projection.get("version") == VERSION else None
    return text if isinstance(text, str) else ""


def without_projection(record: dict[str, Any]) -> dict[str, Any]:
    """The record without its projection; the same object when it has none."""
    if get_projection(record) is None:
        return record
    own = {name: value for name, value in record["message"][OWN].items() if name != PROJECTION}
    message = {name: value for name, value in record["message"].items() if name != OWN}
    return {**record, "message": message | ({OWN: own} if own else {})}


def with_projection(record: dict[str, Any], projection: dict[str, Any]) -> dict[str, Any]:
    """The record with a projection."""
    message = record["message"]
    own = message.get(OWN)
    return {**record, "message": {**message, OWN: {**(own if isinstance(own, dict) else {}), PROJECTION: projection}}}
