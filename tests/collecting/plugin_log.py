"""Logs of the Reflection plugin for tests, line by line as it writes them."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

T0 = 1_771_642_801_000  # 2026-02-21T03:00:01Z, the first record of a transcript
KEY = "agent:main:main"
GROUP, CHANNEL = "agent:main:irc:group:#lab", "channel:irc:group:#lab"  # a group as sessions and as the plugin call it


class PluginLog:
    """One file `reflection-<day>.log` in a folder; times are milliseconds."""

    def __init__(self, folder: Path, day="2026-02-21", model="gate-1"):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"reflection-{day}.log"
        self.model = model
        self.message_counts, self.last = Counter(), 0

    def line(self, at, component, event, details=None, key=None, level="info"):
        moment = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = {"timestamp": moment, "level": level, "component": component, "event": event}
        entry |= {"details": details} if details is not None else {}
        entry |= {"sessionKey": key} if key else {}
        return self.raw(json.dumps(entry, ensure_ascii=False) + "\n")

    def raw(self, text):
        with self.path.open("ab") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self

    def start(self, at):
        """The plugin starts."""
        self.line(at, "PluginLifecycle", "Plugin starting")
        llm = {"baseURL": "http://127.0.0.1:1/v1", "apiKeyConfigured": True, "model": self.model}
        gate = {"enabled": True, "windowSize": 10}
        details = {"bufferSize": 50, "logLevel": "debug", "llm": llm, "memoryGate": gate}
        self.line(at, "PluginLifecycle", "Configuration loaded", details)
        return self.line(at, "PluginLifecycle", "memory_gate initialized", {"model": self.model})

    def add_message(self, at, role, text, key=KEY):
        """Add a message to the buffer of a conversation."""
        hook = "message:received" if role == "user" else "before_message_write"
        message = {"id": f"m{at}", "role": role, "message": text, "timestamp": at, "sessionKey": key}
        details = {"hookName": hook, "bufferMessage": message}
        self.line(at, "MessageHandler", "Buffer message snapshot", details, key)
        self.last = at
        self.message_counts[key] += 1
        if self.message_counts[key] == 1:
            self.line(at, "SessionBufferManager", "Creating new session buffer", {"sessionKey": key}, key)
        return self

    def add_decision(self, at, decision="NO_WRITE", reason="Small talk.", key=KEY, *, user=True):
        """Log that the gate analyses the latest messages at once, and gives its decision at `at`."""
        request = {"recentMessages": min(10, self.message_counts[key]), "hasCurrentUserMessage": user}
        request["hasCurrentAgentReply"] = True
        self.line(self.last + 1, "memory_gate", "Starting memory_gate analysis", request, level="debug")
        answer = {"decision": decision, "reason": reason, "hasCandidateFact": decision != "NO_WRITE"}
        if not reason.startswith("LLM request failed"):
            self.line(at, "memory_gate", "memory_gate decision generated", answer)
        return self.line(at, "MessageHandler", "memory_gate decision evaluated", answer, key)


def log_first_turn(log, at=T0 + 1_500):
    """Log the first turn of the fixture `place`, and a decision about it.

    `at` is the time of the decision in milliseconds, by default half a second after the reply.
    """
    log.add_message(T0, "user", "I like tea", CHANNEL).add_message(T0 + 1_000, "agent", "Noted", CHANNEL)
    return log.add_decision(at, "UPDATE_USER", "Likes tea.", CHANNEL)


def log_write(workspace: Path, at, decision, fact, status="written"):
    """Append a line to write_guardian's own log."""
    moment = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    target = decision.removeprefix("UPDATE_") + ".md"
    entry = {"timestamp": moment, "decision": decision, "targetFile": target, "status": status, "candidateFact": fact}
    file = workspace / ".openclaw-reflection" / "write-guardian.log.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as handle:
        handle.write(json.dumps(entry, ensure_ascii=False) + "\n")
