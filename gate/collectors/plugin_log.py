"""Reads the log of openclaw-reflection (`logs/reflection-<date>.log`) into decisions of memory_gate."""

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

# The plugin writes that a decision was generated, and right after it the conversation of the decision. A second line
# that is later than this is missing.
MAX_DELAY_MS = 5_000
MAX_PENDING = 100
MAX_KEY, MAX_REASON = 1_000, 100_000  # characters
MAX_SEEN = 1_000  # decisions of one moment, by which an equal line is recognized
MAX_ORIGINALS = 2_000
MAX_UNKNOWN, MAX_NAME = 1_000, 120
STARTING = ("PluginLifecycle", "Plugin starting")
HOOKS = frozenset({"message:received", "message:sent", "before_message_write"})
ASKED, EVALUATED = "Starting memory_gate analysis", "memory_gate decision evaluated"
GENERATED, CALL_FAILED = "memory_gate decision generated", "memory_gate LLM request failed"
CONSOLIDATING = frozenset({"Consolidator", "ConsolidationScheduler"})
GATE = frozenset({ASKED, GENERATED, CALL_FAILED, EVALUATED})
# Lines that may stand between a message and its question.
BETWEEN = frozenset({"Creating new session buffer", "Evicted oldest message", "Skipped duplicate agent message event"})


@dataclass(slots=True, eq=False)
class PendingDecision:
    """A decision whose conversation is not known yet.

    `decision` is None when it cannot be used.
    """

    at: int
    digest: str  # hash of the decision and its reason
    question: Question | None
    decision: SourceDecision | None


