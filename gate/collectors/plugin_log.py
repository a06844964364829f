"""The log of openclaw-reflection (`logs/reflection-<date>.log`), read into decisions of memory_gate."""

import hashlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from ledger.collectors.records import parse_moment_ms

from .buffers import PluginState, Question
from .log_lines import get_count, get_flag, get_object, get_text, parse_object
from .plugin_events import is_known_event
from .source_decisions import (
    DECISIONS,
    NO_WRITE,
    ROLES,
    Rejection,
    SourceDecision,
    SourceMessage,
    compute_decision_id,
    parse_failure,
)

Found = SourceDecision | Rejection
Entry = dict[str, Any]

# The plugin writes that a decision was generated, and in the next moment whose it is. When that line does not come
# within this time, it does not come.
PATIENCE_MS = 5_000
MAX_PENDING = 100
MAX_KEY, MAX_REASON = 1_000, 100_000  # characters
MAX_SEEN = 1_000  # decisions of one moment, to know an equal line by
MAX_ORIGINALS = 2_000
MAX_UNKNOWN, MAX_NAME = 1_000, 120
STARTING = ("PluginLifecycle", "Plugin starting")
HOOKS = frozenset({"message:received", "message:sent", "before_message_write"})
ASKED, EVALUATED = "Starting memory_gate analysis", "memory_gate decision evaluated"
GENERATED, CALL_FAILED = "memory_gate decision generated", "memory_gate LLM request failed"
CONSOLIDATING = frozenset({"Consolidator", "ConsolidationScheduler"})
GATE = frozenset({ASKED, GENERATED, CALL_FAILED, EVALUATED})
# Lines between a message and the question that it leads to.
BETWEEN = frozenset({"Creating new session buffer", "Evicted oldest message", "Skipped duplicate agent message event"})


@dataclass(slots=True, eq=False)
class PendingDecision:
    """A decision whose conversation is not known yet; `found` is None when it cannot be used."""

    at: int
    digest: str  # of the decision and its reason
    asked: Question | None
    found: SourceDecision | None


