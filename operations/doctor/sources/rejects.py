"""Lines that an import would reject, as the doctor lists them."""

from typing import Any

from .home_sources import Source

RejectedLines = list[dict[str, Any]]


def reject(source: Source, rejected: RejectedLines, offset: int, reason: str, detail: str) -> None:
    """Count a rejected line of a source, and list it with its offset and the reason."""
    source.rejected += 1
    rejected.append({"file": source.name, "offset": offset, "reason": reason, "detail": detail[:200]})
