"""Notes of what is not read: tables and schemas of OpenClaw's databases, decisions of other folders."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from agents import unread_parts
from agents.models import CollectorSource
from gate.recording import foreign_decisions

from ..findings import NOTE, Finding
from .home_sources import Source


def find_unread(root: Path, sources: Iterable[Source]) -> Iterator[Finding]:
    """Findings and notes about the databases of a home; of one that was not opened, what its import noted."""
    noted = unread_parts.parts_of(root)
    for source in sources:
        parts = source.unread or noted.get(source.name)
        if source.kind != CollectorSource.Kind.DATABASE or parts is None:
            continue
        about = {"path": source.name, "agent": source.agent}
        if parts["is_newer"]:
            yield Finding("newer_schema", unread_parts.describe_newer(source.name, parts), **about)
        if sentence := unread_parts.describe_unread(source.name, parts):
            yield Finding("unread_tables", sentence, level=NOTE, **about)


def find_foreign(root: Path) -> Iterator[Finding]:
    """Notes about decisions in the plugin's logs that belong to no agent of this folder."""
    for sentence in foreign_decisions.describe_all(root):
        yield Finding("foreign_decisions", sentence, level=NOTE)
