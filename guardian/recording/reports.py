"""Reports of a write to a memory file by a source."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from openclaw_web.sqlite.json_columns import encode

from ..changes import Change
from ..models import WriteGuardianAudit

Status, Origin, Source = WriteGuardianAudit.Status, WriteGuardianAudit.Origin, WriteGuardianAudit.Source
CHANGED = (Status.WRITTEN, Status.ROLLED_BACK)  # the file was changed, even if that was undone later
# If several sources report a write, the first counts: what a plugin sent, then its database, then its log.
RANK = (Source.API, Source.DATABASE, Source.LOG)


@dataclass(frozen=True)
class FileChange:
    """The content of a file before and after a write, byte for byte; None: no file."""

    before: bytes | None
    after: bytes | None
    known_hashes: tuple[str | None, ...] | None = None

    @cached_property
    def hashes(self) -> tuple[str | None, ...]:
        """The hashes of both sides; None: there was no file."""
        return self.known_hashes or tuple(
            None if data is None else hashlib.sha256(data).hexdigest() for data in (self.before, self.after)
        )


@dataclass(slots=True)
class Report:
    """One report of a write, with a row that is not stored yet.

    `change` is None where the source does not say what the file held.
    """

    row: WriteGuardianAudit
    source: Source
    change: FileChange | None = None
    body_sha256: str = ""  # of the whole report; empty: its source never sends it again
    reporter: str = ""

    @property
    def key(self) -> str:
        """The id of the write in its source."""
        return self.row.id


@dataclass(slots=True)
class StoreResult:
    """The result of storing reports: ids of new rows and of known rows, and counts."""

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)  # of `known`, those that another source had reported
    withheld: int = 0
    unattributed: int = 0  # new unattributed changes that follow from these writes
    ids: dict[str, str] = field(default_factory=dict)  # the row's id, by the id in the report


def build_change_columns(change: Change | None) -> dict[str, str | int | None]:
    """Build the columns of a write from its change; None where the change is not known."""
    return {
        "diff": change.diff if change else None,
        "hunks_json": encode(change.hunks) if change else None,
        "lines_added": change.added if change else None,
        "lines_removed": change.removed if change else None,
        "lines_modified": change.modified if change else None,
    }
