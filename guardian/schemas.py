"""What the API says about the files of a workspace, their versions and what changed between two."""

from typing import Literal

from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import PageQuery


class FileOut(Schema):
    name: str = Field(description="relative to the workspace")
    is_memory: bool = Field(description="one of the five files that memory writes go to")
    version_count: int
    changed_at: int | None
    size_bytes: int | None
    in_prompt: Literal["read", "cut", "missing", ""] = Field(
        description="what the last session that says so did with it; empty when none does"
    )


class VersionQuery(PageQuery):
    name: str = Field(max_length=1_000, description="the file, relative to the workspace")


class VersionOut(Schema):
    id: str
    file_name: str
    created_at: int = Field(description="when the file was modified")
    size_bytes: int
    content_hash: str = Field(description="sha256 of its bytes")
    is_lossy: bool = Field(description="its bytes were not all UTF-8 text and were replaced in the content")


class VersionDetail(VersionOut):
    content: str


class OneVersion(Schema):
    id: str = Field(max_length=1_000)


class DiffQuery(Schema):
    from_id: str | None = Field(
        None, alias="from", max_length=1_000, description="the id of a version; the one before `to` unless told"
    )
    to: str = Field(max_length=1_000, description="the id of a version")


class DiffLine(Schema):
    kind: Literal["same", "removed", "added"]
    old: int | None = Field(description="its number in the old text")
    new: int | None = Field(description="its number in the new text")
    text: str = Field(description="with its ending")
    changed: list[tuple[int, int]] = Field(description="which characters changed, as [first, end]; empty: all or none")


class Hunk(Schema):
    lines: list[DiffLine]


class DiffOut(Schema):
    old: VersionOut | None = Field(description="null: there was no such file")
    new: VersionOut
    added: int = Field(description="lines")
    removed: int = Field(description="lines")
    is_coarse: bool = Field(description="too big, or too different, to compare word by word")
    left: int = Field(
        description="changed lines that are in neither `unified` nor `hunks`: the answer was getting long"
    )
    unified: str
    hunks: list[Hunk]
