"""Imports judged sets: each turn of a row becomes a sample with its messages, its calls and the verdict it came with.

Such samples belong to the agent `set:NAME`, of which nothing else is stored. Their ids follow from their words, so that
a second import of the same rows changes nothing. A verdict that came with a row is the set's: it is no row of
`sample_labels`, and so is in no agreement, audit or quality report.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, BinaryIO

import orjson
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.batches import in_batches
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.json_columns import encode
from people.audit import log as audit
from people.models.bookkeeping import KeyValue

from ..dedup import signatures
from ..exchange_store import LARGEST, RULE
from ..finding_values import sample_privacy
from ..kinds import sample_store
from ..models import BY_SET, SET_PREFIX, SETS_SCOPE, DatasetSample, SampleExchange
from ..sample_texts import TOOLS
from .rows import AGENT, FORMATS, TOOL, USER, Conversation, WrongRow

TYPE = DatasetSample.Type.ANNOTATED_TURN
STRATEGY = "import"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
LONGEST_LINE, LONGEST_ARRAY, LONGEST_FILE = 8_000_000, 64_000_000, 2_000_000_000  # bytes
MOST_NAMED, WINDOW = 20, 10
BATCH = 20  # samples in memory, none of them longer than a line
KINDS = {USER: "user", AGENT: "assistant", TOOL: "tool_result"}


@dataclass(slots=True)
class Receipt:
    """The counts of an import, and the hash of its file."""

    name: str
    rows: int = 0
    new: int = 0
    known: int = 0
    judged: int = 0
    systems: int = 0
    sha256: str = ""

    @property
    def sentence(self) -> str:
        """The receipt in words."""
        parts = [
            format_plural("%(count)s sample created", "%(count)s samples created", self.new),
            format_plural("%(count)s known already", "%(count)s known already", self.known),
            format_plural("%(count)s with a verdict", "%(count)s with a verdict", self.judged),
        ]
        rows = format_plural("%(count)s row", "%(count)s rows", self.rows)
        sentence = _("%(rows)s: %(parts)s.") % {"rows": rows, "parts": ", ".join(parts)}
        if self.systems:
            words = _("Not stored: messages of the system (%(count)s).") % {"count": f"{self.systems:,}"}
            sentence = f"{sentence} {words}"
        return sentence


def import_set(file: BinaryIO, *, name: str, row_format: str, by: str) -> Receipt:
    """Create the samples of a file: JSON lines, a JSON array, or Parquet.

    Every row is read before anything is stored. Raises Refused with the first wrong rows, for a name that is not
    usable, and for a file that cannot be read.
    """
    if not NAME.fullmatch(name):
        raise Refused(_("A name has up to 40 lower-case letters, digits and hyphens."))
    receipt, wrong, digest = Receipt(name), [], hashlib.sha256()
    for number, row in _read_rows(file, digest):
        try:
            _parse(row, row_format)
            receipt.rows += 1
        except WrongRow as problem:
            wrong.append(_("Row %(number)s: %(problem)s") % {"number": f"{number:,}", "problem": problem.args[0]})
            if len(wrong) >= MOST_NAMED:
                break
    if wrong or not receipt.rows:
        sentence = _("Nothing was imported.") if wrong else _("The file has no rows. Nothing was imported.")
        raise Refused(" ".join([sentence, *wrong]))
    receipt.sha256, now = digest.hexdigest(), clock.now_ms()
    about = {"format": row_format, "sha256": receipt.sha256, "rows": receipt.rows}
    KeyValue.objects.put(SETS_SCOPE, f"{SET_PREFIX}{name}", about)
    rows = (_parse(row, row_format) for _number, row in _read_rows(file, hashlib.sha256()))
    for batch in in_batches((pair for row in rows for pair in _build_samples(row, receipt, now)), BATCH):
        _store(batch, receipt)
    audit.record(by, "set_imported", object_type="imported_set", object_id=name, samples=receipt.new, **about)
    return receipt


def _parse(row: Any, row_format: str) -> Conversation:
    if not isinstance(row, dict):
        raise WrongRow(_("It is no JSON object."))
    conversation = FORMATS[row_format](row)
    try:
        orjson.dumps([[[conversation.messages]]])  # a record wraps them as deeply
    except orjson.JSONEncodeError as exc:
        raise WrongRow(_("The arguments of a call are nested too deeply.")) from exc
    return conversation


def _read_rows(file: BinaryIO, digest: Any) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a file with their numbers (of JSON lines: of the line). A row that is no JSON is None."""
    file.seek(0, 2)
    if file.tell() > LONGEST_FILE:
        raise Refused(_("The file is larger than 2 GB. Import it in parts."))
    file.seek(0)
    begin = file.read(4)
    file.seek(0)
    if begin == b"PAR1":
        yield from enumerate(_read_parquet(file, digest), 1)
        return
    if begin.lstrip()[:1] == b"[":
        data = file.read(LONGEST_ARRAY + 1)
        if len(data) > LONGEST_ARRAY:
            raise Refused(_("A JSON array of more than 64 MB is not read at once. Write it as JSON lines."))
        digest.update(data)
        yield from enumerate(_parse_json(data) or [None], 1)
        return
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        digest.update(line)
        if len(line) > LONGEST_LINE:
            raise Refused(_("Line %(number)s is longer than 8 MB.") % {"number": f"{number:,}"})
        if line.strip():
            yield number, _parse_json(line)


