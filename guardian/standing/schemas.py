"""Schema of the standing of a memory file in the API."""

from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Schema

from .file_standing import State
from .words import standing_sentence

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
