"""Counts of a written home's records, as they were written: readers must find the same."""

from collections import Counter
from dataclasses import dataclass, field, fields, is_dataclass

SYNTHETIC = ("delivery-mirror", "gateway-injected")


@dataclass(slots=True)
class Counts:
    """Counts of the records of some transcripts.

    Synthetic messages do not count in `models`, `stop_reasons`, `usage` and `cost`.

    `model_errors` are answers that failed; answers that a person stopped are not among them.
    """

    sessions: int = 0
    records: int = 0
    types: Counter = field(default_factory=Counter)
    custom_types: Counter = field(default_factory=Counter)
    roles: Counter = field(default_factory=Counter)
    turns: int = 0
    turns_off_branch: int = 0
    tool_calls: Counter = field(default_factory=Counter)
    tool_results: int = 0
    failed: Counter = field(default_factory=Counter)
    stop_reasons: Counter = field(default_factory=Counter)
    models: Counter = field(default_factory=Counter)
    synthetic: Counter = field(default_factory=Counter)
    model_errors: int = 0
    images: int = 0
    usage: Counter = field(default_factory=Counter)
    cost: float = 0.0

    def add(self, record):
        """Count one record."""
        self.records += 1
        self.types[record["type"]] += 1
        if record["type"] == "custom":
            self.custom_types[record["customType"]] += 1
        if record["type"] == "message":
            message = record["message"]
            self.roles[message["role"]] += 1
            {"user": self._user, "assistant": self._assistant, "toolResult": self._result}[message["role"]](message)

    def merge(self, other):
        """Add the counts of `other`."""
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, mine + theirs)

    @property
    def failed_tools(self):
        """Failed tool calls of every sort."""
        return sum(self.failed.values())

    def _user(self, message):
        self.turns += 1
        self.images += sum(block["type"] == "image" for block in message["content"])

    def _assistant(self, message):
        if message["model"] in SYNTHETIC:
            self.synthetic[message["model"]] += 1
            return
        self.stop_reasons[message["stopReason"]] += 1
        self.models[f"{message['provider']}/{message['model']}"] += 1
        self.model_errors += message.get("stopReason") == "error"
        self.tool_calls.update(block["name"] for block in message["content"] if block["type"] == "toolCall")
        usage = message["usage"]
        self.usage.update({name: usage[name] for name in usage if name != "cost"})
        self.cost = round(self.cost + usage["cost"]["total"], 9)

    def _result(self, message):
        self.tool_results += 1
        details = message.get("details", {})
        if message["isError"]:
            self.failed["flagged"] += 1
        elif details.get("status") in ("error", "failed"):
            self.failed["status"] += 1
        elif details.get("exitCode") not in (0, None):
            self.failed["exit_code"] += 1


@dataclass(slots=True)
class SessionTruth:
    """One transcript: its path from the home's root, its key and its counts."""

    session_id: str
    agent: str
    key: str
    file: str
    state: str
    records: int
    turns: int
    turns_off_branch: int
    first_ms: int
    last_ms: int


@dataclass(slots=True)
class Damage:
    """A line that is no record."""

    file: str
    offset: int
    reason: str


@dataclass(slots=True)
class Truth:
    """The truth about a whole home.

    `live` counts transcripts that a collector reads, `put_away` those of reset and deleted sessions.
    """

    seed: int
    until_ms: int
    live: Counts = field(default_factory=Counts)
    put_away: Counts = field(default_factory=Counts)
    agents: dict[str, Counts] = field(default_factory=dict)
    sessions: list[SessionTruth] = field(default_factory=list)
    states: Counter = field(default_factory=Counter)
    damaged: list[Damage] = field(default_factory=list)
    cron_jobs: int = 0
    cron_runs: int = 0
    subagent_runs: int = 0
    workspace_files: dict[str, int] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0

    def as_dict(self):
        """Everything as plain lists and objects."""
        return _plain(self)


def _plain(value):
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in sorted(value.items())}
    return [_plain(item) for item in value] if isinstance(value, list) else value
