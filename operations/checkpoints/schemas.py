"""API schemas of checkpoint packs."""

from pydantic import Field

from ledger.checkpoints.bundle import LEAST_CHARS, MOST_CHARS, USUAL_CHARS
from ledger.checkpoints.pack import Pack
from openclaw_web.endpoints.schemas import Body, Schema


class CheckpointIn(Body):
    compaction: str = Field("latest", min_length=1, max_length=300, description="`latest`, or the id of the record")
    budget_chars: int = Field(
        USUAL_CHARS, ge=LEAST_CHARS, le=MOST_CHARS, description="characters of the text for a prompt"
    )


class CheckpointOut(Schema):
    handle: str
    sha256: str
    session_id: str | None
    compaction_id: str | None
    compacted_at: int
    bytes: int
    fetch: str = Field(description="the command that reads the checkpoint")


class CheckpointMade(CheckpointOut):
    is_new: bool = Field(description="false if the same checkpoint already exists")


class CheckpointDetail(CheckpointOut):
    pack: Pack
