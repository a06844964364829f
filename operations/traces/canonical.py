"""A stored session as every format of traces reads it: message by message, redacted, without withheld words.

Only the active branch is read, without the copies that a gateway adds. Memory does not follow the number of messages.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.conf import settings

from agents.models import Agent
from datasets.exports.source import PlainRows
from datasets.json_texts import clean_value, dump_json
from datasets.markers import TokenNumbers
from datasets.redaction import Place, Redactor
from ledger import consent
from ledger.collectors.machine_prompts import prompt_kind
from ledger.collectors.records import Facts, ToolCall, read_facts
from ledger.injected_prompts import split_injected
from ledger.models import Session
from ledger.outputs.stashed_outputs import read_whole_record
from openclaw_web.lists.paging import read_batches

from .origins import TurnChains

USER, AGENT, TOOL, SYSTEM = "user", "assistant", "tool", "system"
ROLES = {"user": USER, "assistant": AGENT, "tool_result": TOOL, "compaction": SYSTEM, "branch_summary": SYSTEM}
COLUMNS = ("seq", "event_id", "turn_number", "kind", "is_synthetic", "cost_usd", "trim_json", "event_json")
TURNS = 200  # whose consent is looked up at once
STARTED = ("subagent", "task")  # nodes of the tree of started work that are sub-agents
PROVENANCE = ("kind", "sourceTool", "sourceChannel")  # of a message, as OpenClaw writes it
LONGEST = 200  # characters of a value of these
EXTERNAL = "<<<EXTERNAL_UNTRUSTED_CONTENT"  # how OpenClaw begins what it takes from elsewhere


@dataclass(slots=True)
class TraceMessage:
    """A message of a trace: its facts with markers and whole texts, without the sender and what the record details.

    `trust` is what OpenClaw says of where the words are from. `chain` is set on the first message of a turn that led to
    decisions, writes or verdicts.
    """

    seq: int
    role: str
    turn_number: int | None
    facts: Facts
    cost_usd: float | None
    trust: dict[str, Any]
    chain: dict[str, Any] | None = None

    def build_extra(self) -> dict[str, Any]:
        """The values that formats have beside the message, without those that are not known."""
        facts = self.facts
        values = {"record_id": facts.record_id, "turn": self.turn_number, "trust": self.trust, "chain": self.chain}
        values |= {"kind": facts.kind if self.role == SYSTEM else "", "attachments": facts.images + facts.files}
        values |= {"is_failed": facts.is_failed, "error": facts.error}
        return {name: value for name, value in values.items() if value not in (None, "", 0, {})}


@dataclass(eq=False)
class SessionTrace:
    """One session to be written. `numbers` count the tokens of its file, which the traces of sub-agents share.

    `counts` has what stays out of it: `opted_out`, `copies`, `withheld`, and `sub_agents` of turns of people who opted
    out. `tree` is the session in the tree of what another one started.
    """

    agent: Agent
    session: Session
    redactor: Redactor
    numbers: TokenNumbers = field(default_factory=TokenNumbers)
    tree: Any = None  # the node of automation.spawn_tree that is exported as a sub-agent
    counts: Counter[str] = field(default_factory=Counter)
    messages: int = 0

    def encode(self, value: Any) -> bytes:
        """A value as JSON, with numbered tokens in place of markers."""
        return self.numbers.encode(dump_json(value).encode())

    def redact(self, text: str | None, number: int | None = None) -> str:
        """A text with markers, and without characters that no file can hold."""
        place = Place(self.agent.agent_id, f"record:{self.session.id}/{number}")
        return clean_value(self.redactor.redact(text, place)) if text else ""

    @property
    def title(self) -> str:
        """The title; empty while words of the session are withheld, because it is made of the first ones."""
        return "" if self._hidden_turns else self.redact(split_injected(self.session.title)[1])

    @cached_property
    def is_empty(self) -> bool:
        """Whether no message may be written."""
        is_empty = next(self._iterate_messages(Counter()), None) is None
        self._chains.forget()
        return is_empty

    def read_messages(self) -> Iterator[TraceMessage]:
        """Yield the messages in order. Can be read again; `counts` and `messages` are then those of the last time."""
        self.messages = 0
        self.counts = Counter(withheld=self.session.withheld_count, sub_agents=self.counts["sub_agents"])
        for message in self._iterate_messages(self.counts):
            self.messages += 1
            yield message

    @cached_property
    def children(self) -> list[tuple["SessionTrace", str]]:
        """The sub-agents that the session started and that have messages, each once.

        With each the id of the record of the call that started it; empty where that is not known.
        """
        if "automation" in settings.DISABLED:
            return []
        from automation import spawn_tree  # imports pydantic, which pages of the site do without

        root = self.tree or spawn_tree.read_tree(self.agent, self.session.id).root
        return list(self._list_children(root, {(self.agent.agent_id, self.session.id)}))

    def _list_children(self, node, seen):
        for child in node.children:
            place = (child.agent_id, child.session_id)
            if child.kind not in STARTED or child._session is None or child.turn_number is not None or place in seen:
                continue
            seen.add(place)
            if self._hidden_turns:  # its task may quote them
                turns = self.session.events.filter(event_id=child.record_id).values_list("turn_number", flat=True)
                if child.record_id is None or not all(map(self._may_use, turns)):
                    self.counts["sub_agents"] += 1
                    continue
            agent = self.agent if child.agent_id == self.agent.agent_id else Agent(agent_id=child.agent_id)
            trace = SessionTrace(agent, child._session, self.redactor, self.numbers, child)
            trace.children = list(trace._list_children(child, seen))
            if not trace.is_empty:
                yield trace, child.record_id or ""

    @cached_property
    def _chains(self):
        return TurnChains(self.agent, self.session, self.redactor)

    @cached_property
    def _hidden_turns(self) -> set[int] | None:
        """The turns whose words may not be used today; None while nobody has opted out."""
        if not consent.read_opted_out():
            return None
        hidden: set[int] = set()
        for batch in read_batches(self.session.turns.values("id", "turn_number"), order=("turn_number",), size=TURNS):
            numbers = {row["id"]: row["turn_number"] for row in batch}
            hidden |= {numbers[name] for name in consent.find_withheld_keys(self.session._state.db, numbers)}
        return hidden

    def _may_use(self, number):
        """Whether the words of a turn may be used; those of no turn may be anybody's."""
        return self._hidden_turns is None or (number is not None and number not in self._hidden_turns)

    def _iterate_messages(self, counts):
        rows = self.session.events.filter(is_active=True, kind__in=ROLES).order_by("seq").values_list(*COLUMNS)
        reader = PlainRows(COLUMNS.index("event_json"), db=self.session._state.db)
        seq, last_turn, is_more = -1, -1, True
        while is_more:
            batch, is_more = reader.read_batch(rows.filter(seq__gt=seq))
            for values in batch:
                row = dict(zip(COLUMNS, values, strict=True))
                seq, number = row["seq"], row["turn_number"]
                if row["is_synthetic"]:
                    counts["copies"] += 1
                elif not self._may_use(number) or (self._hidden_turns and ROLES[row["kind"]] == SYSTEM):
                    counts["opted_out"] += 1  # a summary is of all turns before it
                else:
                    message = self._build_message(row, counts)
                    if number is not None and number != last_turn:
                        message.chain = self._chains.read(number)
                        last_turn = number
                    yield message

    def _build_message(self, row, counts):
        seq, number = row["seq"], row["turn_number"]
        packed = None
        if row["trim_json"]:  # read one at a time: the rests of texts are most of a long session
            packed = self.session.events.filter(seq=seq).values_list("full_zstd", flat=True).first()
        record, problem = read_whole_record(row["event_json"], packed, row["trim_json"])
        counts["outputs_lost"] += bool(problem)
        facts, place = read_facts(record), Place(self.agent.agent_id, f"record:{self.session.id}/{number}")
        calls = [
            ToolCall(
                clean_value(call.id) or f"call-{seq}-{index}",
                self.redact(call.name, number) or "unknown",
                clean_value(self.redactor.redact_json(call.arguments, place)),
            )
            for index, call in enumerate(facts.calls)
        ]
        trust = self.redactor.redact_json(self._read_trust(record, facts), place)
        texts = {name: self.redact(getattr(facts, name), number) for name in ("text", "thinking", "tool_name", "error")}
        plain = {name: clean_value(getattr(facts, name) or "") for name in ("tool_call_id", "model")}
        nothing: dict[str, Any] = {"sender": {}, "details": {}, "envelope": None, "model_prompt": ""}
        facts = replace(facts, record_id=row["event_id"], calls=calls, **texts, **plain, **nothing)
        return TraceMessage(seq, ROLES[row["kind"]], number, facts, row["cost_usd"], clean_value(trust))

    def _read_trust(self, record, facts):
        """Where the words of a message are from, as OpenClaw says: its provenance, who wrote it, foreign contents."""
        message = record.get("message")
        provenance = message.get("provenance") if isinstance(message, dict) else None
        given = {name: provenance.get(name) for name in PROVENANCE} if isinstance(provenance, dict) else {}
        given = {name: value[:LONGEST] for name, value in given.items() if isinstance(value, str)}
        trust: dict[str, Any] = {"provenance": given} if given else {}
        if facts.kind == "user":
            is_unknown = "envelope" in facts.sender
            prompt = prompt_kind(facts.sender, self.session.session_key, self.session.id)
            trust["sender"] = prompt or ("unknown" if is_unknown else "person")
        return trust | ({"has_external_content": True} if EXTERNAL in facts.text else {})
