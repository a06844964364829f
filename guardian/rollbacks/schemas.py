"""What goes into the API of rollbacks and comes out of it."""

import base64

from django.utils.translation import gettext as _
from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import BIGGEST, Body
from openclaw_web.errors import Refused

from .performing import LONGEST_REASON, Wish
from .workspace import MOST_BYTES

MOMENT = {"ge": 0, "le": BIGGEST}
HASH = r"^([0-9a-f]{64})?$"


class RollbackQuery(Schema):
    hunk: int | None = Field(None, ge=0, le=BIGGEST, description="only this change of the write, counted from 0")


class SessionRollbackQuery(Schema):
    since: int | None = Field(None, **MOMENT, description="milliseconds: writes at or after this time")
    until: int | None = Field(None, **MOMENT, description="milliseconds: writes before this time")


class _Asked(Body):
    reason: str = Field(min_length=1, max_length=LONGEST_REASON, pattern=r"^[^\x00]*$")
    no_backup: bool = Field(False, strict=True, description="keep no copy of the file; versions are always kept")

    def wish(self, by: str) -> Wish:
        """As a rollback is asked for."""
        return Wish(by, self.reason, keeps_copy=not self.no_backup)


class RollbackIn(_Asked):
    seen: str = Field(pattern=HASH, description="`seen` of the preview")
    hunk: int | None = Field(None, strict=True, ge=0, le=BIGGEST, description="only this change, counted from 0")
    content_base64: str | None = Field(
        None, max_length=MOST_BYTES * 4 // 3 + 4, description="what the file should hold where there are conflicts"
    )

    @property
    def chosen(self) -> bytes | None:
        """The content that a person chose. Raises Refused when it is none, or too long."""
        if self.content_base64 is None:
            return None
        try:
            data = base64.b64decode(self.content_base64, validate=True)
        except ValueError as exc:  # binascii.Error is one, and so is what is no ASCII
            raise Refused(_("content_base64 is not base64.")) from exc
        if len(data) > MOST_BYTES:
            raise Refused(_("A memory file has at most 5 MB."))
        return data


class SessionRollbackIn(_Asked):
    seen: dict[str, str] = Field(description="`hashes` of the preview", max_length=5)
    since: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: writes at or after this time")
    until: int | None = Field(None, strict=True, **MOMENT, description="milliseconds: writes before this time")


class ConflictOut(Schema):
    hunk: int = Field(description="the change of the write, counted from 0")
    before: list[str] = Field(description="lines before the write")
    after: list[str] = Field(description="lines after it")
    current: list[str] = Field(description="lines now")


class RollbackPlanOut(Schema):
    audit_id: str
    file: str
    now_hash: str = Field(description="sha256 of what the file holds; empty: there is no file")
    seen: str = Field(description="for the rollback: what tells this preview from one of another change")
    has_changed: bool = Field(description="whether somebody changed the file since the write")
    way: str = Field(description="exact: the version before it comes back; merged: only its lines are taken out")
    hunk: int | None
    conflicts: list[ConflictOut]
    patch: str = Field(description="unified diff of what would change; empty when nothing would, or it is too long")
    problem: str = Field(description="why this site does not write it; empty: it does")


class SessionRollbackPlanOut(Schema):
    session_id: str
    hashes: dict[str, str] = Field(description="for each file, what tells this preview from one of another change")
    audit_ids: list[str] = Field(description="writes in the order in which they are rolled back")
    conflicts: list[str] = Field(description="those that need a person")
    patch: str
    problem: str


class RolledBackOut(Schema):
    audit_id: str
    rollbackId: str = Field(description="id of the rollback; of a single change none is kept under it")
    success: bool
    restoredTo: int | None = Field(description="when the version was made that is back, in milliseconds")
    own_audit_id: str | None = Field(description="the rollback as a write: rolled back, it is done again")
    meanwhile: list[str] = Field(description="versions that somebody wrote while the file was exchanged")


class SessionRolledBackOut(Schema):
    rollbacks: list[RolledBackOut]
