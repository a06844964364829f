"""Schemas of the writes that a running plugin reports."""

import binascii
from base64 import b64decode
from typing import Literal

from pydantic import Field, model_validator

from gate.schemas import CALL, Id, Moment, Name, ReportBody, Text, with_reported_columns
from openclaw_web.endpoints.schemas import Body

from ..files import MEMORY_FILES, MOST_BYTES
from ..models import WriteGuardianAudit
from .reports import ENCODED, SIDES, FileChange, Status

MAX_WRITES = 100  # writes in one request
# Words in the place of an id in addresses: other pages, and what a browser resolves.
NOT_IDS = frozenset(
    (
        ".",
        "..",
        "blame",
        "chart",
        "correct",
        "cure",
        "handovers",
        "history",
        "left",
        "of",
        "opted-out",
        "own",
        "reach",
        "regressions",
        "rollback",
        "rules",
        "session",
    )
)


@with_reported_columns(WriteGuardianAudit, "session_key")
class WriteIn(ReportBody):
    """One write. Names as in the spec's table, or as in its interface (`sessionId`, `llmCall`, `fileChange`)."""

    nested = (CALL, "fileChange")

    id: Id = Field(description="sent again with the same content, it is the same write")
    decision_id: Name | None = Field(None, description="leave out to have the decision found by its fact")
    turn_id: Name | None = Field(None, description="leave out to have the turn found by decision, session and time")
    session_id: Name = Field(description="id or key of the session")
    target_file: Literal[MEMORY_FILES]  # type: ignore[valid-type]
    candidate_fact: Text
    status: Literal["written", "refused", "failed", "skipped"]
    reason: Text | None = Field(None, description="why it was refused, or failed")
    created_at: Moment
    before: str | None = Field(None, description="the file before the write; null: there was none. At most 5 MB")
    after: str | None = Field(
        None, description="the file after the write; needed with `before` unless nothing was written (refused, ...)"
    )
    before_base64: str | None = Field(None, description="instead of `before`, for a file that is not UTF-8")
    after_base64: str | None = Field(None, description="instead of `after`")

    @model_validator(mode="after")
    def is_one(self) -> "WriteIn":
        """Check that a write has a fact, a possible id, and both sides or none."""
        if self.id in NOT_IDS:
            raise ValueError(f"{self.id} cannot be the id of a write")
        if not self.candidate_fact.strip():
            raise ValueError("candidate_fact is required")
        reported_sides = [side for side in SIDES if {side, ENCODED[side]} & self.model_fields_set]
        if self.status != Status.WRITTEN and "after" in reported_sides:
            raise ValueError(f"a write that was {self.status} has no after: send before alone")
        if self.status == Status.WRITTEN and len(reported_sides) == 1:
            raise ValueError("before and after belong together: null is for a file that was not there")
        if reported_sides:
            self._check_sides()
        return self

    def _check_sides(self):
        for side in SIDES:
            if getattr(self, side) is not None and getattr(self, ENCODED[side]) is not None:
                raise ValueError(f"send {side} or {ENCODED[side]}, not both")
            data = self._read_bytes(side)
            if data is not None and len(data) > MOST_BYTES:
                raise ValueError(f"{side} is too large: a file can have at most 5 MB")
        if self.status == Status.WRITTEN and self._read_bytes("before") is None and self._read_bytes("after") is None:
            raise ValueError("a write without a file before and after it changed nothing")

    def _read_bytes(self, side):
        text, encoded = getattr(self, side), getattr(self, ENCODED[side])
        if encoded is None:
            return None if text is None else text.encode()
        try:
            return b64decode(encoded, validate=True)
        except binascii.Error as exc:
            raise ValueError(f"{ENCODED[side]} is not base64") from exc

    @property
    def change(self) -> FileChange | None:
        """Both sides of the file; None where they were not reported.

        They are equal where the write changed no file.
        """
        if not {*SIDES, *ENCODED.values()} & self.model_fields_set:
            return None
        before = self._read_bytes("before")
        return FileChange(before, self._read_bytes("after") if self.status == Status.WRITTEN else before)


class WritesIn(Body):
    writes: list[WriteIn] = Field(min_length=1, max_length=MAX_WRITES, description="all are stored, or none")
