"""The texts of one record in pieces that a page can hold, however long they are."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404

from ..collectors.records import Facts, read_facts
from ..models import TranscriptEvent
from ..outputs import stashed_outputs as outputs
from ..transcripts import trimming
from .timeline import format_json

SIZE = 16_000  # characters
WORDS = ("text", "model_prompt", "thinking")
FIELDS = (*WORDS, "arguments", "raw")
CALLS = 5  # whose arguments stand on the record's page; the others have links


@dataclass(frozen=True, slots=True)
class Piece:
    """`text` is what stands at `offset` in a whole of `length` characters; `call` is a call's place in its record."""

    html_id: str
    field: str
    call: int
    name: str  # of the tool, when it is the arguments of a call
    text: str
    offset: int
    length: int

    @property
    def first(self):
        """The number of its first character, counted from 1."""
        return self.offset + 1

    @property
    def last(self):
        """The number of its last character."""
        return self.offset + len(self.text)

    @property
    def previous(self):
        """Where the piece before begins, None for the first."""
        return max(0, self.offset - SIZE) if self.offset else None

    @property
    def next(self):
        """Where the piece after begins, None for the last."""
        return self.last if self.last < self.length else None


def build_record_context(agent_id: str, event: TranscriptEvent, *, field="", call=0, offset=0) -> dict[str, Any]:
    """What a page says of a record: `said` (its facts), `pieces` of all its texts, `piece` the one asked for,
    `repeated` how many characters were left out because its own text holds them, `outputs` that are artifacts,
    `problem` why one of those cannot be read (its preview stands for it) or nothing.
    """
    packed = (event.event_json, event.full_zstd, event.trim_json)
    record, problem = outputs.read_whole_record(*packed) if event.record else ({}, "")
    said = read_facts(record)
    whole = WholeRecord(event.seq, record, said)
    asked = whole.piece(field or "raw", call, offset)
    found = [asked if each.html_id == asked.html_id else each for each in whole.first_pieces()]
    if asked not in found:
        found.insert(-1, asked)
    repeated = trimming.parse_repeated_length(event.trim_json)
    stashed = outputs.read_event_outputs(agent_id, event)
    told = {"problem": problem, "outputs": stashed}
    return {"said": said, "pieces": found, "piece": asked, "repeated": repeated} | told


@dataclass(frozen=True, slots=True)
class WholeRecord:
    """A record to cut pieces from."""

    seq: int
    record: dict[str, Any]
    said: Facts

    def piece(self, field: str, call: int, offset: int = 0) -> Piece:
        """One piece; Http404 for a call or a place that the record does not have."""
        text, name = self._text(field, call)
        if offset and offset >= len(text):
            raise Http404
        html_id = f"p-{self.seq}-{field}-{call}"
        return Piece(html_id, field, call, name, text[offset : offset + SIZE], offset, len(text))

    def first_pieces(self):
        """The first piece of everything the record says, the record itself last."""
        yield from (self.piece(name, 0) for name in WORDS if getattr(self.said, name))
        yield from (self.piece("arguments", number) for number in range(len(self.said.calls[:CALLS])))
        yield self.piece("raw", 0)

    def _text(self, field, call):
        if field in WORDS:
            return getattr(self.said, field), ""
        if field == "raw":
            return format_json(self.record), ""
        if call >= len(self.said.calls):
            raise Http404
        return format_json(self.said.calls[call].arguments), self.said.calls[call].name