class LogReader:
    """Reads the lines of one plugin's logs in order, file after file.

    Conversations continue after midnight, in the next file.

    `unknown` counts events, roles and hooks that this version does not know, and messages that cannot be read.
    `consolidations` are the moments of lines about unprompted rewriting of memory files, each with the plugin's
    workspace. `equal` counts repeated decisions of the same moment and words, which are one decision.
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
        """Read a line, and return a decision or problem that is ready.

        More decisions may come with the next lines. A problem is always one of this line.
        """
        entry = parse_object(line)
        if isinstance(entry, Rejection):
            self._held.note_gap()
            self._ready.appendleft(entry)
        elif entry is not None:
            self._take(entry)
        return self._ready.popleft() if self._ready else None

    def begin_file(self) -> None:
        """Begin another file, whose lines may repeat those of an earlier one.

        A repeated decision of a copied file is the same decision, not another one of its moment.
        """
        self._moment = None

    def ready(self) -> Iterator[Found]:
        """Yield decisions and problems that are ready and were not given yet."""
        while self._ready:
            yield self._ready.popleft()

    def finish(self) -> Iterator[Found]:
        """Yield the rest at the end of the lines, decisions without a conversation included."""
        self._release(self._pending)
        yield from self.ready()

    def _take(self, entry):
        at, key, details = (
            parse_moment_ms(entry.get("timestamp")),
            get_text(entry, "sessionKey"),
            get_object(entry, "details"),
        )
        if len(key) > MAX_KEY:
            self._count_unknown("a session key that is too long")
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
            self._release([generated for generated in self._pending if abs(at - generated.at) > MAX_DELAY_MS])
            if component in CONSOLIDATING:
                self.consolidations.append((at, self._held.workspace))
        if event in GATE:
            self._held = self._held.note_gate_line()
        if take := HANDLERS.get((component, event)):
            take(self, at, key, details)
        elif (component, event) == ("memory_gate", ASKED):
            count, user = get_count(details, "recentMessages"), get_flag(details, "hasCurrentUserMessage")
            self._held.open_question(Question(at, count, user, get_flag(details, "hasCurrentAgentReply")), near)
        elif (component, event) == ("MessageHandler", EVALUATED):
            self._take_evaluated(at, entry.get("sessionKey"), details)
        elif (component, event) != STARTING and not is_known_event(component, event):
            self._count_unknown(f"{component}: {event}")

    # The start of the plugin.

    def _take_configuration(self, _at, _key, details):
        self._held.model = _get_key(get_object(details, "llm"), "model") or self._held.model
        self._held.capacity = get_count(details, "bufferSize") or self._held.capacity
        width = get_count(get_object(details, "memoryGate"), "windowSize")
        self._held.width = None if width is None else max(width, 1)
        self._held.is_silent = get_text(details, "logLevel") == "info"

    def _take_model(self, _at, _key, details):
        self._held.model = _get_key(details, "model") or self._held.model

    def _take_capacity(self, _at, _key, details):
        self._held.capacity = get_count(details, "bufferSize") or self._held.capacity

    def _take_workspace(self, _at, _key, details):
        self._held.workspace = _get_key(details, "workspaceDir") or None

    def _take_heartbeat_start(self, at, _key, details):
        uptime = get_count(details, "uptimeMs")
        if at is not None and uptime is not None:
            self._held.process = at - uptime

    def _take_heartbeat(self, at, _key, details):
        uptime = get_count(details, "uptimeMs")
        if at is not None and uptime is not None:
            self._held = self._held.note_heartbeat(at - uptime)

    # Messages.

    def _take_canonical_key(self, _at, _key, details):
        key, original = (_get_key(details, f"{kind}SessionKey") for kind in ("canonical", "original"))
        if key and original:
            self._originals.pop(key, None)
            self._originals[key] = original
            if len(self._originals) > MAX_ORIGINALS:
                del self._originals[next(iter(self._originals))]

    def _take_message(self, _at, key, details):
        message = get_object(details, "bufferMessage")
        key = key or _get_key(message, "sessionKey")
        hook, role = get_text(details, "hookName"), get_text(message, "role")
        text, moment = message.get("message"), parse_moment_ms(message.get("timestamp"))
        if hook not in HOOKS:
            self._count_unknown(f"hook {hook}")
        if role not in ROLES:
            self._count_unknown(f"role {role}")
        if not key or role not in ROLES or not isinstance(text, str) or moment is None:
            self._count_unknown("Buffer message snapshot that cannot be read")
            if key:
                self._held.reset_buffer(key)
            else:
                self._held.note_gap()
            return
        sender = get_text(message.get("metadata"), "from")[:MAX_NAME]
        self._held.add_message(key, SourceMessage(role, text, moment, sender), self._originals.get(key))

    def _take_new_buffer(self, _at, key, details):
        self._held.create_buffer(key or _get_key(details, "sessionKey"))

    def _take_repeated_message(self, _at, key, _details):
        self._held.drop_repeated(key)

    def _take_cleared_session(self, _at, key, details):
        self._held.clear_buffer(key or _get_key(details, "sessionKey"))

    # Questions to the gate, and its decisions.

    def _take_generated(self, at, _key, details):
        question = self._held.find_only_question()
        result = self._build_decision(at, None, details, question, _compute_latency(question, at))
        if isinstance(result, Rejection):
            self._ready.appendleft(result)
        usable = None if isinstance(result, Rejection) else result
        self._pending.append(PendingDecision(at or 0, _hash_decision(details), question, usable))
        if len(self._pending) > MAX_PENDING:
            self._release(self._pending[:1])

    def _take_failed_call(self, at, key, details):
        self._take_generated(at, key, {"hasCandidateFact": False, **details, "decision": NO_WRITE})

    def _take_evaluated(self, at, key, details):
        digest = _hash_decision(details)
        equal = [other for other in self._pending if other.digest == digest]
        generated = equal[0] if equal else None
        if generated is not None:
            self._pending.remove(generated)
        question = None
        if isinstance(key, str):
            question = self._held.close_question(key, writes=details.get("decision") != NO_WRITE)
        if generated is not None and generated.decision is None:
            return  # its problem was given already
        latency = _compute_latency(question, generated.at) if generated is not None and len(equal) == 1 else None
        result = self._build_decision(at, key, details, question, latency)
        if isinstance(result, Rejection):
            self._ready.appendleft(result)
        else:
            self._add_ready(result)

    def _take_failed_gate(self, _at, key, _details):
        self._held.close_question(key, writes=False)

    def _take_applied_write(self, _at, key, _details):
        self._held.end_write(key, is_applied=True)

    def _take_unapplied_write(self, _at, key, _details):
        self._held.end_write(key)

    def _build_decision(self, at, key, details, question, latency):
        """Return a decision that has no id yet, or a problem when it cannot be used."""
        decision, reason = details.get("decision"), details.get("reason")
        if problem := _describe_flaw(at, key, decision, reason):
            return Rejection("bad_decision", problem)
        key = key or None
        question = question or Question()
        return SourceDecision(
            id="",
            at=at,
            session_key=key,
            original_key=question.original or self._originals.get(key) if key else None,
            decision=decision,
            reason=reason,
            fact=None,
            has_fact=get_flag(details, "hasCandidateFact"),
            failure=parse_failure(decision, reason),
            model=self._held.model,
            latency_ms=latency,
            window=question.window,
            left_out=question.left_out,
            expected=question.expected,
            saw_user=question.saw_user,
            saw_reply=question.saw_reply,
            reply=question.reply,
            workspace=self._held.workspace,
        )

    def _add_ready(self, decision):
        """Add a decision with its id to those that are ready.

        Equal decisions of one moment are one decision.
        """
        id_ = compute_decision_id(decision.at, decision.session_key, decision.decision, decision.reason, 0)
        if id_ in self._seen:
            self.equal += 1
            return
        if len(self._seen) >= MAX_SEEN:
            self._seen.clear()
        self._seen.add(id_)
        self._ready.append(replace(decision, id=id_))

    def _release(self, pending):
        """Make decisions ready whose conversation stays unknown."""
        for generated in list(pending):
            self._pending.remove(generated)
            if generated.decision is not None:
                self._held.drop_question(generated.question)
                self._add_ready(generated.decision)

    def _count_unknown(self, label):
        name = label[:MAX_NAME]
        self.unknown[name if name in self.unknown or len(self.unknown) < MAX_UNKNOWN else "others"] += 1


HANDLERS = {
    ("PluginLifecycle", "Configuration loaded"): LogReader._take_configuration,
    ("PluginLifecycle", "SessionBufferManager initialized"): LogReader._take_capacity,
    ("PluginLifecycle", "Workspace resolved"): LogReader._take_workspace,
    ("PluginLifecycle", "Workspace unavailable"): LogReader._take_workspace,
    ("PluginLifecycle", "memory_gate initialized"): LogReader._take_model,
    ("Heartbeat", "heartbeat started"): LogReader._take_heartbeat_start,
    ("Heartbeat", "heartbeat tick"): LogReader._take_heartbeat,
    ("MessageHandler", "Canonicalized session key to channel scope"): LogReader._take_canonical_key,
    ("MessageHandler", "Buffer message snapshot"): LogReader._take_message,
    ("MessageHandler", "Skipped duplicate agent message event"): LogReader._take_repeated_message,
    ("SessionBufferManager", "Creating new session buffer"): LogReader._take_new_buffer,
    ("SessionBufferManager", "Session cleared"): LogReader._take_cleared_session,
    ("memory_gate", GENERATED): LogReader._take_generated,
    ("memory_gate", CALL_FAILED): LogReader._take_failed_call,
    ("MessageHandler", "memory_gate trigger failed"): LogReader._take_failed_gate,
    ("MessageHandler", "write_guardian applied update"): LogReader._take_applied_write,
    ("MessageHandler", "write_guardian refused update"): LogReader._take_unapplied_write,
    ("MessageHandler", "write_guardian failed"): LogReader._take_unapplied_write,
    ("MessageHandler", "write_guardian skipped update"): LogReader._take_unapplied_write,
    ("MessageHandler", "UPDATE_* skipped because write_guardian is unavailable"): LogReader._take_unapplied_write,
}


def read(lines: Iterable[bytes], reader: LogReader | None = None) -> Iterator[Found]:
    """Yield the decisions and problems of a log's lines.

    With a reader, the lines continue a log that it has read before.
    """
    log_reader = LogReader() if reader is None else reader
    for line in lines:
        if (result := log_reader.feed(line)) is not None:
            yield result
    yield from log_reader.finish() if reader is None else log_reader.ready()


def _describe_flaw(at, key, decision, reason):
    """Say why a decision cannot be used, in a few words; empty when it can."""
    if not isinstance(decision, str) or decision not in DECISIONS:
        return f"unknown decision {str(decision)[:MAX_NAME]}"
    if not isinstance(reason, str):
        return "no reason"
    if len(reason) > MAX_REASON:
        return f"a reason of more than {MAX_REASON} characters"
    if at is None:
        return "no time"
    return "" if key is None or isinstance(key, str) else "no session key"


def _get_key(entry, name):
    """Return a key or a name; empty when it is too long to be one."""
    value = get_text(entry, name)
    return value if len(value) <= MAX_KEY else ""


def _compute_latency(question, at):
    """Return the milliseconds between a question and its answer, or None."""
    if question is None or question.at is None or at is None or at < question.at:
        return None
    return at - question.at


def _hash_decision(details):
    """Return the hash of a decision and its reason, of any type.

    The two lines about one decision have the same hash.
    """
    return hashlib.sha256(orjson.dumps([details.get("decision"), details.get("reason")])).hexdigest()
