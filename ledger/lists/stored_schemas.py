"""The memory index and the files in an agent's own database in the JSON API."""

from pydantic import Field

from openclaw_web.endpoints.schemas import Schema


class IndexedFileOut(Schema):
    database: str = Field(description="relative to the OpenClaw folder")
    source: str
    path: str
    size_bytes: int | None
    modified_at: int | None
    chunk_count: int


class VfsEntryOut(Schema):
    namespace: str
    path: str
    kind: str
    bytes: int | None
    handle: str | None = Field(description="null: a folder, or the content was not stored")
    updated_at: int | None