class LogReader:
    """Reads the lines of one plugin's logs in order, file after file: conversations go on after midnight.

    `unknown` counts what this version does not know: events, roles, hooks, and messages that cannot be read.
    `consolidations` are the moments of lines about rewriting memory files unasked, each with the plugin's workspace.
    `equal` counts decisions that were told again in the same moment and words: they are one.
    """

    def __init__(self) -> None:
        self.unknown: Counter[str] = Counter()
        self.equal = 0
        self.consolidations: list[tuple[int, str | None]] = []
        self._held = PluginState()
        self._originals: dict[str, str] = {}
        self._pending: list[PendingDecision] = []
        self._ready: deque[Found] = deque()
        self._seen: set[str] = set()
        self._moment: int | None = None

    def feed(self, line: bytes) -> Found | None:
        """Read a line, and give a decision or a problem that is ready; more decisions may come with the next lines.

        A problem is always one of this line.
        """
        entry = parse_object(line)
        if isinstance(entry, Rejection):
            self._held.note_gap()
            self._ready.appendleft(entry)
        elif entry is not None:
            self._take(entry)
        return self._ready.popleft() if self._ready else None

    def begin_file(self) -> None:
        """Another file begins: what it tells again, as a copy does, is the same and not the next one of that moment."""
        self._moment = None

    def ready(self) -> Iterator[Found]:
        """What is ready and was not given yet."""
        while self._ready:
            yield self._ready.popleft()

    def finish(self) -> Iterator[Found]:
        """No more lines will come: also decisions that lack the line of their conversation."""
        self._release(self._pending)
        yield from self.ready()

    def _take(self, entry):
        at, key, details = (
            parse_moment_ms(entry.get("timestamp")),
            get_text(entry, "sessionKey"),
            get_object(entry, "details"),
        )
        if len(key) > MAX_KEY:
            self._count("a session key that is too long")
            self._held.note_gap()
            return
        component, event = get_text(entry, "component"), get_text(entry, "event")
        near = self._held.near
        if event not in BETWEEN:
            self._held = self._held.note_other_line()
            self._held.near = None
        if (component, event) == STARTING:
            self._held = self._held.restart()
        if at is not None:
            if at != self._moment:
                self._moment = at
                self._seen.clear()
            self._held.set_time(at)
            self._release([one for one in self._pending if abs(at - one.at) > PATIENCE_MS])
            if component in CONSOLIDATING:
                self.consolidations.append((at, self._held.workspace))
        if event in GATE:
            self._held = self._held.note_gate_line()
        if take := TAKES.get((component, event)):
            take(self, at, key, details)
        elif (component, event) == ("memory_gate", ASKED):
            self._asked(at, details, near)
        elif (component, event) == ("MessageHandler", EVALUATED):
            self._evaluated(at, entry.get("sessionKey"), details)
        elif (component, event) != STARTING and not is_known_event(component, event):
            self._count(f"{component}: {event}")

    # How the plugin starts.

    def _configured(self, _at, _key, details):
        self._held.model = _key_in(get_object(details, "llm"), "model") or self._held.model
        self._held.capacity = get_count(details, "bufferSize") or self._held.capacity
        width = get_count(get_object(details, "memoryGate"), "windowSize")
        self._held.width = None if width is None else max(width, 1)
        self._held.is_silent = get_text(details, "logLevel") == "info"

    def _gate_ready(self, _at, _key, details):
        self._held.model = _key_in(details, "model") or self._held.model

    def _buffers_ready(self, _at, _key, details):
        self._held.capacity = get_count(details, "bufferSize") or self._held.capacity

    def _workspace_found(self, _at, _key, details):
        self._held.workspace = _key_in(details, "workspaceDir") or None

    def _began(self, at, _key, details):
        uptime = get_count(details, "uptimeMs")
        if at is not None and uptime is not None:
            self._held.process = at - uptime

    def _ticked(self, at, _key, details):
        uptime = get_count(details, "uptimeMs")
        if at is not None and uptime is not None:
            self._held = self._held.note_heartbeat(at - uptime)

    # What is said.

    def _canonical(self, _at, _key, details):
        key, original = (_key_in(details, f"{kind}SessionKey") for kind in ("canonical", "original"))
        if key and original:
            self._originals.pop(key, None)
            self._originals[key] = original
            if len(self._originals) > MAX_ORIGINALS:
                del self._originals[next(iter(self._originals))]

    def _said(self, _at, key, details):
        message = get_object(details, "bufferMessage")
        key = key or _key_in(message, "sessionKey")
        hook, role = get_text(details, "hookName"), get_text(message, "role")
        text, moment = message.get("message"), parse_moment_ms(message.get("timestamp"))
        if hook not in HOOKS:
            self._count(f"hook {hook}")
        if role not in ROLES:
            self._count(f"role {role}")
        if not key or role not in ROLES or not isinstance(text, str) or moment is None:
            self._count("Buffer message snapshot that cannot be read")
            if key:
                self._held.reset_buffer(key)
            else:
                self._held.note_gap()
            return
        sender = get_text(message.get("metadata"), "from")[:MAX_NAME]
        self._held.add_message(key, SourceMessage(role, text, moment, sender), self._originals.get(key))

    def _created(self, _at, key, details):
        self._held.create_buffer(key or _key_in(details, "sessionKey"))

    def _repeated(self, _at, key, _details):
        self._held.drop_repeated(key)

    def _cleared(self, _at, key, details):
        self._held.clear_buffer(key or _key_in(details, "sessionKey"))

    # What the gate is asked, and decides.

    def _asked(self, at, details, near):
        count, user = get_count(details, "recentMessages"), get_flag(details, "hasCurrentUserMessage")
        self._held.open_question(Question(at, count, user, get_flag(details, "hasCurrentAgentReply")), near)

    def _generated(self, at, _key, details):
        asked = self._held.find_only_question()
        found = self._decision(at, None, details, asked, _latency(asked, at))
        if isinstance(found, Rejection):
            self._ready.appendleft(found)
        usable = None if isinstance(found, Rejection) else found
        self._pending.append(PendingDecision(at or 0, _digest(details), asked, usable))
        if len(self._pending) > MAX_PENDING:
            self._release(self._pending[:1])

    def _call_failed(self, at, key, details):
        self._generated(at, key, {"hasCandidateFact": False, **details, "decision": NO_WRITE})

    def _evaluated(self, at, key, details):
        digest = _digest(details)
        alike = [one for one in self._pending if one.digest == digest]
        generated = alike[0] if alike else None
        if generated is not None:
            self._pending.remove(generated)
        asked = None
        if isinstance(key, str):
            asked = self._held.close_question(key, writes=details.get("decision") != NO_WRITE)
        if generated is not None and generated.found is None:
            return  # given as a problem already
        latency = _latency(asked, generated.at) if generated is not None and len(alike) == 1 else None
        found = self._decision(at, key, details, asked, latency)
        if isinstance(found, Rejection):
            self._ready.appendleft(found)
        else:
            self._give(found)

    def _gate_failed(self, _at, key, _details):
        self._held.close_question(key, writes=False)

    def _applied(self, _at, key, _details):
        self._held.end_write(key, is_applied=True)

    def _not_written(self, _at, key, _details):
        self._held.end_write(key)

    def _decision(self, at, key, details, asked, latency):
        """A decision, its id still to be given; a Problem when it cannot be used."""
        decision, reason = details.get("decision"), details.get("reason")
        if problem := _flaw(at, key, decision, reason):
            return Rejection("bad_decision", problem)
        key = key or None
        asked = asked or Question()
        return SourceDecision(
            id="",
            at=at,
            session_key=key,
            original_key=asked.original or self._originals.get(key) if key else None,
            decision=decision,
            reason=reason,
            fact=None,
            has_fact=get_flag(details, "hasCandidateFact"),
            failure=parse_failure(decision, reason),
            model=self._held.model,
            latency_ms=latency,
            window=asked.window,
            left_out=asked.left_out,
            expected=asked.expected,
            saw_user=asked.saw_user,
            saw_reply=asked.saw_reply,
            reply=asked.reply,
            workspace=self._held.workspace,
        )

    def _give(self, found):
        """Have the decision ready with its id. Equal ones of one moment are one, however often it is told."""
        id_ = compute_decision_id(found.at, found.session_key, found.decision, found.reason, 0)
        if id_ in self._seen:
            self.equal += 1
            return
        if len(self._seen) >= MAX_SEEN:
            self._seen.clear()
        self._seen.add(id_)
        self._ready.append(replace(found, id=id_))

    def _release(self, pending):
        """Give decisions whose conversation stays unknown."""
        for one in list(pending):
            self._pending.remove(one)
            if one.found is not None:
                self._held.drop_question(one.asked)
                self._give(one.found)

    def _count(self, what):
        name = what[:MAX_NAME]
        self.unknown[name if name in self.unknown or len(self.unknown) < MAX_UNKNOWN else "others"] += 1


