"""Leaves people who opted out out of a staged copy, by the rules by which an import withholds their words.

A record that an import would withhold keeps its place in the tree, without its content. Where nobody can tell whose
words a file or a row holds, it is left out, and so is each that has a name of such a person.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _

from agents.database_copies import NotCopied
from agents.homes import NotReadable, open_regular
from episodes.imports import source_events
from ledger import prompt_workspaces
from ledger.collectors import agent_database, jsonl, projections
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import AGENT
from ledger.collectors.senders import list_all_spellings
from ledger.collectors.session_index import MODEL_TEXT_FIELDS, IndexEntry
from ledger.collectors.zstd_input import read_packed_lines
from ledger.models import Session
from ledger.transcripts import origins
from ledger.transcripts.opt_out_filter import OptOutFilter
from ledger.transcripts.rows import build_row
from ledger.transcripts.transcript_store import UNFORESEEN
from openclaw_web.errors import Refused

from ..inventory.transcripts import PACKED
from ..stages import consent
from ..stages.agent_database import open_archive
from .sources import get_staged_name

MOST_BYTES = 1024 * 1024  # of the list
SHORTEST = 4  # letters of a name that is searched in words of others
GRAM = 8  # words in a row by which a message is found again
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
CHUNK, OVERLAP = 1024 * 1024, 4096
OF_PLACE = ("type", "id", "parentId")  # of a withheld record
OF_SESSION = ("sessionId", "updatedAt", "sessionFile", "chatType")  # of an index entry
EVENTS, STEPS = "transcript_events", "trajectory_runtime_events"


@dataclass(slots=True)
class Conversation:
    """One session of an agent: whether it may be read at all, and the ids of its withheld records."""

    session: Session
    may_read: bool
    is_their_own: bool = False  # a direct conversation with one of them
    hidden: set[str] = field(default_factory=set)
    is_damaged: bool = False  # it has lines that are no records


class OptOuts:
    """The people who opted out, and everything that is therefore left out of one copy."""

    def __init__(self, data: bytes | None):
        names = (data or b"").decode().splitlines()
        self.names = frozenset(name.strip() for name in names if name.strip())
        self.sha256 = None if data is None else hashlib.sha256(data).hexdigest()
        spellings = sorted(name for name in list_all_spellings(self.names) if len(name) >= SHORTEST)
        names_pattern = "|".join(map(re.escape, spellings))
        # In file names an underscore is between words.
        self.pattern = re.compile(rf"(?<![^\W_])(?:{names_pattern})(?![^\W_])") if spellings else None
        self.grams: set[tuple[str, ...]] = set()
        self.conversations: dict[tuple[str, str], Conversation] = {}
        self.keys: dict[str, IndexEntry] = {}
        self.dirty_files: dict[str, str] = {}
        self.records: dict[Path, dict[tuple[str, int], bytes | None]] = {}
        self.archives: dict[Path, set[tuple[str, str]]] = {}
        self.words = ""  # a fingerprint of everything that is searched

    def prepare(self, collection: Any, sources: dict[str, Any]) -> None:
        """Find the withheld records of every session, and the files that are left out."""
        for agent in collection.home.agents:
            for part in agent.parts:
                for entry in prompt_workspaces.read_entries(collection.home, part, collection.copies):
                    self._add_entry(agent.home_name, entry)
        archives = (name for name, source in sources.items() if source.is_archive)
        self.dirty_files = dict.fromkeys(archives, _("No database names the people of its conversation."))
        count = -1
        while count != (count := sum(len(conversation.hidden) for conversation in self.conversations.values())):
            # Again until nothing is new: an answer may be in another source than the message.
            for name, source in sources.items():
                if source.is_transcript:
                    self._read_file(name, source)
            for agent in collection.home.agents:
                for path in agent.databases:
                    # What cannot be read is said when it is staged.
                    with (
                        suppress(DamagedDatabase, NotCopied, NotReadable),
                        collection.copies.open_copy(collection.home.root, path) as copy,
                    ):
                        self.read_database(collection.home.root, agent.home_name, path, copy.path)
        text = "\n".join([*sorted(self.names), *sorted(" ".join(gram) for gram in self.grams)])
        self.words = hashlib.sha256(text.encode(errors="replace")).hexdigest()

    def find_left_out(self, name: str, source: Any) -> str:
        """The reason why a file is left out as a whole; empty for one that is staged."""
        if self.has_name(name):
            return _("Its path has the name of a person who opted out.")
        if source.is_unattributed:
            return _("Nobody can tell whose words it holds.")
        if not source.session_id:
            return self.dirty_files.get(name, "")
        conversation = self.find_conversation(source.agent, source.session_id)
        if not conversation.may_read:
            return _describe_unread(conversation)
        is_whole = source.is_transcript and source.path.suffix != PACKED
        return "" if is_whole or not (conversation.hidden or conversation.is_damaged) else _("It has withheld records.")

    def find_conversation(self, agent: str, session_id: str) -> Conversation:
        """The conversation of a session; one that no index names may not be read."""
        return self.conversations.setdefault((agent, session_id), Conversation(Session(id=session_id), may_read=False))

    def _add_entry(self, agent, entry):
        session = Session(
            id=entry.session_id,
            session_key=entry.session_key,
            origin=entry.origin,
            metadata=orjson.dumps(entry.metadata).decode(),
        )
        is_their_own = consent.has_opted_out(entry, self.names)
        self.conversations[agent, entry.session_id] = Conversation(session, not is_their_own, is_their_own)
        self.keys |= dict.fromkeys((entry.session_key, *entry.files), entry)

    def _read_file(self, name, source):
        conversation = self.find_conversation(source.agent, source.session_id)
        if conversation.may_read or conversation.is_their_own:
            try:
                for _line, _raw in self.filter_file(source):
                    pass
            except NotReadable as exc:
                self.dirty_files[name] = f"{exc}."

    def read_database(self, root: Path, agent: str, path: Path, copy: Path) -> None:
        """Find the withheld rows in a copy of an agent's database. Raises DamagedDatabase."""
        records = self.records[path] = {}
        archives = self.archives[path] = set()
        with Database(copy, AGENT) as database:
            for session in list(agent_database.read_session_counts(database)):
                conversation = self.find_conversation(agent, session.session_id)
                if conversation.may_read or conversation.is_their_own:
                    lines = agent_database.read_events(database, session.session_id)
                    for line, raw in self._filter(conversation, lines):
                        if raw != line.raw:
                            records[session.session_id, line.offset] = raw
            for archive in agent_database.read_archives(database):
                if self._is_clean_archive(root, agent, path, database, archive):
                    file = path.parent.parent / agent_database.get_archive_path(archive)
                    self.dirty_files.pop(get_staged_name(root, file), None)
                else:
                    archives.add((archive.session_id, archive.generation))

    def _is_clean_archive(self, root, agent, path, database, archive):
        conversation = self.find_conversation(agent, archive.session_id)
        try:
            with open_archive(root, path, database, archive) as file:
                lines = list(self._filter(conversation, agent_database.read_archived_lines(archive, file)))
        except NotReadable:
            return False
        return conversation.may_read and all(raw == line.raw for line, raw in lines)

    def filter_file(self, source: Any) -> Iterator[tuple[jsonl.Line, bytes | None]]:
        """Yield the lines of a transcript, each with what is staged of it; None for nothing. Raises NotReadable."""
        with open_regular(source.root, source.path) as file:
            lines = read_packed_lines(file) if source.path.suffix == PACKED else jsonl.read_lines(file)
            yield from self._filter(self.find_conversation(source.agent, source.session_id), lines)

    def _filter(self, conversation, lines) -> Iterator[tuple[jsonl.Line, bytes | None]]:
        checker, before = OptOutFilter(conversation.session, {}, self.names), None
        checker.hidden = conversation.hidden
        for line in lines:
            try:
                row = None if line.record is None else build_row(line, before=before, fallback_ms=0)
            except UNFORESEEN:
                row = None
            if row is None:
                conversation.is_damaged = True
                yield line, None
                continue
            before = row
            is_own = line.is_withheld or conversation.is_their_own or row.record_id in conversation.hidden
            if not (
                is_own or checker.find_reason(row, line.record) or self.has_name(line.raw.decode(errors="replace"))
            ):
                record = projections.without_projection(line.record)
                yield line, line.raw if record is line.record else orjson.dumps(record)
                continue
            conversation.hidden.add(row.record_id)
            if row.facts.kind == "user" and not row.facts.sender.get("injected"):
                self.grams.update(_list_grams(row.facts.text))
            place = {name: line.record[name] for name in OF_PLACE if isinstance(line.record.get(name, 0), str | None)}
            moment = {} if row.facts.created_at is None else {"timestamp": row.facts.created_at}
            yield line, orjson.dumps({**place, **moment, jsonl.WITHHELD: True})

    def filter_index(self, data: bytes) -> bytes:
        """A session index without entries of such people, and without titles that may be of their words."""
        index = jsonl.load_object(data)
        nested = index.get("agents")
        entries = nested if isinstance(nested, dict) and "version" in index else index
        staged_entries = {}
        for key, value in entries.items():
            text = self.filter_entry(key, orjson.dumps(value).decode())
            if text is not None:
                staged_entries[key] = orjson.loads(text)
        return orjson.dumps({**index, "agents": staged_entries} if entries is nested else staged_entries)

    def filter_entry(self, key: str, text: str | None) -> str | None:
        """The JSON of an index entry as it is staged; None when it is left out.

        Of an entry that names such a person only the session stays.
        """
        try:
            entry = jsonl.load_object((text or "").encode())
        except ValueError:
            return None
        if not self.may_stage_key(key) or self.has_name(key):
            return None
        entry = {
            name: value
            for name, value in entry.items()
            if name not in MODEL_TEXT_FIELDS or self.filter_title(key, value) is not None
        }
        if self.has_words(orjson.dumps(entry).decode()):
            entry = {
                name: value
                for name in OF_SESSION
                if (value := entry.get(name)) is not None and not self.has_words(str(value))
            }
        return orjson.dumps(entry).decode()

    def filter_title(self, key: str, title: Any) -> Any:
        """The title of a session; None for one that OpenClaw may have made of anybody's words."""
        entry = self.keys.get(key)
        if entry is None:
            return None
        return title if entry.origin in origins.ONE_PERSON_ORIGINS or consent.is_own_title(entry, title) else None

    def may_stage_key(self, key: str) -> bool:
        """Whether a session key is of no conversation with such a person."""
        entry = self.keys.get(key)
        return entry is None or not consent.has_opted_out(entry, self.names)

    def has_name(self, text: str) -> bool:
        """Whether a text has a name of such a person."""
        return self.pattern is not None and bool(self.pattern.search(text.casefold()))

    def has_words(self, text: str) -> bool:
        """Whether a text has a name of such a person, or words in a row of a message that was left out."""
        return self.has_name(text) or not self.grams.isdisjoint(_list_grams(text))

    def hide_name(self, path: str) -> str:
        """A path for the manifest: the folder above a name of such a person."""
        return path if not self.has_name(path) else self.hide_name(f"{Path(path).parent}")

    def is_in(self, path: Path) -> bool:
        """Whether the bytes of a file have such a name or such words."""
        before = b""
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                if self.has_words((before + data).decode(errors="replace")):
                    return True
                before = data[-OVERLAP:]
        return False

    def build_filters(self, agent: str, path: Path) -> "RowFilters":
        """The filters for the tables of a database."""
        records, archives = self.records.get(path, {}), self.archives.get(path, set())

        def may_read_session(session_id):
            return self.find_conversation(agent, session_id or "").may_read

        def may_stage_record(session_id, seq):
            return may_read_session(session_id) and records.get((session_id, seq), b"") is not None

        def may_stage_session(session_id):
            conversation = self.find_conversation(agent, session_id)
            return conversation.may_read and not (conversation.hidden or conversation.is_damaged)

        def stage_record(session_id, seq, text):
            raw = records.get((session_id, seq))
            return text if raw is None else raw.decode()

        functions: dict[str, Callable[..., Any]] = {
            "may_read_session": may_read_session,
            "may_stage_record": may_stage_record,
            "stage_record": stage_record,
            "is_staged_anew": lambda session_id, seq: (session_id, seq) in records,
            "may_stage_session": may_stage_session,
            "may_stage_archive": lambda session_id, generation: (session_id, str(generation)) not in archives,
            "may_stage_key": self.may_stage_key,
            "may_stage_event": lambda session_id: not source_events.is_withheld(session_id or "", self.names),
            "stage_entry": self.filter_entry,
            "stage_title": self.filter_title,
            "is_clean": lambda *values: not any(map(self._has_value, values)),
        }
        return RowFilters(functions, is_of_agent=bool(agent))

    def _has_value(self, value):
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        return isinstance(value, str) and self.has_words(value)


