"""The smallest valid samples and branches for tests of exporters.

Each test adds the details that it is about.
"""

from dataclasses import dataclass, field

import orjson

from datasets.exports.branches import Message
from datasets.exports.files import encode_line
from datasets.exports.rows import Shape, build_rows
from datasets.exports.rules import find_broken_rules
from datasets.sample_texts import ExportSample, GateAnswer


@dataclass(slots=True)
class Call:
    """Like ledger.collectors.records.ToolCall."""

    id: str
    name: str = "exec"
    arguments: dict = field(default_factory=lambda: {"command": "ls"})


def build_message(role, text="", turn_number=None, **more):
    """A message of a branch; what is not given is empty."""
    nothing = {"calls": [], "tool_call_id": None, "is_synthetic": False, "is_failed": False}
    return Message(role, text, turn_number, **nothing | more)


def user(text, turn, exclusion="", *, after_reset=False):
    return build_message("user", text, turn, exclusion=exclusion, is_after_reset=after_reset)


def agent(text="", *calls, synthetic=False):
    return build_message(
        "assistant",
        text,
        calls=[Call(call) if isinstance(call, str) else call for call in calls],
        is_synthetic=synthetic,
    )


def result(call, text="done", *, failed=False):
    return build_message("tool", text, tool_call_id=call, is_failed=failed)


def sample(turn=1, user_text="question", reply="answer", context=(), **more):
    known = {"sample_id": f"sample-{turn}", "agent_id": "ada", "session_id": "s1"}
    more.setdefault("is_approved", True)
    more["messages"] = [{"role": role, "message": text} for role, text in context]
    return ExportSample(**known, turn_number=turn, user_text=user_text, agent_reply=reply, **more)


def gate(decision="UPDATE_USER", reason="A stable preference.", fact="prefers mornings"):
    return GateAnswer(decision, reason, fact)


def stored_row(body, **columns):
    """A row of `dataset_samples` with this content."""
    content = body if isinstance(body, str) else orjson.dumps(body).decode()
    known = {"id": "x", "agent_id": "ada", "session_id": "s1", "turn_number": 1, "output": None, "quality_score": None}
    return {**known, "content": content, **columns}


def rows(format_, *samples, task="reply", branch=(), **shape):
    """The rows as a loader reads them, and the changes made to each.

    Asserts that every row, before and after it is read back, breaks no rule of a trainer.
    """
    outcomes = [
        encoded for encoded in build_rows(Shape(format_, task, **shape), samples, branch) if encoded.row is not None
    ]
    encoded = [(outcome.row, *encode_line(outcome.row, outcome.changes)) for outcome in outcomes]
    read = [orjson.loads(line) for _, line, _, _ in encoded]
    assert [find_broken_rules(format_, row) for row in read] == [[]] * len(encoded)
    assert [find_broken_rules(format_, row) for _, _, row, _ in encoded] == [[]] * len(encoded)
    return read, [set(done) for _, _, _, done in encoded]


def sides(row):
    """The speaker of each message."""
    return [message["from"] for message in row["conversations"]]


def values(row):
    """The text of each message."""
    return [message["value"] for message in row["conversations"]]


def body(number, **more):
    """The content of an annotated turn."""
    texts = {"userMessage": f"question {number}", "agentReply": f"answer {number}", "context": []}
    return orjson.dumps({"type": "annotated_turn", **texts, **more}).decode()


class Steps(list):
    """A progress that remembers every update."""

    def update(self, done, total=None, message=""):
        self.append((done, total, message))