TAKES = {
    ("PluginLifecycle", "Configuration loaded"): LogReader._configured,
    ("PluginLifecycle", "SessionBufferManager initialized"): LogReader._buffers_ready,
    ("PluginLifecycle", "Workspace resolved"): LogReader._workspace_found,
    ("PluginLifecycle", "Workspace unavailable"): LogReader._workspace_found,
    ("PluginLifecycle", "memory_gate initialized"): LogReader._gate_ready,
    ("Heartbeat", "heartbeat started"): LogReader._began,
    ("Heartbeat", "heartbeat tick"): LogReader._ticked,
    ("MessageHandler", "Canonicalized session key to channel scope"): LogReader._canonical,
    ("MessageHandler", "Buffer message snapshot"): LogReader._said,
    ("MessageHandler", "Skipped duplicate agent message event"): LogReader._repeated,
    ("SessionBufferManager", "Creating new session buffer"): LogReader._created,
    ("SessionBufferManager", "Session cleared"): LogReader._cleared,
    ("memory_gate", GENERATED): LogReader._generated,
    ("memory_gate", CALL_FAILED): LogReader._call_failed,
    ("MessageHandler", "memory_gate trigger failed"): LogReader._gate_failed,
    ("MessageHandler", "write_guardian applied update"): LogReader._applied,
    ("MessageHandler", "write_guardian refused update"): LogReader._not_written,
    ("MessageHandler", "write_guardian failed"): LogReader._not_written,
    ("MessageHandler", "write_guardian skipped update"): LogReader._not_written,
    ("MessageHandler", "UPDATE_* skipped because write_guardian is unavailable"): LogReader._not_written,
}


def read(lines: Iterable[bytes], reader: LogReader | None = None) -> Iterator[Found]:
    """Decisions and problems of the lines of a log; with a reader, of a part of one that goes on."""
    own = LogReader() if reader is None else reader
    for line in lines:
        if (found := own.feed(line)) is not None:
            yield found
    yield from own.finish() if reader is None else own.ready()


def _flaw(at, key, decision, reason):
    """What is wrong with a decision, in a few words; empty when it can be used."""
    if not isinstance(decision, str) or decision not in DECISIONS:
        return f"unknown decision {str(decision)[:MAX_NAME]}"
    if not isinstance(reason, str):
        return "no reason"
    if len(reason) > MAX_REASON:
        return f"a reason of more than {MAX_REASON} characters"
    if at is None:
        return "no time"
    return "" if key is None or isinstance(key, str) else "no session key"


def _key_in(entry, name):
    """A key or a name; empty for one that is too long to be one."""
    value = get_text(entry, name)
    return value if len(value) <= MAX_KEY else ""


def _latency(asked, at):
    """How long the gate took to answer a question."""
    if asked is None or asked.at is None or at is None or at < asked.at:
        return None
    return at - asked.at


def _digest(details):
    """The hash of a decision and its reason, whatever they are: by it both lines about one are known."""
    return hashlib.sha256(orjson.dumps([details.get("decision"), details.get("reason")])).hexdigest()
