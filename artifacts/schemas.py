"""Schemas of artifacts in the API.

Receipts have the names of the spec; rows of lists have our own.
"""

import base64 as codec
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from .artifact_list import ArtifactFilters
from .excerpts.line_search import MAX_CONTEXT
from .excerpts.patterns import MAX_PATTERN
from .excerpts.selectors import MAX_OFFSET, MAX_REASON, MOST_CHARS, MOST_PEEK_CHARS, PEEK_CHARS, USUAL_CHARS, Selector
from .models import Artifact
from .services import MAX_KIND, OUTPUT_KIND, Place

BIGGEST = 2**53
MADE_HERE = frozenset({"checkpoint"})  # kinds that are made from records: nobody can pass anything off as one
Name = Annotated[str, Field(max_length=500)]


class ArtifactQuery(list_query(ArtifactFilters)):
    handle: str | None = Field(None, max_length=100, description="only this artifact")


class ArtifactOut(table_schema(Artifact)):
    secret_kinds: list[str]
    is_flagged: bool = Field(description="the full content is for admins only")
    uses: int = Field(description="how many times the agent used this content; 1001: more than 1,000 times")


class PeekQuery(Schema):
    preview_chars: int = Field(PEEK_CHARS, ge=1, le=MOST_PEEK_CHARS)


class FetchQuery(Schema):
    mode: Literal["headtail", "head", "tail", "range", "grep", "jsonpath"] = "headtail"
    max_chars: int = Field(USUAL_CHARS, ge=1, le=MOST_CHARS, description=f"more than {USUAL_CHARS:,} need a `reason`")
    reason: str = Field("", max_length=MAX_REASON, description="written to the audit log")
    offset: int = Field(0, ge=0, le=MAX_OFFSET, description="the character to start at")
    lines: str = Field("", max_length=40, description="range: `10:20`, `10:`, `:20` or `7`")
    pattern: str = Field("", max_length=MAX_PATTERN, description="grep: a regular expression in RE2 syntax")
    ignore_case: bool = False
    context: int = Field(0, ge=0, le=MAX_CONTEXT, description="grep: lines around each match")
    path: str = Field("", max_length=1_000, description="jsonpath: a path as in RFC 9535")

    def selector(self) -> Selector:
        """The selector that these fields make."""
        return Selector(**self.dict())


class StashIn(Body):
    """A text, or bytes as base64, and where it was used.

    The whole body has at most 5 MB.
    """

    text: str | None = None
    base64: str | None = Field(None, description="instead of `text`, for binary content")
    kind: str = Field(OUTPUT_KIND, min_length=1, max_length=MAX_KIND)
    meta: dict[str, Any] = Field({}, description="metadata to store; never content")
    gzip: bool | None = Field(
        None, description="store compressed; otherwise only outputs stored by the rule are compressed"
    )
    auto: bool = Field(False, description="store only if the adoption rule applies")
    injected: bool = Field(False, description="with `auto`: the text was put into the prompt and is never stored")
    exit_code: int | None = Field(None, ge=-(2**31), lt=2**31)
    session_id: Name | None = None
    turn_id: Name | None = None
    record_id: Name | None = None
    tool: Name | None = None
    tool_call_id: Name | None = None

    @model_validator(mode="after")
    def one_content(self):
        if (self.text is None) == (self.base64 is None):
            raise ValueError(_("give either text or base64"))
        return self

    @model_validator(mode="after")
    def free_kind(self):
        if self.kind in MADE_HERE:
            raise ValueError(_("artifacts of this kind are created from records and cannot be stored"))
        return self

    @model_validator(mode="after")
    def real_base64(self):
        codec.b64decode(self.base64 or "", validate=True)
        return self

    @property
    def content(self) -> bytes:
        """The content to stash."""
        return self.text.encode() if self.text is not None else codec.b64decode(self.base64 or "")

    @property
    def place(self) -> Place:
        """The place where it was used."""
        return Place(*(getattr(self, name) for name in Place.__dataclass_fields__))


class Receipt(Schema):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class ContentReceipt(Receipt, table_schema(Artifact, "bytes", "lines", "chars", "content_type", "summary")):
    """The facts about a content."""


class StoredReceipt(ContentReceipt, table_schema(Artifact, "handle", "kind", "stored_bytes")):
    """The facts about a content that is in the store."""

    sha256: str
    created_at: str
    compression: str
    meta: dict[str, Any]
    secret_kinds: list[str]


class StashReceipt(StoredReceipt):
    schema_name: Literal["openclaw-mem.artifact.stash.v1"] = Field(alias="schema")
    stashed: Literal[True]
    is_new: bool = Field(description="whether the content is new in the store")
    preview: str = Field(description="both ends, at most 500 characters")


class NotStashed(ContentReceipt):
    stashed: Literal[False]


class PeekReceipt(StoredReceipt):
    schema_name: Literal["openclaw-mem.artifact.peek.v1"] = Field(alias="schema")
    preview: str
    preview_chars: int
    verified: str = Field(description="`sha256`: everything was read; `size`: only the ends")


class FetchReceipt(Receipt):
    schema_name: Literal["openclaw-mem.artifact.fetch.v1"] = Field(alias="schema")
    handle: str
    selector: dict[str, Any]
    text: str
    content_type: str
    bytes: int
    lines: int
    left_out: dict[str, Any] = Field(description="`before`, `between`, `after`: characters and line breaks not shown")
    next: dict[str, Any] | None = Field(description="the selector of the next part; null at the end")
    verified: str
    matches: int | None = Field(None, description="number of matches, for grep and jsonpath")
    long_lines_cut: int | None = None
    binary: bool | None = None
    bytes_left_out: int | None = None


class RemoveReceipt(Receipt):
    schema_name: Literal["openclaw-mem.artifact.rm.v1"] = Field(alias="schema")
    handle: str
    references: int


class VerifyReceipt(Receipt):
    schema_name: Literal["openclaw-mem.artifact.verify.v1"] = Field(alias="schema")
    sound: int
    bytes: int
    problems: list[dict[str, str]]
