"""The transcript of one session, written record by record as OpenClaw 2026.2 writes it."""

import json
from dataclasses import dataclass, field

from .. import moments, prices
from ..truth import Counts, Damage, SessionTruth

SYSTEM_TOKENS = {"main": 9_240, "research": 8_120}
dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(slots=True)
class Point:
    """The position of a user message, to which a rewind goes back."""

    parent: str
    context: int


@dataclass(slots=True)
class Span:
    """The requests and files since the last compaction, for the summary of the next."""

    requests: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    modified: list[str] = field(default_factory=list)


class Transcript:
    """One session's file. Open it with `with`; each performance adds to its end."""

    def __init__(self, path, place, *, session_id, chance, workspace, model, thinking="low", damage=None):
        self.path, self.place, self.session_id, self.chance = path, place, session_id, chance
        self.workspace, self.model, self.thinking = workspace, model, thinking
        self.planned_damage, self.damage = dict(damage or {}), []
        self.counts = Counts(sessions=1)
        self.parents, self.points, self.span = {}, [], Span()
        self.asked = ""  # the last message of a person: the current turn
        self.parent, self.leaf_is_off, self.first_ms, self.ms = None, False, 0, 0
        self.context = self.known = SYSTEM_TOKENS.get(place.agent, 8_000)
        self.called_ms = self.compactions = self.offset = 0
        self.usage, self.aborted, self.last_kept = prices.NO_USAGE, False, []

    def __enter__(self):
        self._file = self.path.open("ab")
        return self

    def __exit__(self, *exc):
        self._file.close()

    def start(self, ms):
        """Write the header and the first records of a session."""
        self.first_ms = self.ms = ms
        self._write(
            {
                "type": "session",
                "version": 3,
                "id": self.session_id,
                "timestamp": moments.format_iso(ms),
                "cwd": self.workspace,
            }
        )
        self.change_model(self.model)
        self.change_thinking(self.thinking)
        self.snapshot()

    def record(self, kind, **fields):
        """Add a record after the last one; return its id."""
        while (record_id := self.chance.hex(8)) in self.parents:
            pass
        place = {"id": record_id, "parentId": self.parent, "timestamp": moments.format_iso(self.ms)}
        # Custom records have their content before their place, all others after it.
        record = {"type": kind, **fields, **place} if kind == "custom" else {"type": kind, **place, **fields}
        is_user = kind == "message" and fields["message"]["role"] == "user"
        self.parents[record_id] = (self.parent, is_user)
        self.parent = record_id
        self._write(record)
        return record_id

    def change_model(self, model):
        self.model = model
        self.record("model_change", provider=model.provider, modelId=model.id)

    def change_thinking(self, level):
        self.thinking = level
        self.record("thinking_level_change", thinkingLevel=level)

    def snapshot(self):
        """Add the record of the model that a run was started with."""
        model = self.model
        data = {"timestamp": self.ms, "provider": model.provider, "modelApi": model.api, "modelId": model.id}
        self.ms += 1
        self.record("custom", customType="model-snapshot", data=data)

    def user(self, text, *, words, image=None):
        """Add a message of a user; `words` are the person's own words."""
        self.points.append(Point(self.parent, self.context))
        arrived, self.ms = self.ms, self.ms + self.chance.randint(2, 24)
        blocks = [{"type": "text", "text": text}]
        if image:
            blocks.append({"type": "image", "data": image, "mimeType": "image/png"})
        self.context += prices.count_tokens(text) + 18 + (1_200 if image else 0)
        self.span.requests.append(words)
        message = {"role": "user", "content": blocks, "timestamp": arrived}
        self.asked = self.record("message", message=message)
        self.last_kept.append(self.asked)

    def assistant(self, blocks, stop, *, error=None):
        """Add one answer of the model; time passes while it writes."""
        model, started = self.model, self.ms
        output = prices.count_tokens(dump(blocks)) if blocks else 0
        usage = prices.NO_USAGE
        if stop not in ("error", "aborted"):
            idle = started - self.called_ms
            usage = prices.build_usage(model, context=self.context, known=self.known, idle_ms=idle, output=output)
            self.known, self.called_ms = self.context, started
            self.context += output
        self.usage, self.aborted = usage, stop == "aborted"
        self.ms += 900 + output * self.chance.randint(12, 26)
        message = {"role": "assistant", "content": blocks, "api": model.api, "provider": model.provider}
        message |= {"model": model.id, "usage": usage, "stopReason": stop, "timestamp": started}
        self.record("message", message=message | ({"errorMessage": error} if error else {}))

    def synthetic(self, text, model):
        """Add an assistant message that no model wrote."""
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "api": "openai-responses"}
        message |= {"provider": "openclaw", "model": model, "usage": prices.NO_USAGE, "stopReason": "stop"}
        self.ms += self.chance.randint(4, 40)
        self.record("message", message=message | {"timestamp": self.ms})

    def tool_result(self, call, text, details, *, is_error, took_ms):
        """Add the answer of a tool, `took_ms` after the call."""
        self.ms += took_ms
        message = {"role": "toolResult", "toolCallId": call["id"], "toolName": call["name"]}
        message["content"] = [{"type": "text", "text": text}]
        message |= {"details": details} if details is not None else {}
        self.context += prices.count_tokens(text[: self.model.window]) + 18  # a model sees a part of a long output
        self.ms += 2
        self.record("message", message=message | {"isError": is_error, "timestamp": self.ms - 2})

    def rewind(self, back):
        """Continue before the n-th last user message; return the abandoned record's id."""
        point = self.points[-back]
        del self.points[-back:]
        del self.last_kept[-back:]
        abandoned_id, self.parent, self.context = self.parent, point.parent, point.context
        return abandoned_id

    def compact(self, summary):
        """Replace all but the last messages by a summary."""
        span, before = self.span, self.context
        last_messages = self.last_kept[-3:]
        details = {"readFiles": sorted(set(span.read)), "modifiedFiles": sorted(set(span.modified))}
        for name, files in (("read-files", details["readFiles"]), ("modified-files", details["modifiedFiles"])):
            if files:
                summary += f"\n\n<{name}>\n" + "\n".join(files) + f"\n</{name}>"
        self.ms += self.chance.between(6, 25)
        fields = {"summary": summary, "firstKeptEntryId": last_messages[0], "tokensBefore": before, "details": details}
        self.record("compaction", **fields, fromHook=False)
        self.context = self.known = SYSTEM_TOKENS.get(self.place.agent, 8_000) + prices.count_tokens(summary) + 900
        self.compactions, self.span, self.last_kept, self.points = self.compactions + 1, Span(), [], []

    def truth(self, root, state):
        """The truth about this transcript, which must be complete."""
        self.counts.turns_off_branch = self.counts.turns - sum(is_user for is_user in self._walk_branch())
        return SessionTruth(
            self.session_id,
            self.place.agent,
            self.place.key,
            self.path.relative_to(root).as_posix(),
            state,
            self.counts.records,
            self.counts.turns,
            self.counts.turns_off_branch,
            self.first_ms,
            self.ms,
        )

    def _walk_branch(self):
        record_id = self.parent
        while record_id:
            record_id, is_user = self.parents[record_id]
            yield is_user

    def _write(self, record):
        line = dump(record).encode()
        damage = self._find_due_damage(record)
        if damage:
            self._write_damaged(line, damage)
        if damage == "lost":
            return
        self._write_line(line)
        self.counts.add(record)

    def _find_due_damage(self, record):
        """The damage to do at this record, if it is the first due tool result."""
        due = min(self.planned_damage, default=None)
        is_result = record.get("message", {}).get("role") == "toolResult"
        return self.planned_damage.pop(due) if is_result and due is not None and self.counts.records >= due else None

    def _write_damaged(self, line, reason):
        """Write a line as a crash leaves it: half of it, or NUL bytes."""
        self.damage.append(Damage(self.path.name, self.offset, "nul_bytes" if reason == "nul_bytes" else "truncated"))
        self._write_line(
            b"\0" * 512 if reason == "nul_bytes" else line[: len(line) * 3 // 5].decode(errors="ignore").encode()
        )

    def _write_line(self, line):
        self._file.write(line + b"\n")
        self.offset += len(line) + 1
