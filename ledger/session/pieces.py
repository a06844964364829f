"""The texts of one record in pieces that fit on a page, however long they are."""

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
CALLS = 5  # calls with their arguments on the record's page; the others have links


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a text: `text` at `offset` in a whole of `length` characters.

    `call` is the place of a call in its record.
    """

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
        """The offset of the piece before, None for the first."""
        return max(0, self.offset - SIZE) if self.offset else None

    @property
    def next(self):
        """The offset of the piece after, None for the last."""
        return self.last if self.last < self.length else None


def build_record_context(agent_id: str, event: TranscriptEvent, *, field="", call=0, offset=0) -> dict[str, Any]:
    """The template context of a record.

    `record_facts` are its facts, `pieces` those of all its texts, `piece` the requested one, `repeated` how many
    characters were left out because its own text holds them, `outputs` those that are artifacts, `problem` why one of
    those cannot be read (its preview stays in its place), or empty.
    """
    packed = (event.event_json, event.full_zstd, event.trim_json)
    record, problem = outputs.read_whole_record(*packed) if event.record else ({}, "")
    record_facts = read_facts(record)
    whole_record = WholeRecord(event.seq, record, record_facts)
    piece = whole_record.piece(field or "raw", call, offset)
    pieces = [piece if each.html_id == piece.html_id else each for each in whole_record.first_pieces()]
    if piece not in pieces:
        pieces.insert(-1, piece)
    repeated = trimming.parse_repeated_length(event.trim_json)
    stashed = outputs.read_event_outputs(agent_id, event)
    notes = {"problem": problem, "outputs": stashed}
    return {"record_facts": record_facts, "pieces": pieces, "piece": piece, "repeated": repeated} | notes


@dataclass(frozen=True, slots=True)
class WholeRecord:
    """A record that is cut into pieces."""

    seq: int
    record: dict[str, Any]
    facts: Facts

    def piece(self, field: str, call: int, offset: int = 0) -> Piece:
        """One piece. Raises Http404 for a call or a place that the record does not have."""
        text, name = self._text(field, call)
        if offset and offset >= len(text):
            raise Http404
        html_id = f"p-{self.seq}-{field}-{call}"
        return Piece(html_id, field, call, name, text[offset : offset + SIZE], offset, len(text))

    def first_pieces(self):
        """The first piece of every text of the record, the record itself last."""
        yield from (self.piece(name, 0) for name in WORDS if getattr(self.facts, name))
        yield from (self.piece("arguments", number) for number in range(len(self.facts.calls[:CALLS])))
        yield self.piece("raw", 0)

    def _text(self, field, call):
        if field in WORDS:
            return getattr(self.facts, field), ""
        if field == "raw":
            return format_json(self.record), ""
        if call >= len(self.facts.calls):
            raise Http404
        return format_json(self.facts.calls[call].arguments), self.facts.calls[call].name
