"""Lines that an import would reject, as the doctor lists them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents.homes import NotReadable
from collecting.stages.source_databases import UnreadableDatabase
from ledger.collectors.database import DamagedDatabase
from openclaw_web.sqlite import failures

from .home_sources import Source

RejectedLines = list[dict[str, Any]]


def reject(source: Source, rejected: RejectedLines, offset: int, reason: str, detail: str) -> None:
    """Count a rejected line of a source, and list it with its offset and the reason."""
    source.rejected += 1
    rejected.append({"file": source.name, "offset": offset, "reason": reason, "detail": detail[:200]})


@contextmanager
def report_failures(source: Source, rejected: RejectedLines) -> Iterator[None]:
    """Note in `problem` why a source cannot be read; what an import would report too is also rejected."""
    try:
        yield
    except NotReadable as exc:
        source.problem = str(exc)
    except UnreadableDatabase as exc:
        source.problem = str(exc)
        reject(source, rejected, 0, exc.reason, str(exc))
    except DamagedDatabase as exc:
        source.problem = failures.translate_message(str(exc))
        reject(source, rejected, 0, "bad_database", source.problem)
