"""Reads the active branches of many sessions together.

Reading one session at a time spends more time on the query than on the rows.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

from agents import databases
from ledger.collectors.answers import ALONE, SENDERS, TEXTS, Conversation
from ledger.collectors.machine_prompts import prompt_kind
from ledger.collectors.records import ToolCall, get_run_id, read_facts, read_message_facts
from ledger.collectors.reply_markers import strip_markers
from ledger.models import Session as StoredSession
from ledger.models import TranscriptEvent
from ledger.outputs import stashed_outputs as outputs
from ledger.transcripts.origins import find_conversation
from ledger.transcripts.resets import list_active_resets
from openclaw_web.errors import Refused
from openclaw_web.sqlite import connection_tuning

from ..exchange_store import read_session_exchanges
from ..redaction import Place, Redactor
from ..sample_texts import INJECTED, UNKNOWN_ENVELOPE
from . import changes
from .options import Options
from .prompts import PromptReader, SessionPrompts, build_prompt_reader
from .source import PlainRows

COLUMNS = ("session_id", "seq", "turn_number", "kind", "event_json", "full_zstd", "trim_json", "created_at")
GROUP_SAMPLES, GROUP_SESSIONS = 200, 100
ROLES = {"user": "user", "assistant": "assistant", "tool_result": "tool"}  # by kind of record
Row = dict[str, Any]
Session = tuple[str, str, Iterable[Row]]  # agent, session, the rows of its samples


@dataclass(slots=True)
class Message:
    """A message as a row of training data may have it, its text whole.

    `role` is user, assistant or tool. `text_changes` are names of changes that apply to every row with the
    text.
    """

    role: str
    text: str
    turn_number: int | None
    calls: list[ToolCall]
    tool_call_id: str | None
    is_synthetic: bool
    is_failed: bool
    text_changes: changes.Changes = changes.NO_CHANGES
    is_after_reset: bool = False  # the first message of any role after the session was reset
    exclusion: str = ""  # why a user's words are not those of a person: see turn_facts.find_exclusion
    original: str | None = None  # the text before redaction, where that changed it
    stop_reason: str | None = None
    mirror: str = ""
    has_files: bool = False
    run_id: str = ""
    conversation: Conversation = ALONE
    sent_originals: dict[str, str] = field(default_factory=dict)  # words of sends before redaction, by what it made

    @property
    def kind(self) -> str:
        """The kind of its record."""
        return "tool_result" if self.role == "tool" else self.role


def read_branches(
    sessions: Iterable[Session], redactor: Redactor, prompts: PromptReader | None = None
) -> Iterator[tuple[str, str, Iterable[Row], Iterable[Message], SessionPrompts | None]]:
    """Each session with the messages of its active branch, and with its prompts.

    A session whose transcript is gone has the messages of the turns whose exchanges are stored. The messages are read
    while they are iterated, and must be read before the next session is. Texts and arguments have the markers of
    `redactor`.
    """
    last_db = ""
    for agent_id, group in _group_sessions(sessions):
        db, session_ids = _find_database(agent_id), [session_id for session_id, _ in group]
        if last_db not in ("", db):
            connection_tuning.give_memory_back(last_db)
        last_db = db
        branches = groupby(_read_records(db, session_ids), key=itemgetter(0)) if db else iter(())
        session_prompts = prompts.read_sessions(db, session_ids) if prompts else {}
        resets = list_active_resets(db, session_ids) if db else {}
        known = StoredSession.objects.using(db).in_bulk(session_ids) if db else {}
        ahead = next(branches, None)
        for session_id, rows in group:
            redact = partial(redact_message, redactor=redactor, agent_id=agent_id, session_id=session_id)
            if ahead is None or ahead[0] != session_id:
                messages = _read_stored_messages(agent_id, session_id, redact)
                yield agent_id, session_id, rows, messages, session_prompts.get(session_id)
                continue
            details = (session_prompts.get(session_id), resets.get(session_id, []), known.get(session_id))
            messages = _read_messages(ahead[1], redact, *details)
            yield agent_id, session_id, rows, messages, session_prompts.get(session_id)
            ahead = next(branches, None)


def read_conversations(
    options: Options, sessions: Iterable[Session], redactor: Redactor
) -> Iterator[tuple[str, str, Iterable[Row], Iterable[Message], SessionPrompts | None]]:
    """Each session with its messages and prompts, where rows of these options need them."""
    if options.shape.needs_branch:
        yield from read_branches(sessions, redactor, build_prompt_reader(options, redactor))
    else:
        yield from ((*session, (), None) for session in sessions)


def redact_message(message: Message, redactor: Redactor, agent_id: str, session_id: str) -> Message:
    """The same message with markers in its text and in its calls."""
    place = Place(agent_id, f"record:{session_id}/{message.turn_number}")
    text = redactor.redact(message.text, place)
    if text != message.text:
        message.original, message.text = message.text, text
    for number, call in enumerate(message.calls):
        arguments, name = redactor.redact_json(call.arguments, place), redactor.redact(call.name, place)
        if arguments is not call.arguments and call.name in SENDERS:
            texts = {arguments.get(key): call.arguments.get(key) for key in TEXTS}
            texts = {text: given for text, given in texts.items() if isinstance(text, str) and isinstance(given, str)}
            message.sent_originals |= {strip_markers(text)[0]: strip_markers(given)[0] for text, given in texts.items()}
        if arguments is not call.arguments or name != call.name:
            message.calls[number] = replace(call, name=name, arguments=arguments)
    return message


def _group_sessions(sessions):
    """Groups of sessions of one agent that are read together.

    Of a session with very many samples, the rest is read later.
    """
    group: list[tuple[str, Iterable[Row]]] = []
    owner, count = "", 0
    for agent_id, session_id, rows in sessions:
        if group and (agent_id != owner or len(group) >= GROUP_SESSIONS):
            yield owner, group
            group, count = [], 0
        first = list(islice(rows, GROUP_SAMPLES))
        group.append((session_id, chain(first, rows)))
        owner, count = agent_id, count + len(first)
        if count >= GROUP_SAMPLES:
            yield owner, group
            group, count = [], 0
    if group:
        yield owner, group


def _find_database(agent_id):
    """The database of an agent; empty when the agent is not known any more."""
    try:
        return databases.get_alias(agent_id)
    except databases.UnknownAgent:
        return ""
    except databases.OldAgentFile as exc:
        raise Refused(str(exc)) from exc


def _read_records(db, session_ids):
    records = TranscriptEvent.objects.filter(is_active=True, kind__in=ROLES)
    records = records.order_by("session_id", "seq").values_list(*COLUMNS)
    reader = PlainRows(COLUMNS.index("event_json"), db=db)
    while session_ids:
        batch, is_more = reader.read_batch(records.filter(session_id__in=session_ids))
        yield from batch
        if not is_more:
            return
        last, seq = batch[-1][:2]
        yield from _read_rest(reader, records.filter(session_id=last), seq)
        session_ids = [session_id for session_id in session_ids if session_id > last]


def _read_rest(reader, records, seq):
    """Read the rest of a session that a batch ended in.

    It is read by its own key, so that a long session is read once.
    """
    is_more = True
    while is_more:
        batch, is_more = reader.read_batch(records.filter(seq__gt=seq))
        yield from batch
        seq = batch[-1][1] if batch else seq


def _read_messages(rows, redact, prompts, resets, session):
    """The messages of a branch.

    `prompts` takes note of their turns; `resets` are the places where the session was reset.
    """
    ahead = deque(resets)
    key, conversation = (session.session_key, find_conversation(session)) if session else (None, ALONE)
    for row in rows:
        session_id, _, turn_number, kind, event_json, full_zstd, trim_json, created_at = row
        record, problem = outputs.read_whole_record(event_json, full_zstd, trim_json)
        if prompts and not prompts.is_empty:
            prompts.add_message(turn_number, created_at, get_run_id(record))
        message = redact(build_message(record, problem, kind, turn_number, key, session_id))
        message.conversation = conversation
        while ahead and ahead[0] < row[1]:
            ahead.popleft()
            message.is_after_reset = True
        yield message


def _read_stored_messages(agent_id, session_id, redact):
    """The messages of a session that is gone, from the exchanges of its samples.

    Other turns may have stood between two of them: where a number is missing, no history goes across.
    """
    last = 0
    for number, records in read_session_exchanges(agent_id, session_id):
        is_first = True
        for record in records:
            message = build_message(record.record, record.problem, record.kind, number, None, session_id)
            message.text_changes |= {changes.STORED_EXCHANGE}
            message.is_after_reset = is_first and number != last + 1
            is_first = False
            yield redact(message)
        last = number


def build_message(
    record: Row, problem: str, kind: str, turn_number: int | None, session_key: str | None, session_id: str
) -> Message:
    """The message of a whole record. `problem`: why an output of it could not be read."""
    message_facts = read_facts(record) if kind == "user" else read_message_facts(record)
    text_changes = changes.NO_CHANGES
    if problem:
        text_changes |= {changes.OUTPUT_LOST}
    if message_facts.is_unwrapped:
        text_changes |= {changes.ENVELOPE_REMOVED}
    if message_facts.has_files:
        text_changes |= {changes.IMAGES_DROPPED}
    return Message(
        role=ROLES[kind],
        text=message_facts.text,
        turn_number=turn_number,
        calls=message_facts.calls,
        tool_call_id=message_facts.tool_call_id,
        is_synthetic=message_facts.is_synthetic,
        is_failed=message_facts.is_failed,
        stop_reason=message_facts.stop_reason,
        mirror=message_facts.mirror,
        has_files=message_facts.has_files,
        run_id=message_facts.run_id,
        text_changes=text_changes,
        exclusion=_find_exclusion(message_facts, session_key, session_id) if kind == "user" else "",
    )


def _find_exclusion(message_facts, session_key, session_id):
    if prompt_kind(message_facts.sender, session_key, session_id):
        return INJECTED
    return UNKNOWN_ENVELOPE if message_facts.sender.get("envelope") else ""
