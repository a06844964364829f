"""What is told of one write to a memory file, whoever tells it."""

from dataclasses import dataclass, field

from ..models import WriteGuardianAudit

Status, Origin, Source = WriteGuardianAudit.Status, WriteGuardianAudit.Origin, WriteGuardianAudit.Source


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file held before and after a write, byte for byte; None: there was no file."""

    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class Told:
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
class Stored:
    """What became of writes that were told: ids of new rows and of rows that were there; `withheld` were not stored."""

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    withheld: int = 0