def _parse_json(data):
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _read_parquet(file, digest):
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as exc:
        raise Refused(_("Reading Parquet needs pyarrow: install openclaw-web[parquet].")) from exc
    for part in iter(lambda: file.read(1 << 20), b""):
        digest.update(part)
    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=BATCH):
            yield from orjson.loads(orjson.dumps(batch.to_pylist(), default=str))
    except pyarrow.ArrowException as exc:
        raise Refused(_("The file is no whole Parquet file.")) from exc


def _store(pairs, receipt):
    """Store samples with their records, those that are known already left out."""
    stored = DatasetSample.objects.filter(id__in=[sample.id for sample, _records in pairs])
    known = set(stored.values_list("id", flat=True))
    new = {sample.id: (sample, records) for sample, records in pairs if sample.id not in known}
    receipt.new += len(new)
    receipt.known += len(pairs) - len(new)
    samples = [sample for sample, _records in new.values()]
    receipt.judged += sum(sample.annotated_by is not None for sample in samples)
    sample_privacy.set_columns(samples, inf)
    signed = [(vars(sample), signatures.build_from_sample(sample)) for sample in samples]
    exchanges = [SampleExchange(sample_id=name, rule=RULE, **_pack(records)) for name, (_, records) in new.items()]
    with write_queue.global_transaction():
        DatasetSample.objects.bulk_create(samples, ignore_conflicts=True)
        signatures.store_signatures(signed)
        SampleExchange.objects.bulk_create(exchanges, ignore_conflicts=True)


def _build_samples(conversation, receipt, now):
    """The sample of each turn with its records; the verdict is about the last turn, or about all of a whole chat."""
    agent_id, turns = f"{SET_PREFIX}{receipt.name}", conversation.turns
    receipt.systems += len(conversation.messages) - sum(map(len, turns))
    words = [[message.role, message.text, message.calls] for message in conversation.messages]
    session_id = hashlib.sha256(orjson.dumps([words, conversation.edited])).hexdigest()[:32]
    context: list[dict[str, str]] = []
    for number, turn in enumerate(turns, 1):
        body = {
            "type": TYPE.value, "conversationId": session_id, "turnNumber": number, "context": context[-WINDOW:],
            "userMessage": turn[0].text, "agentReply": turn[-1].text,
        }  # fmt: skip
        is_last = number == len(turns)
        is_judged = conversation.status != DatasetSample.Status.PENDING and (is_last or conversation.edited is None)
        sample = DatasetSample(
            id=sample_store.compute_sample_id(agent_id, f"{session_id}:{number}", TYPE),
            sample_type=TYPE, session_id=session_id, turn_number=number, agent_id=agent_id, content=encode(body),
            created_at=now - number, collection_strategy=STRATEGY,
            turn_traits=TOOLS if any(message.role == TOOL for message in turn) else "",
            output=conversation.edited if is_last else None,
        )  # fmt: skip
        if is_judged:
            sample.annotation_status, sample.annotated_by, sample.annotated_at = conversation.status, BY_SET, now
            sample.annotation_notes = conversation.annotator or None
        yield sample, [_build_record(place, message, now) for place, message in enumerate(turn, 1)]
        context += [{"role": "user", "message": turn[0].text}, {"role": "agent", "message": turn[-1].text}]


def _build_record(place, message, now):
    """A message as an exchange has it: a record in the shape of OpenClaw's."""
    content: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
    content += [
        {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls
    ]
    message_json: dict[str, Any] = {"role": "toolResult" if message.role == TOOL else message.role, "content": content}
    if message.role == TOOL:
        message_json |= {"toolCallId": message.call_id, "toolName": message.tool}
    elif message.role == AGENT:
        message_json["stopReason"] = "toolUse" if message.calls else "stop"
    return [place, KINDS[message.role], now, {"type": "message", "message": message_json}, [], ""]


def _pack(records):
    data = orjson.dumps(records)
    if len(data) > LARGEST:
        records, data = [], b"[]"
    return {"record_count": len(records), "records": packing.pack(data)}
