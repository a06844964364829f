"""Small OpenClaw homes for tests, in the real on-disk format."""

import json
import uuid
from pathlib import Path

START = "2026-02-21T03:00:"


class Home:
    """An OpenClaw home in the folder `root`.

    Records get the ids r1, r2, ... and each follows the one before, unless a test gives other values.
    """

    def __init__(self, root: Path, agents=("main",)):
        self.root = root
        self.agents = agents
        for agent in agents:
            (root / "agents" / agent / "sessions").mkdir(parents=True)
        self.write(
            "openclaw.json", {"agents": {"list": [{"id": agent} for agent in agents]}, "apiKey": "sk-fake-canary"}
        )

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
        return path

    def transcript(self, *records, agent="main", session=None, suffix=""):
        return Script(self.root / "agents" / agent / "sessions", session or str(uuid.uuid4()), suffix).add(*records)

    def index(self, entries, agent="main"):
        return self.write(f"agents/{agent}/sessions/sessions.json", entries)


class Script:
    """A transcript file that grows."""

    def __init__(self, folder, session, suffix):
        self.session = session
        self.path = folder / f"{session}.jsonl{suffix}"
        self.count = 0
        self.last = None
        header = {"type": "session", "version": 3, "id": session, "timestamp": START + "00.000Z", "cwd": "/nowhere"}
        self.raw(json.dumps(header) + "\n")

    def add(self, *records):
        for record in records:
            self.count += 1
            line = {"id": f"r{self.count}", "parentId": self.last, "timestamp": f"{START}{self.count % 60:02d}.000Z"}
            line |= record
            self.last = line["id"]
            self.raw(json.dumps(line, ensure_ascii=False) + "\n")
        return self

    def raw(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        with self.path.open("ab") as file:
            file.write(data)
        return self


def user(text, **more):
    return {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": text}], **more}}


def assistant(text="", *calls, model="fake-gpt", **more):
    content = [{"type": "text", "text": text}] if text else []
    content += [{"type": "toolCall", "id": call, "name": name, "arguments": args} for call, name, args in calls]
    usage = {"input": 100, "output": 10, "cacheRead": 5, "cacheWrite": 0, "totalTokens": 115, "cost": {"total": 0.01}}
    message = {"role": "assistant", "content": content, "provider": "fakeai", "model": model, "usage": usage}
    return {"type": "message", "message": message | {"stopReason": "toolUse" if calls else "stop"} | more}


def result(call, text="done", *, name="exec", **more):
    message = {"role": "toolResult", "toolCallId": call, "toolName": name, "content": [{"type": "text", "text": text}]}
    return {"type": "message", "message": message | {"isError": False} | more}