@dataclass(frozen=True, slots=True)
class RowFilters:
    """The SQL by which rows are left out or changed, with the functions that it calls."""

    functions: dict[str, Callable[..., Any]]
    is_of_agent: bool

    def get_where(self, table: str, columns: Iterable[str]) -> str:
        """The condition of the rows of a table that are staged."""
        known, conditions = set(columns), []
        if table in (EVENTS, "transcript_event_identities"):
            return "may_stage_record(session_id, seq)"
        if table in (agent_database.ARCHIVES, agent_database.COLD_ARCHIVES):
            conditions.append("may_stage_archive(session_id, generation)")
        elif table == STEPS:
            conditions.append("may_stage_session(session_id)")
        elif table == "episodic_events":
            conditions.append("may_stage_event(session_id)")
        elif "session_key" in known:
            conditions.append("may_stage_key(session_key)")
        elif "session_id" in known and self.is_of_agent:
            conditions.append("may_read_session(session_id)")
        searched = sorted(known - {"entry_json", "archive_blob", "label", "display_name"})
        return " AND ".join([*conditions, f"is_clean({', '.join(searched)})"])

    def get_value(self, table: str, column: str) -> str:
        """The SQL of a value as it is staged."""
        if table == EVENTS and column == "event_json":
            return "stage_record(session_id, seq, event_json)"
        if table == EVENTS and column == "event_zstd":
            return "CASE WHEN NOT is_staged_anew(session_id, seq) THEN event_zstd END"
        if table in ("session_nodes", "session_entries", "session_windows"):
            if column == "entry_json":
                return "stage_entry(session_key, entry_json)"
            if column in ("label", "display_name"):
                return f"stage_title(session_key, {column})"
        return column


def read_list(file: Any) -> bytes:
    """The bytes of the list of names, one a line. Raises Refused."""
    try:
        data = file.read(MOST_BYTES + 1)
        data.decode()
    except (OSError, UnicodeDecodeError) as exc:
        raise Refused(_("The list of people who opted out is not readable UTF-8 text.")) from exc
    if len(data) > MOST_BYTES:
        raise Refused(_("The list of people who opted out is larger than 1 MB."))
    return data


def _describe_unread(conversation):
    if conversation.is_their_own:
        return _("It is a conversation with a person who opted out.")
    return _("No index names the people of its conversation, while somebody has opted out.")


def _list_grams(text):
    words = WORD.findall(text.casefold())
    return zip(*(islice(words, start, None) for start in range(GRAM)), strict=False)
