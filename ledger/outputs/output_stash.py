"""Stores big outputs of tools as artifacts while their records are stored.

The record keeps a handle, a preview and a line.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.db.models import Q

from artifacts import services
from artifacts.contents import adoption
from artifacts.errors import DamagedArtifact, NoRoom, NoSuchArtifact
from artifacts.models import Artifact
from artifacts.services import Place, StashBatch
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..collectors.jsonl import Line, parse_line
from ..collectors.records import KINDS_BY_ROLE, MAX_NAME
from ..models import TranscriptEvent
from ..transcripts.rows import Row
from ..transcripts.trimming import Keep, StashedOutput, find_texts, untrim

SETTING = "collector.stashOutputs"
# Lines worth parsing ahead are long, have many line breaks in them, or a text like JSON or a page.
HEAD = 1_000  # bytes of a line in which its role is looked for
AHEAD_CHARS = 16_000_000  # of outputs that are written ahead in one block; it holds them in memory
ROLES = (b'"toolResult"', b'"tool"')
BREAK = rb"\n"  # as JSON has it
READ = ("session_id", "seq", "event_json", "full_zstd")
OPENS = re.compile(rb'"text": ?"(?:[\[{<%]|\\n)')
UNWRITABLE = (NoRoom, DamagedArtifact)  # raised by a store that cannot be written
UNREADABLE = (NoSuchArtifact, DamagedArtifact)  # raised by a store for an output that it cannot read


@dataclass(slots=True)
class Outputs:
    """The big outputs of one agent's records on their way into the store.

    `open_outputs` makes it. Without a `batch` no output becomes an artifact; `problem` is the sentence that says why,
    when the store failed.
    """

    batch: StashBatch | None = None
    problem: str = ""
    _pending: list[tuple[Row, Artifact]] = field(default_factory=list)
    _ahead: int = 0

    def build_keeper(self, session_id: str, row: Row) -> Keep | None:
        """A function that `trimming.trim` calls for each text of this record.

        None for a record that keeps its texts.
        """
        batch = self.batch
        if batch is None or row.facts.kind != "tool_result":
            return None

        def keep(path: str, text: str) -> tuple[str, StashedOutput] | None:
            if not adoption.is_adoptable(text):
                return None
            artifact = add(batch, session_id, row, text)
            self._pending.append((row, artifact))
            return artifact.preview, note(path, artifact)

        return keep

    def write_ahead(self, lines: Iterable[bytes]) -> None:
        """Write the outputs among raw lines that are about to be stored, many at a time.

        In this way many become durable together. Those of lines that are not stored after all are left to `gc`.
        """
        try:
            for raw in lines:
                if _may_hold_output(raw):
                    self._write_ahead(raw)
                if self.batch is None or self._ahead > AHEAD_CHARS:
                    return
        except UNWRITABLE as exc:
            self.give_up(exc.sentence)

    def set_turns(self, session_id: str, users: dict[int, str]) -> None:
        """Set the turns of the artifacts of new records; `users` has each turn's user message."""
        for row, artifact in self._pending:
            if row.turn_number in users:
                artifact.turn_id = f"{session_id}:{users[row.turn_number]}"

    def save(self) -> None:
        """Write the rows of the stashed outputs, in the caller's transaction.

        Raises NoRoom or DamagedArtifact.
        """
        if self.batch and self._pending:
            self.batch.save()
        self._pending.clear()

    def discard(self) -> None:
        """Forget the outputs without a row, because their transaction failed."""
        self._pending.clear()
        if self.batch:
            self.batch.discard()

    def give_up(self, sentence: str) -> None:
        """Leave outputs in their records from here on, because of `sentence`."""
        self.discard()
        self.batch, self.problem = None, sentence

    def _write_ahead(self, raw):
        record = parse_line(Line(0, len(raw), raw.strip())).record
        message = record.get("message") if record else None
        role = message.get("role") if isinstance(message, dict) else None
        if self.batch is None or not isinstance(role, str) or KINDS_BY_ROLE.get(role) != "tool_result":
            return
        for _path, text in find_texts(message):
            if adoption.is_adoptable(text):
                self.batch.write_ahead(text)
                self._ahead += len(text)


@contextmanager
def open_outputs(db: str, *, is_on: bool | None = None, root: Path | None = None) -> Iterator[Outputs]:
    """Open the store for the outputs of records that are stored in the block.

    `db` is the agent's file. `is_on` (default: the setting) says whether outputs become artifacts. Their contents go to
    `root`, or to the store of this home. A store that cannot be written is no error: the records keep their outputs,
    and `problem` says why.
    """
    stash = Outputs()
    with ExitStack() as stack:
        if configuration.is_on(SETTING) if is_on is None else is_on:
            try:
                stash.batch = stack.enter_context(services.open_stash_batch(db, holds_rows=True, root=root))
            except NoRoom as exc:
                stash.problem = exc.sentence
        stack.callback(stash.discard)
        yield stash


def has_due_output(db: str, session_id: str) -> bool:
    """Whether a session holds an output that should be an artifact and is none.

    A damaged record counts as holding none.
    """
    results = TranscriptEvent.objects.using(db).filter(session_id=session_id, kind=TranscriptEvent.Kind.TOOL_RESULT)
    results = results.filter(Q(trim_json=None) | ~Q(trim_json__contains='"stashed"')).only(*READ)
    return any(adoption.is_adoptable(text) for event in results.iterator(chunk_size=20) for text in _read_texts(event))


def add(batch: StashBatch, session_id: str, row: Row, text: str) -> Artifact:
    """Stash one output of a record, and return its row, which is not stored yet.

    The turn of an output may change, so it is no part of the row's id.
    """
    record_facts = row.facts
    call_id = (record_facts.tool_call_id or "")[:MAX_NAME].replace("\x00", "\ufffd") or None
    place = Place(session_id, None, row.record_id, record_facts.tool_name, call_id)
    return batch.add(text, place=place, exit_code=_get_exit_code(record_facts.details), at=row.created_at)[0]


def note(path: str, artifact: Artifact) -> StashedOutput:
    """The note of a record about an output that is an artifact."""
    secrets = artifact.secrets
    sizes = {"chars": artifact.chars, "bytes": artifact.bytes, "lines": artifact.lines}
    return StashedOutput(path, artifact.handle, **sizes, summary=artifact.summary, secrets=secrets)


def _read_texts(event):
    try:
        message = untrim(event.event_json, event.full_zstd).get("message")
    except (ValueError, Refused):
        return []
    return [text for _path, text in find_texts(message)] if isinstance(message, dict) else []


def _may_hold_output(raw):
    """Whether a raw line is worth parsing; missed outputs are written with their record."""
    head = raw[:HEAD]
    if len(raw) <= adoption.JSON_CHARS or not any(role in head for role in ROLES):
        return False
    return len(raw) > adoption.CHARS or raw.count(BREAK) > adoption.LINES or bool(OPENS.search(raw))


def _get_exit_code(details):
    code = details.get("exitCode")
    return code if type(code) is int and abs(code) < 2**31 else None
