"""ATIF, the Agent Trajectory Interchange Format of Harbor (RFC 0001), written step by step.

A call and its results are one step. A result whose call is not in the step before is a step of its own, with the
result in `extra`. Sub-agents are embedded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from .canonical import AGENT, TOOL, USER, SessionTrace, TraceMessage

VERSION = "ATIF-v1.7"
SOURCES = {USER: "user", AGENT: "agent"}  # all others are the system
TOTALS = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")


def write_trajectory(trace: SessionTrace) -> Iterator[bytes]:
    """Yield the document of a session in parts."""
    session, agent_id = trace.session, trace.agent.agent_id
    agent = {"name": "openclaw", "version": "unknown", "extra": {"agent_id": agent_id}}
    head = {
        "schema_version": VERSION,
        "session_id": session.id,
        "trajectory_id": build_id(trace),
        "agent": agent | ({"model_name": session.model} if session.model else {}),
        "extra": {
            **({"title": trace.title} if trace.title else {}),
            "channel": session.channel_id,
            "origin": session.origin,
            "source": "openclaw-web",
            "started_at": format_time(session.created_at),
            "ended_at": format_time(session.last_activity_at),
        },
    }
    yield trace.encode(head)[:-1] + b',"steps":['
    totals: Counter[str] = Counter()
    yield from _write_steps(trace, totals)
    metrics = {f"total_{name}": totals[name] for name in TOTALS if name in totals} | {"total_steps": totals["steps"]}
    yield b'],"final_metrics":' + trace.encode(metrics)
    if trace.children:
        yield b',"subagent_trajectories":['
        for number, (child, _record_id) in enumerate(trace.children):
            yield b"," if number else b""
            yield from write_trajectory(child)
        yield b"]"
    yield b"}"


def build_id(trace: SessionTrace) -> str:
    """The id of a trajectory, which no other session of any agent has."""
    return f"{trace.agent.agent_id}:{trace.session.id}"


def format_time(at: int) -> str:
    """A time as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _write_steps(trace, totals):
    references = defaultdict(list)
    for child, record_id in trace.children:
        references[record_id].append({"trajectory_id": build_id(child), "session_id": child.session.id})
    end, calls, results = b"", set(), 0
    for message in trace.read_messages():
        if message.role == TOOL and message.facts.tool_call_id in calls:
            result = {"source_call_id": message.facts.tool_call_id, "content": message.facts.text}
            if refs := references.get(message.facts.record_id):
                result["subagent_trajectory_ref"] = refs
            yield b"," if results else b',"observation":{"results":['
            yield trace.encode(result | {"extra": message.build_extra()})
            results += 1
            continue
        yield end if not results else b"]}" + end
        totals["steps"] += 1
        step = build_step(message, totals["steps"])
        for name, value in step.get("metrics", {}).items():
            totals[name] += value
        yield (b"," if end else b"") + trace.encode(step)[:-1]
        end, calls, results = b"}", {call.id for call in message.facts.calls}, 0
    yield end if not results else b"]}" + end


def build_step(message: TraceMessage, number: int) -> dict[str, Any]:
    """The step of a message, without the results of its calls."""
    facts, is_result, extra = message.facts, message.role == TOOL, message.build_extra()
    source = SOURCES.get(message.role, "system")
    values: dict[str, Any] = {"step_id": number, "source": source, "message": "" if is_result else facts.text}
    if facts.created_at is not None:
        values["timestamp"] = format_time(facts.created_at)
    if is_result:
        call = {"tool_call_id": facts.tool_call_id, "function_name": facts.tool_name, "content": facts.text}
        extra["tool_result"] = {name: value for name, value in call.items() if value}
    if message.role == AGENT:
        values |= {"model_name": facts.model, "reasoning_content": facts.thinking, "metrics": build_metrics(message)}
        names = ("tool_call_id", "function_name", "arguments")
        values["tool_calls"] = [
            dict(zip(names, (call.id, call.name, call.arguments), strict=True)) for call in facts.calls
        ]
    values["extra"] = extra
    return {name: value for name, value in values.items() if value or name == "message"}


def build_metrics(message: TraceMessage) -> dict[str, float]:
    """Tokens and dollars of a model call, as far as they are known."""
    metrics: dict[str, float] = {}
    if usage := message.facts.usage:
        metrics = {"prompt_tokens": usage.prompt, "completion_tokens": usage.output, "cached_tokens": usage.cache_read}
    return metrics | ({"cost_usd": message.cost_usd} if message.cost_usd is not None else {})
