"""What is told of one write to a memory file, whoever tells it."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from openclaw_web.sqlite.json_columns import encode

from ..changes import Change
from ..models import WriteGuardianAudit

Status, Origin, Source = WriteGuardianAudit.Status, WriteGuardianAudit.Origin, WriteGuardianAudit.Source
CHANGED = (Status.WRITTEN, Status.ROLLED_BACK)  # the file was changed, whatever became of that later
# Whose word counts where several tell of one write: what a plugin sent, then its database, then its log.
RANK = (Source.API, Source.DATABASE, Source.LOG)


@dataclass(frozen=True)
class FileChange:
    """What a file held before and after a write, byte for byte; None: there was no file."""

    before: bytes | None
    after: bytes | None
    known_hashes: tuple[str | None, ...] | None = None

    @cached_property
    def hashes(self) -> tuple[str | None, ...]:
        """Of both sides; None: there was no file."""
        return self.known_hashes or tuple(
            None if data is None else hashlib.sha256(data).hexdigest() for data in (self.before, self.after)
        )


@dataclass(slots=True)
class Report:
    """One write as it came in. `row` is not stored yet; `change` is None where nobody said what the file held."""

    row: WriteGuardianAudit
    source: Source
    change: FileChange | None = None
    body_sha256: str = ""  # of all that was told under this id; empty: nobody tells it under this id again
    told_by: str = ""

    @property
    def key(self) -> str:
        """Its id, as whoever told it says."""
        return self.row.id


@dataclass(slots=True)
class StoreResult:
    """What became of writes that were told: ids of new rows, of rows that were there, and what was withheld."""

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)  # of `known`, those that another source had told of
    withheld: int = 0
    unattributed: int = 0  # changes that nobody told of, which these writes brought to light
    ids: dict[str, str] = field(default_factory=dict)  # the row's id, by the id that it was told under


def build_change_columns(change: Change | None) -> dict[str, str | int | None]:
    """What a write keeps of a change; nothing where it is not known."""
    return {
        "diff": change.diff if change else None,
        "hunks_json": encode(change.hunks) if change else None,
        "lines_added": change.added if change else None,
        "lines_removed": change.removed if change else None,
        "lines_modified": change.modified if change else None,
    }
