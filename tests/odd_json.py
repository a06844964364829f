"""Hypothesis strategies for records and index entries with values of any JSON type."""

import copy

from hypothesis import strategies as st

from tests.homes import assistant, result, user

TEXTS = st.sampled_from(["", "x", "\x00", "\ud83d", "\u202e", "@1", "1e999", "k" * 20_000]) | st.text(max_size=8)
NUMBERS = (
    st.sampled_from([0, -1, 1.5, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 1e308, -1e308, 1e-320]) | st.integers()
)
PLAIN = st.none() | st.booleans() | NUMBERS | TEXTS
JSON = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "name", "k" * 5_000, "\ud83d", ""]), inner, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def odd(draw, value):
    """Draw `value` with a few of its parts, at any depth, replaced by any JSON."""
    value = copy.deepcopy(value)
    places = list(_find_places(value, []))
    for holder, key in draw(st.lists(st.sampled_from(places), min_size=1, max_size=4)):
        if isinstance(holder, dict) or key < len(holder):
            holder[key] = draw(JSON)
    return value


def _find_places(value, places):
    """Every place inside a value: the container and the key."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        places.append((value, key))
        _find_places(value[key], places)
    return places


CALL = ("c1", "exec", {"command": "ls", "path": "a.md"})
DETAILS = {"exitCode": 1, "status": "error", "aggregated": "done", "durationMs": 4, "diff": "+a", "cwd": "/"}
RECORDS = [
    user("Hello", idempotencyKey="k1", __openclaw={"senderId": "42", "senderIdentity": {"id": "42"}}),
    user('Sender: ⟦openclaw:ctx⟧\n```json\n{"id": "42"}\n```\n\nHello'),
    {"type": "message", "message": {"role": "user", "content": "Hello", "timestamp": 1771642801500}},
    assistant("Hi", CALL, errorMessage="no", thinking="x"),
    {
        "type": "message",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "image", "data": "x"},
                {"type": "tool_use", "id": "c2", "name": "read", "input": {"path": "a"}},
                {"type": "text", "text": "yes"},
            ],
            "usage": {"inputTokens": 5, "cost": {"total": 0.5}, "cacheReadTokens": 3},
            "stopReason": "error",
            "model": "delivery-mirror",
        },
    },
    result("c1", "done " * 3_000, details=DETAILS),
    result("c1", '{"childSessionKey": "agent:main:subagent:x"}', name="sessions_spawn", details=DETAILS),
    {
        "type": "compaction",
        "summary": "## Goal\n<read-files>\na.md\n</read-files>",
        "firstKeptEntryId": "r1",
        "tokensBefore": 5,
        "tokensAfter": 3,
        "fromHook": False,
        "details": {"readFiles": ["a.md"], "modifiedFiles": ["b.md"]},
    },
    {"type": "branch_summary", "summary": "x", "fromId": "r1"},
    {"type": "model_change", "provider": "p", "modelId": "m"},
    {"type": "thinking_level_change", "thinkingLevel": "low"},
    {"type": "custom", "customType": "model-snapshot", "data": {"timestamp": 1, "modelId": "m"}},
    {"type": "custom_message", "customType": "x", "content": [{"type": "text", "text": "t"}], "display": True},
    {"type": "session_info", "name": "n"},
    {"type": "label", "targetId": "r1", "label": "l"},
    {"type": "reset", "reason": "new"},
    {"type": "leaf", "targetId": "r1"},
    {"type": "message", "message": {"role": "bashExecution", "content": "ls", "command": "ls"}},
]
ENTRY = {
    "sessionId": "",
    "updatedAt": 1795231048843,
    "chatType": "direct",
    "deliveryContext": {"channel": "irc", "to": "irc:alice", "accountId": "default"},
    "lastChannel": "irc",
    "lastTo": "irc:alice",
    "origin": {"label": "alice", "from": "a", "to": "irc:alice"},
    "delivery": {"kind": "x", "context": {"channel": "irc"}, "origin": {"label": "a"}},
    "model": {"model": "m"},
    "label": "A label",
    "displayName": "A name",
    "subject": "s",
    "compactionCount": 1,
    "contextTokens": 200000,
    "abortedLastRun": False,
    "sessionStartedAt": 1795231048843,
    "estimatedCostUsd": 0.5,
    "spawnedBy": "agent:main:main",
    "skillsSnapshot": {"skills": [{"name": "weather", "description": "d"}], "resolvedSkills": None},
    "systemPromptReport": {
        "injectedWorkspaceFiles": [
            {"name": "SOUL.md", "rawChars": 5, "injectedChars": 4, "truncated": True, "missing": False}
        ],
        "tools": {"listChars": 1, "schemaChars": 2, "entries": [{"name": "exec"}]},
        "systemPrompt": {"chars": 5},
    },
}

# Schedules, runs and steps.
JOB = {
    "id": "j1",
    "agentId": "main",
    "name": "Daily",
    "enabled": True,
    "createdAtMs": 1771642800000,
    "updatedAtMs": 1771642800000,
    "schedule": {"kind": "cron", "expr": "0 8 * * *", "tz": "Asia/Shanghai", "everyMs": 5, "anchorMs": 1, "at": "x"},
    "payload": {"kind": "agentTurn", "message": "go"},
    "delivery": {"mode": "none"},
    "state": {"nextRunAtMs": 1771642800000, "lastRunStatus": "ok", "lastDurationMs": 5, "consecutiveErrors": 1},
}
RUN = {
    "ts": 1771642800000,
    "jobId": "j1",
    "action": "finished",
    "status": "ok",
    "error": "e",
    "summary": "s",
    "sessionId": "x",
    "runAtMs": 1771642800000,
    "durationMs": 5,
    "usage": {"input_tokens": 1, "total_tokens": 2},
    "model": "m",
}
SUBAGENT = {
    "runId": "a1",
    "childSessionKey": "agent:main:subagent:x",
    "requesterSessionKey": "agent:main:main",
    "task": "count",
    "label": "l",
    "model": "m",
    "createdAt": 1771642800000,
    "startedAt": 1771642800000,
    "endedAt": 1771642800005,
    "outcome": {"status": "ok", "error": "e"},
    "endedReason": "done",
    "cleanupHandled": True,
}
STEP = {
    "traceSchema": "openclaw-trajectory",
    "schemaVersion": 1,
    "type": "model.completed",
    "ts": "2026-02-21T03:00:01.000Z",
    "seq": 3,
    "sessionId": "",
    "runId": "run",
    "provider": "p",
    "modelId": "m",
    "data": {
        "trigger": "user",
        "toolCount": 3,
        "status": "success",
        "usage": {"input": 5, "output": 6, "cost": {"total": 0.5}},
        "systemPrompt": "You are",
        "tools": [{"name": "exec", "parameters": {"type": "object"}}],
        "aborted": False,
    },
}
