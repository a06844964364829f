"""Schemas of workspace files, their versions, and the difference between two versions."""

from base64 import b64encode
from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from .models import FileSnapshot
from .standing.file_standing import State
from .standing.words import standing_sentence

STATE = Literal[tuple(State.values)]  # type: ignore[valid-type]


class StandingOut(Schema):
    """Whether OpenClaw puts a memory file into prompts.

    It follows from its record of the file and its newest report.
    """

    state: STATE  # type: ignore[valid-type]
    sentence: str = Field(description="the same in words, in the language of the request")
    raw_chars: int | None = Field(description="characters of the file, as OpenClaw counts them")
    injected_chars: int | None = Field(description="of them in the prompt; null: no report lists the file")
    lost_chars: int = Field(description="of them not in the prompt")
    since: int | None = Field(description="when OpenClaw saw the write that its record names")
    session_id: str = Field(description="of that write; empty: OpenClaw has no record")
    session_key: str
    record_hash: str = Field(description="sha256 that the record has of the file; empty: none")
    record_class: str = Field(description="agent, untrusted, or a word that is not known; empty: no record")
    is_equal: bool | None = Field(description="whether the file still has this hash; null: no record")
    will_be_left_out: bool = Field(description="the agent's next write takes the file out of the prompt")
    reported_at: int | None = Field(description="when the newest ordinary prompt was made; null: no report")
    report_session_id: str

    @staticmethod
    def resolve_sentence(standing):
        return standing_sentence(standing)

    @staticmethod
    def resolve_record_class(standing):
        return standing.record.origin_class if standing.record else ""


class FileOut(Schema):
    name: str = Field(description="relative to the workspace")
    is_memory: bool = Field(description="one of the five memory files")
    version_count: int
    changed_at: int | None
    size_bytes: int | None
    in_prompt: Literal["read", "cut", "missing", ""] = Field(
        description="what the last session that mentions the file did with it; empty if none does"
    )
    standing: StandingOut | None = Field(None, description="with OpenClaw, of the memory files; null: of others")


class VersionQuery(PageQuery):
    name: str = Field(max_length=1_000, description="path of the file, relative to the workspace")


class VersionOut(table_schema(FileSnapshot)):
    pass


class VersionDetail(VersionOut):
    content: str
    content_base64: str | None = Field(description="all bytes of a lossy content; null: `content` has them, or nobody")

    @staticmethod
    def resolve_content_base64(version):
        return None if version.raw is None else b64encode(version.raw).decode()


class OneVersion(Schema):
    id: str = Field(max_length=1_000)


class DiffQuery(Schema):
    from_id: str | None = Field(
        None, alias="from", max_length=1_000, description="id of a version; default: the version before `to`"
    )
    to: str = Field(max_length=1_000, description="id of a version")


class DiffLine(Schema):
    kind: Literal["same", "removed", "added"]
    old: int | None = Field(description="line number in the old text")
    new: int | None = Field(description="line number in the new text")
    text: str = Field(description="including its line ending")
    changed: list[tuple[int, int]] = Field(description="which characters changed, as [first, end]; empty: all or none")


class Hunk(Schema):
    lines: list[DiffLine]


class DiffOut(Schema):
    old: VersionOut | None = Field(description="null: the file did not exist")
    new: VersionOut
    added: int = Field(description="lines")
    removed: int = Field(description="lines")
    is_coarse: bool = Field(description="too large or too different to compare word by word")
    left: int = Field(
        description="changed lines in neither `unified` nor `hunks`, because the answer would be too long"
    )
    unified: str
    hunks: list[Hunk]


class WriteOut(Schema):
    session_id: str
    session_title: str
    turn_number: int | None
    record_id: str = Field(description="of the record with the call; empty when it has no id")
    tool: str
    created_at: int
    is_failed: bool
    version_id: str | None = Field(description="the version that the call led to; null: none is known")
    version_at: int | None
    is_certain: bool = Field(description="the text of the call is in this version; else only the times are near")
