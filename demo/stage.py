"""Performs a story in a session: each beat becomes the records it leaves in the transcript."""

import base64
import json
import struct
import zlib

from guardian.files import MEMORY_FILES

from . import moments, prices, tool_calls
from .files import tool_output
from .files.memory import MemoryChange
from .screenplay import parse_duration
from .slots import Slots

GOALS = {
    "main": "Keep the Morning Tide shop running: orders, stock, customers, and what the team asks for.",
    "research": "Support the starter study: literature, measurements, analysis, and the manuscript.",
}


RULES = {
    "main": "- Ask before anything leaves the house: refunds above S$ 50, mails to customers, price changes\n"
    "- Chinese with 晓雯, English with everybody else",
    "research": "- Report n and the interval with every mean\n- Never change raw data; write to derived/ instead",
}


NOT_ASKED = ("Memory flush", "Result of ", "A new session was started")


def build_summary(requests, place, chance):
    """A summary of the requests since the last compaction, in the sections OpenClaw uses."""
    lines = [_line(text) for text in requests if not text.startswith(NOT_ASKED)]
    chosen = sorted(chance.sample(range(len(lines)), min(14, len(lines))))
    done = "\n".join(f"- [x] {lines[index]}" for index in chosen[:-1]) or "- (none)"
    doing = f"- [ ] {lines[chosen[-1]]}" if chosen else "- (none)"
    return (
        f"## Goal\n{GOALS[place.agent] if place.agent in GOALS else GOALS['main']}\n\n"
        f"## Constraints & Preferences\n{RULES.get(place.agent, RULES['main'])}\n\n"
        f"## Progress\n### Done\n{done}\n\n### In Progress\n{doing}\n\n### Blocked\n- (none)\n\n"
        f"## Key Decisions\n- **{len(lines)} requests so far**: the latest ones are kept word for word below\n\n"
        "## Next Steps\n1. Answer the next message with the state above in mind"
    )


def _line(text):
    first = " ".join(text.split())
    return first if len(first) <= 110 else first[:109] + "…"


MODEL_SET = "Model set to {ref}."
CLOSING = "👍|🥐|Any time.|Good.|🙂"
SILENT = "NO_REPLY"  # what an agent writes when a message in a group is not for it
AFTER_MS = 9_000  # between an answer and the plugin's write
FLUSH = (
    "Pre-compaction memory flush. Store what must last now (memory/{day}.md; append, never overwrite). "
    "Answer NO_REPLY when there is nothing to store.\nCurrent time: {now}"
)
ANNOUNCED = (
    '[{short}] [System Message] [sessionId: {session}] A subagent task "{label}" just completed successfully.\n\n'
    "Result:\n{result}\n\nStats: runtime {seconds}s • tokens {tokens}\n\n"
    "Tell the person about it in your own voice."
)


