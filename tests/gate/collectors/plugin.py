"""A plugin that logs as openclaw-reflection does, and remembers what its gate was given."""

import json
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gate.collectors.fact_pairs import FactPairs

START = 1_795_230_772_026
MODEL = "fake-gpt-mini"
WORKSPACE = "/home/user/workspace"


def line(at, component, event, details=None, key=None, level="info"):
    """A line of the log."""
    moment = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry = {"timestamp": moment, "level": level, "component": component, "event": event}
    entry |= {} if details is None else {"details": details}
    entry |= {} if key is None else {"sessionKey": key}
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass
class GateQuestion:
    """One question to the gate: what it was given, when, and what it decided."""

    key: str
    at: int
    window: list
    saw_user: bool
    reply: str
    latency: int = -1
    decision: str = ""
    reason: str = ""


@dataclass
class Plugin:
    """One process of the plugin; `log` is what it wrote, `truth` the decisions, in order."""

    capacity: int = 50
    width: int = 10
    level: str = "debug"
    at: int = START
    log: list = field(default_factory=list)
    truth: list = field(default_factory=list)

    def __post_init__(self):
        self.start()

    def start(self):
        self.buffers, self.waiting, self.started = {}, defaultdict(int), self.at
        self.open, self.writing, self.reacting = {}, {}, []
        self.say("PluginLifecycle", "Plugin starting")
        configuration = {
            "bufferSize": self.capacity,
            "logLevel": self.level,
            "llm": {"model": MODEL},
            "memoryGate": {"enabled": True, "windowSize": self.width},
        }
        self.say("PluginLifecycle", "Configuration loaded", configuration)
        self.say("PluginLifecycle", "SessionBufferManager initialized", {"bufferSize": self.capacity})
        self.say("PluginLifecycle", "Workspace resolved", {"workspaceDir": WORKSPACE, "source": "configuration"})
        self.say("PluginLifecycle", "memory_gate initialized", {"model": MODEL})
        self.beat("heartbeat started")

    def beat(self, event="heartbeat tick"):
        """Logs a heartbeat, which happens once a minute."""
        self.beaten = self.at
        self.say("Heartbeat", event, {"intervalMs": 60_000, "uptimeMs": self.at - self.started})

    def say(self, component, event, details=None, key=None, level="info"):
        if level != "debug" or self.level == "debug":
            self.log.append(line(self.at, component, event, details, key, level))

    def user(self, key, text):
        """Receives a message of the user."""
        self._add_message(key, "user", text, "message:received")

    def agent(self, key, text):
        """Receives a reply; the gate is asked as soon as the conversation has no open question."""
        if key.startswith("channel:"):
            original = key.replace("channel:", "agent:main:")
            details = {"originalSessionKey": original, "canonicalSessionKey": key, "hookName": "before_message_write"}
            self.say("MessageHandler", "Canonicalized session key to channel scope", details)
        self._add_message(key, "agent", text, "before_message_write")
        self.waiting[key] += 1
        self._ask_gate(key)

    def _add_message(self, key, role, text, hook):
        self.at += 1
        message = {"role": role, "message": text, "timestamp": self.at, "sessionKey": key}
        message["metadata"] = {"from": "irc:alice"} if role == "user" else {}
        self.say("MessageHandler", "Buffer message snapshot", {"hookName": hook, "bufferMessage": message}, key)
        if key not in self.buffers:
            self.say("SessionBufferManager", "Creating new session buffer", {"sessionKey": key}, key)
            self.buffers[key] = deque(maxlen=self.capacity)
        elif len(self.buffers[key]) == self.capacity:
            self.say("SessionBufferManager", "Evicted oldest message", {"evictedId": "x"}, key)
        self.buffers[key].append((role, text, self.at))

    def _ask_gate(self, key):
        if not self.waiting[key] or key in self.open or key in self.writing or key in self.reacting:
            return
        self.waiting[key] -= 1
        held = list(self.buffers.get(key, ()))
        saw_user = any(role == "user" for role, _, _ in held)
        reply = next((text for role, text, _ in reversed(held) if role == "agent"), "")
        question = GateQuestion(key, self.at, held[-self.width :], saw_user, reply)
        self.open[key] = question
        details = {"recentMessages": len(question.window), "hasCurrentUserMessage": saw_user}
        details["hasCurrentAgentReply"] = bool(reply)
        self.say("memory_gate", "Starting memory_gate analysis", details, level="debug")

    def decide(self, key, decision="NO_WRITE", reason="Small talk."):
        """Answers the open question of a conversation, as a model does."""
        self.at += 7
        question = self.open.pop(key)
        question.latency, question.decision, question.reason = self.at - question.at, decision, reason
        self.truth.append(question)
        details = {"decision": decision, "reason": reason, "hasCandidateFact": decision != "NO_WRITE"}
        if reason.startswith("LLM request failed"):
            self.say("memory_gate", "memory_gate LLM request failed", {"reason": reason}, level="error")
        else:
            self.say("memory_gate", "memory_gate decision generated", details)
        self.say("MessageHandler", "memory_gate decision evaluated", details, key)
        if decision != "NO_WRITE":
            self.writing[key] = decision
        self._ask_gate(key)

    def write(self, key, status="applied update"):
        """Ends the guardian's write; a reaction follows what was written."""
        self.at += 40
        self.say("MessageHandler", f"write_guardian {status}", {"decision": self.writing.pop(key)}, key)
        if status == "applied update":
            self.reacting.append(key)
        self._ask_gate(key)

    def react(self, key):
        self.at += 3
        self.reacting.remove(key)
        self.say("MessageReaction", "Failed to apply reaction to message", {"channelId": "irc"}, level="warn")
        self._ask_gate(key)

    def forget(self, key):
        """Resets a conversation; questions that are open go on."""
        if self.buffers.pop(key, None) is not None:
            self.say("SessionBufferManager", "Session cleared", {"sessionKey": key}, key)


def with_facts(decisions, written):
    """Returns the decisions with the facts that a log of write_guardian has for them."""
    pairs, all_decisions = FactPairs(), list(decisions)
    for decision in (decision for decision in all_decisions if decision.fact is None):
        pairs.add_decision(decision.at, decision.decision, decision.id, "main")
    facts = {id_: fact for _agent, id_, fact in pairs.pairs(sorted(written, key=lambda write: write.at))}
    return [replace(decision, fact=decision.fact or facts.get(decision.id)) for decision in all_decisions]
