"""Samples and branches for tests of exporters: the smallest valid ones, the test says what matters."""

from dataclasses import dataclass, field

import orjson

from datasets.exporters.files.lines import encode_line
from datasets.exporters.formats.checks import find_broken_rules
from datasets.exporters.samples import ExportSample, GateAnswer
from datasets.exporters.training_rows import Shape, build_rows


@dataclass(slots=True)
class Call:
    """Like ledger.collectors.records.ToolCall."""

    id: str
    name: str = "exec"
    arguments: dict = field(default_factory=lambda: {"command": "ls"})


@dataclass(slots=True)
class Said:
    """Like datasets.exports.branches.Message."""

    role: str
    text: str = ""
    turn_number: int | None = None
    calls: list = field(default_factory=list)
    tool_call_id: str | None = None
    is_synthetic: bool = False
    is_failed: bool = False
    about: frozenset = frozenset()
    is_after_reset: bool = False
    exclusion: str = ""


def user(text, turn, exclusion="", *, after_reset=False):
    return Said("user", text, turn, exclusion=exclusion, is_after_reset=after_reset)


def agent(text="", *calls, synthetic=False):
    return Said(
        "assistant",
        text,
        calls=[Call(call) if isinstance(call, str) else call for call in calls],
        is_synthetic=synthetic,
    )


def result(call, text="done", *, failed=False):
    return Said("tool", text, tool_call_id=call, is_failed=failed)


def sample(turn=1, user_text="question", reply="answer", context=(), **more):
    known = {"sample_id": f"sample-{turn}", "agent_id": "ada", "session_id": "s1"}
    more.setdefault("is_approved", True)
    more["messages"] = [{"role": role, "message": text} for role, text in context]
    return ExportSample(**known, turn_number=turn, user_text=user_text, agent_reply=reply, **more)


def gate(decision="UPDATE_USER", reason="A stable preference.", fact="prefers mornings"):
    return GateAnswer(decision, reason, fact)


def stored(body, **columns):
    """A row of `dataset_samples` with this content."""
    content = body if isinstance(body, str) else orjson.dumps(body).decode()
    known = {"id": "x", "agent_id": "ada", "session_id": "s1", "turn_number": 1, "output": None, "quality_score": None}
    return {**known, "content": content, **columns}


def rows(format_, *samples, task="reply", branch=(), **shape):
    """The rows as a loader reads them, and what was done to each; trainers take all of them."""
    told = [made for made in build_rows(Shape(format_, task, **shape), samples, branch) if made.row is not None]
    made = [(one.row, *encode_line(one.row, one.changes)) for one in told]
    read = [orjson.loads(line) for _, line, _, _ in made]
    assert [find_broken_rules(format_, row) for row in read] == [[]] * len(made)
    assert [find_broken_rules(format_, row) for _, _, row, _ in made] == [[]] * len(made)
    return read, [set(done) for _, _, _, done in made]


def sides(row):
    """Who speaks, message by message."""
    return [message["from"] for message in row["conversations"]]


def values(row):
    """What is said, message by message."""
    return [message["value"] for message in row["conversations"]]


def body(number, **more):
    """The content of an annotated turn."""
    said = {"userMessage": f"question {number}", "agentReply": f"answer {number}", "context": []}
    return orjson.dumps({"type": "annotated_turn", **said, **more}).decode()


class Steps(list):
    """A progress that remembers what it was told."""

    def update(self, done, total=None, message=""):
        self.append((done, total, message))