class Stage:
    """Performs stories in one session; `world` is the home around it.

    `world` starts sub-agents, and may lengthen the outputs of tools.
    """

    def __init__(self, world, transcript, workspace, chance):
        self.world, self.transcript, self.workspace, self.chance = world, transcript, workspace, chance
        self.place = transcript.place
        self.slots = None
        self.person = None
        self.message_id = chance.randint(300, 3_000)
        self.reply = ""
        self.is_asked = False
        self.children = {}

    def perform(self, story, *, at_ms, speaker=None, known=None):
        """Play the story from `at_ms`, or soon after the last record if that is later."""
        transcript = self.transcript
        transcript.ms = max(at_ms, transcript.ms + self.chance.between(20, 90))
        self.slots = Slots(self.chance, lambda: transcript.ms, known)
        self.person = speaker
        with transcript:
            if not transcript.first_ms:
                transcript.start(transcript.ms)
            for beat in story.beats:
                getattr(self, f"_{beat.kind}")(beat)
            self._answer_if_open()
            self._compact_when_full()
            if transcript.model.cache_write and self.place.agent.startswith("research"):
                self._note_cache()

    def _answer_if_open(self):
        """Answer the last message if the story did not, so that each has an answer."""
        if self.is_asked:
            text = SILENT if self.place.is_group else self.slots.value(CLOSING)
            self._answer_with([{"type": "text", "text": text}], "stop")

    def _answer_with(self, blocks, stop, **fields):
        self.is_asked = False
        self.transcript.assistant(blocks, stop, **fields)

    def _user(self, beat, image=None):
        self._answer_if_open()
        transcript = self.transcript
        if transcript.counts.turns:
            transcript.ms += self.chance.between(15, 200)
        words = self.slots.fill(beat.text)
        person = beat.head or self.person
        self.message_id += self.chance.randint(1, 6)
        text = self.place.wrap(words, person=person, ms=transcript.ms, message_id=str(self.message_id))
        transcript.user(text, words=words, image=image)
        self.is_asked = True

    def _photo(self, beat):
        self._user(beat, image=picture(self.chance))

    def _assistant(self, beat):
        fill = self.slots.fill
        blocks = []
        if beat.thinking:
            signature = base64.b64encode(self.chance.randbytes(18)).decode()
            blocks.append({"type": "thinking", "thinking": fill(beat.thinking), "thinkingSignature": signature})
        if beat.text:
            self.reply = fill(beat.text)
            blocks.append({"type": "text", "text": self.reply})
        calls = [(self._call(call), call) for call in beat.calls]
        blocks += [block for block, _ in calls]
        self._answer_with(blocks, "toolUse" if calls else "stop")
        for block, call in calls:
            self._answer(block, call)

    def _call(self, call):
        tool, arguments = tool_calls.plan_call(call, self.slots.fill, self.workspace, self.transcript.ms)
        prefix = "toolu_" if self.transcript.model.provider == "anthropic" else "call_"
        return {"type": "toolCall", "id": prefix + self.chance.hex(24), "name": tool, "arguments": arguments}

    def _answer(self, block, call):
        """The answer to one tool call."""
        tool, arguments, transcript = block["name"], block["arguments"], self.transcript
        if tool == "sessions_spawn":
            answer = self._spawn(arguments, call)
        else:
            result = call.result
            if result:
                text = tool_output.expand_output(self.slots.fill(result.text), self.chance, transcript.ms)
                result = type(result)(result.how, self.world.lengthen(tool, text, self.chance, transcript.ms))
            answer = tool_calls.answer_call(tool, arguments, result, self.workspace, self.chance, transcript.ms)
        failed = answer.is_error or (answer.details or {}).get("status") == "error"
        if not failed and tool in tool_calls.TEXT_TOOLS:
            (transcript.span.read if tool == "read" else transcript.span.modified).append(arguments["path"])
        if not failed and tool in ("write", "edit"):
            self._note_change(arguments["path"], call, arguments)
        transcript.tool_result(block, answer.text, answer.details, is_error=answer.is_error, took_ms=answer.took_ms)

    def _note_change(self, path, call, arguments):
        """Note that the agent changed a file; of a memory file, also the change."""
        self.workspace.changed_ms[path] = self.transcript.ms
        if path in MEMORY_FILES and call.tool in ("append", "edit"):
            old, new = arguments["oldText"], arguments["newText"]
            section = call.target.partition(" ")[2]
            if call.tool == "append":
                old, new = "", new.removeprefix(f"{old}\n")
            self._note_memory_change("tool", path, section, old, new, self.transcript.ms)

    def _note_memory_change(self, by, path, section, old, new, at_ms):
        transcript = self.transcript
        turn = f"{transcript.session_id}:{transcript.asked}"
        self.workspace.changes.append(MemoryChange(at_ms, by, path, section, old, new, self.place.key, turn))

    def _remember(self, beat):
        """Let the plugin write a fact a moment after the answer; with `later`, not yet."""
        is_later, target = beat.head.startswith("later "), beat.head.removeprefix("later ")
        path, _, section = target.partition(" ")
        line = f"- {self.slots.fill(beat.text)}"
        self._note_memory_change(
            "later" if is_later else "plugin", path, section, "", line, self.transcript.ms + AFTER_MS
        )
        if not is_later and not self.workspace.holds(path, line):
            self.workspace.edit(path, *self.workspace.append_to(path, section, line))

    def _spawn(self, arguments, call):
        child = self.world.spawn(self, arguments, story=call.result.how, names=self.slots.names)
        self.children[arguments["label"]] = child
        details = {"status": "accepted", "childSessionKey": child.key, "runId": child.run_id, "mode": "run"}
        details |= {"note": "The result comes as a message when it is ready.", "modelApplied": True}
        return tool_calls.ToolAnswer(json.dumps(details, indent=2), details, took_ms=self.chance.between(0.02, 0.3))

    def _spawned(self, beat):
        self._answer_if_open()
        child, transcript = self.children[beat.head], self.transcript
        transcript.ms = max(transcript.ms, child.ended_ms) + self.chance.between(0.2, 1.5)
        text = ANNOUNCED.format(
            short=moments.format_short(transcript.ms),
            session=child.session_id,
            label=beat.head,
            result=child.reply,
            seconds=(child.ended_ms - child.started_ms) // 1000,
            tokens=child.tokens,
        )
        transcript.user(text, words=f"Result of {beat.head}")
        self.is_asked = True

    def _error(self, beat):
        self.transcript.ms += self.chance.between(0.4, 6)
        self._answer_with([], "error", error=self.slots.fill(beat.text))

    def _aborted(self, beat):
        blocks = [{"type": "text", "text": self.slots.fill(beat.text)}] if beat.text else []
        self._answer_with(blocks, "aborted", error="Request was aborted.")

    def _cut(self, beat):
        self._answer_with([{"type": "text", "text": self.slots.fill(beat.text)}], "length")

    def _command(self, beat):
        self.transcript.ms += self.chance.between(5, 60)
        self.transcript.synthetic(self.slots.fill(beat.text), "gateway-injected")

    def _mirror(self, beat):
        self.transcript.ms += self.chance.between(60, 900)
        self.transcript.synthetic(self.slots.fill(beat.text), "delivery-mirror")

    def _model(self, beat):
        self.transcript.ms += self.chance.between(5, 40)
        self.transcript.synthetic(MODEL_SET.format(ref=beat.text), "gateway-injected")
        self.transcript.change_model(prices.MODELS[beat.text])
        self.transcript.snapshot()

    def _thinking(self, beat):
        self.transcript.ms += self.chance.between(5, 40)
        self.transcript.change_thinking(beat.text)

    def _set(self, beat):
        self.slots.set(beat.text)

    def _wait(self, beat):
        self.transcript.ms += parse_duration(beat.text) + self.chance.between(1, 300)

    def _rewind(self, beat):
        abandoned_id = self.transcript.rewind(int(beat.head or 1))
        self.transcript.ms += self.chance.between(10, 90)
        if beat.text:
            self.transcript.record("branch_summary", fromId=abandoned_id, summary=self.slots.fill(beat.text))

    def _compact(self, _beat):
        self._compact_now()
        tokens = self.transcript.context // 100 / 10
        self.transcript.synthetic(
            f"⚙️ Compacted • Context {tokens}k/{self.transcript.model.window // 1000}k", "gateway-injected"
        )

    def _label(self, beat):
        self.transcript.record("label", targetId=self.transcript.parent, label=self.slots.fill(beat.text))

    def _title(self, beat):
        self.transcript.record("session_info", name=self.slots.fill(beat.text))

    def _notice(self, beat):
        kind = beat.head or "notice"
        text = self.slots.fill(beat.text)
        self.transcript.record("custom_message", customType=kind, content=text, display=True, details={})

    def _note_cache(self):
        """Add the gateway's record of a cached prompt; the cache's life is counted from it."""
        transcript = self.transcript
        data = {"timestamp": transcript.ms, "provider": transcript.model.provider, "modelId": transcript.model.id}
        transcript.record("custom", customType="openclaw.cache-ttl", data=data)

    def _compact_when_full(self):
        transcript = self.transcript
        if transcript.context < transcript.model.window * 3 // 4 or len(transcript.last_kept) < 4:
            return
        now = transcript.ms = transcript.ms + self.chance.between(5, 30)
        text = FLUSH.format(day=moments.format_day(now), now=moments.format_long(now))
        transcript.user(text, words="Memory flush")
        transcript.assistant([{"type": "text", "text": "NO_REPLY"}], "stop")
        self._compact_now()

    def _compact_now(self):
        self.transcript.compact(build_summary(self.transcript.span.requests, self.place, self.chance))


def picture(chance):
    """A small PNG, base64: a loaf in one colour on a board in another.

    It is not compressed, so that it is the same everywhere.
    """
    crust, board = chance.randbytes(3), chance.randbytes(3)
    rows = []
    for y in range(24):
        row = [crust if ((x - 16) / 13) ** 2 + ((y - 12) / 8) ** 2 < 1 else board for x in range(32)]
        rows.append(b"\0" + b"".join(row))
    raw = b"".join(rows)
    stored = b"\x78\x01\x01" + struct.pack("<HH", len(raw), len(raw) ^ 0xFFFF) + raw
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 32, 24, 8, 2, 0, 0, 0)),
        (b"IDAT", stored + struct.pack(">I", zlib.adler32(raw))),
        (b"IEND", b""),
    )
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
