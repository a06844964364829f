"""What a record says twice. Pure: no Django, no files."""

from typing import Any


def without_repeated_output(record: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    """The record without `details.aggregated` when its content holds that, and how many characters it had; else None.

    A command's output stands in the content and again in `details.aggregated`: the first is kept.
    """
    message = record.get("message")
    details = message.get("details") if isinstance(message, dict) else None
    aggregated = details.get("aggregated") if isinstance(details, dict) else None
    if not isinstance(message, dict) or not isinstance(details, dict) or not isinstance(aggregated, str):
        return record, None
    if not aggregated:
        return record, None
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and aggregated in text:
            details = {key: value for key, value in details.items() if key != "aggregated"}
            return {**record, "message": {**message, "details": details}}, len(aggregated)
    return record, None
