"""`sessions.json`: the flat map OpenClaw writes, and the nested one of the data format specification. No Django."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import lineage
from .envelopes import is_header
from .jsonl import load_object
from .records import parse_moment_ms

SESSION_ID = re.compile(r"[A-Za-z0-9][\w.:-]{0,127}", re.ASCII)
# What a program calls its own sessions (`tui-<uuid>`) where a key of older times names a channel.
PROGRAM = re.compile(r"[a-z]+-[0-9a-f]{8}(?:-.*)?", re.IGNORECASE)
MAX_FILE = 4096

# What an entry may say about a session, and in which types; everything else (snapshots, paths, other programs' state)
# is left behind.
KEPT: dict[str, type | tuple[type, ...]] = {
    "chatType": str,
    "label": str,
    "displayName": str,
    "subject": str,
    "compactionCount": (int, float),
    "memoryFlushAt": (int, float),
    "thinkingLevel": str,
    "providerOverride": str,
    "modelOverride": str,
    "spawnedBy": str,
    "spawnDepth": (int, float),
    "groupId": (str, int),
    "groupChannel": str,
    "contextTokens": (int, float),
    "abortedLastRun": bool,
    "sessionStartedAt": (int, float),
    "lastInteractionAt": (int, float),
    "estimatedCostUsd": (int, float),
    "status": str,
    # OpenClaw 2026.9.7 and later.
    "autoLabel": str,
    "pinnedAt": (int, float),
    "archivedAt": (int, float),
    "snoozedUntil": (int, float),
}
# Titles and recaps that a model may have made of what somebody said.
MODEL_TEXT_FIELDS = ("label", "displayName", "autoLabel", "activitySummary")
RECAP, RECAP_TEXTS = "activitySummary", ("text", "summary", "recap")
MAX_RECAP = 4_000  # characters
BIGGEST = 2**53
MAX_PATH = 4096
DIRECT = ("direct", "dm")
OF_ACCOUNT = tuple(f"{word}:" for word in DIRECT)
NAMED_ORIGINS = frozenset({"main", "cron", "subagent", "openai", "dashboard", "hook", "acp", "openclaw-web"})
CHANNEL_OF_ORIGIN = {
    "openai": "openai",
    "cron": "cron",
    "subagent": "subagent",
    "dashboard": "webchat",
    "main": "webchat",
}


@dataclass(slots=True)
class IndexEntry:
    """What the index says about one session; `report` holds skills, injected files and tools, without their texts."""

    session_key: str
    session_id: str
    origin: str
    channel: str
    target: str | None = None
    account: str | None = None
    updated_at: int | None = None
    model: str | None = None
    label: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    workspace: str = ""  # where the last prompt was made, and when
    workspace_at: int = 0
    parents: list[str] = field(default_factory=list)  # sessions it may repeat records of (lineage)
    # Every key of the session -> the transcript it names, as written: a path on the machine where OpenClaw runs.
    files: dict[str, str] = field(default_factory=dict)


def read(data: bytes, unusable: list[str] | None = None) -> Iterator[IndexEntry]:
    """The entries of an index, one per session: of two keys for one session the more specific one wins.

    Keys without a session are added to `unusable`. Raises ValueError when the file is not a JSON object.
    """
    index = load_object(data)
    nested = index.get("agents")
    if isinstance(nested, dict) and "version" in index:
        index = nested
    yield from read_entries(index, unusable)


def read_entries(index: dict[str, Any], unusable: list[str] | None = None) -> Iterator[IndexEntry]:
    """The entries of an index that has been parsed, one per session; `unusable` as for `read`."""
    found: dict[str, IndexEntry] = {}
    for key, entry in index.items():
        session_id = (entry.get("sessionId") or entry.get("activeSessionId")) if isinstance(entry, dict) else None
        if not isinstance(session_id, str) or not SESSION_ID.fullmatch(session_id):
            if unusable is not None and (isinstance(entry, dict) or key.startswith("agent:")):
                unusable.append(key)
            continue
        read_entry = _entry(key, session_id, entry)
        if (earlier := found.get(session_id)) is not None:
            earlier.files[key] = read_entry.files[key]
            read_entry.files = earlier.files
        if earlier is None or len(key) > len(earlier.session_key):
            found[session_id] = read_entry
        if earlier is not None:
            latest = max(earlier, read_entry, key=lambda one: one.workspace_at)
            found[session_id].workspace, found[session_id].workspace_at = latest.workspace, latest.workspace_at
    for read_entry in found.values():
        if len(read_entry.files) > 1:
            read_entry.metadata["keys"] = sorted(read_entry.files)
    yield from found.values()


def get_file_name(path: str) -> str:
    """The last name of a path that some system wrote, Windows too."""
    return re.split(r"[/\\]", path)[-1]


def parse_session_key(key: str) -> tuple[str, str | None, str | None]:
    """What a session key says: origin (main, direct, group, cron, ...), channel, target."""
    parts = key.split(":", 4)
    if parts[0] == "channel" and len(parts) >= 2:
        return "channel", parts[1], ":".join(parts[2:]) or None
    if parts[0] != "agent" or len(parts) < 3:
        return "unknown", None, None
    if parts[2] in NAMED_ORIGINS:
        return parts[2], CHANNEL_OF_ORIGIN.get(parts[2]), None
    if len(parts) >= 4 and parts[2] in DIRECT:  # one session for a person on all channels
        return "direct", None, ":".join(parts[3:])
    if len(parts) >= 5 and parts[3] in (*DIRECT, "group", "channel", "room", "thread"):
        return ("direct" if parts[3] == "dm" else parts[3]), parts[2], parts[4]
    if len(parts) >= 5 and parts[4].startswith(OF_ACCOUNT):  # and one for a person on each account of a channel
        return "direct", parts[2], parts[4].partition(":")[2]
    channel = None if len(parts) == 3 or PROGRAM.fullmatch(parts[2]) else parts[2]
    return "unknown", channel, ":".join(parts[3:]) or None


def find_title(metadata: dict[str, Any]) -> str:
    """The title that an entry gives its session: a person's before one that a model made."""
    return metadata.get("label") or metadata.get("displayName") or metadata.get("autoLabel") or ""


def _entry(key, session_id, entry):
    origin, channel, target = parse_session_key(key)
    delivery = _dict(entry, "deliveryContext")
    model = entry.get("model")
    if isinstance(model, dict):
        model = model.get("model")
    metadata = {name: entry[name] for name, types in KEPT.items() if _is_usable(entry.get(name), types)}
    metadata["origin"] = {k: v for k, v in _dict(entry, "origin").items() if isinstance(v, str)}
    metadata["prompt"] = _prompt(entry)
    metadata[RECAP] = _recap(entry.get(RECAP), session_id)
    channel = _text(delivery, "channel") or _text(entry, "lastChannel") or _text(entry, "channel") or channel
    return IndexEntry(
        session_key=key,
        session_id=session_id,
        origin=origin,
        channel=channel or "unknown",
        target=target or _text(delivery, "to") or _text(entry, "lastTo"),
        account=_text(delivery, "accountId") or _text(entry, "lastAccountId"),
        updated_at=parse_moment_ms(entry.get("updatedAt")),
        model=model if isinstance(model, str) else None,
        label=find_title(metadata),
        metadata={name: value for name, value in metadata.items() if value not in ("", {})},
        report=_report(entry),
        **_workspace(entry),
        parents=lineage.find_entry_parents(key, entry),
        files={key: (_text(entry, "sessionFile") or "")[:MAX_FILE]},
    )


def _workspace(entry):
    """The workspace of a session's last prompt; none of one made in a sandbox, which has a folder of its own."""
    report = _dict(entry, "systemPromptReport")
    folder, at = _text(report, "workspaceDir"), parse_moment_ms(report.get("generatedAt"))
    if not folder or len(folder) > MAX_PATH or _dict(report, "sandbox").get("sandboxed") is True:
        return {}
    return {"workspace": folder, "workspace_at": at or 0}


def _prompt(entry):
    """When and where the last prompt was made."""
    report, place = _dict(entry, "systemPromptReport"), _workspace(entry)
    at = parse_moment_ms(report.get("generatedAt"))
    about = {"at": at, "workspace": place.get("workspace")}
    if _dict(report, "sandbox").get("sandboxed") is True:
        about["isSandboxed"] = True
    return {name: value for name, value in about.items() if value}


def _report(entry):
    """Names and sizes of what went into the prompt; the texts themselves stay where they are."""
    report = _dict(entry, "systemPromptReport")
    snapshot = _dict(entry, "skillsSnapshot")
    skills = snapshot.get("resolvedSkills") or snapshot.get("skills") or entry.get("skills")
    tools = report.get("tools")
    found = {
        "skills": [_named(item, description=str) for item in _list(skills) if _name(item)],
        "files": [
            _named(item, rawChars=int, injectedChars=int, truncated=bool, missing=bool)
            for item in _list(report.get("injectedWorkspaceFiles"))
            if _name(item)
        ],
        "tools": [_name(item) for item in _list(tools.get("entries") if isinstance(tools, dict) else None)],
        "toolSchemas": _number(report.get("toolSchemas")),
        "systemPromptChars": _number(_dict(report, "systemPrompt").get("chars")) or _number(report.get("totalSize")),
    }
    return {name: value for name, value in found.items() if value}


def _recap(value, session_id):
    """The text of OpenClaw's recap of a session; empty for one of another session, or in an unknown shape."""
    if isinstance(value, dict):
        if value.get("sessionId", session_id) != session_id:
            return ""
        value = next((value[name] for name in RECAP_TEXTS if isinstance(value.get(name), str)), "")
    return value[:MAX_RECAP] if _is_usable(value, str) else ""


def _is_usable(value, types):
    """Whether a value has the type that belongs there; a text where a number belongs is none."""
    if isinstance(value, bool) or types is bool:
        return isinstance(value, bool) and types is bool
    if isinstance(value, str):
        return isinstance(value, types) and not is_header(value)
    return isinstance(value, types) and -BIGGEST < value < BIGGEST


def _named(item, **types):
    if isinstance(item, str):
        return {"name": item}
    return {
        "name": item["name"],
        **{key: item[key] for key, type_ in types.items() if _is_usable(item.get(key), type_)},
    }


def _name(item):
    name = item.get("name") if isinstance(item, dict) else item
    return name if isinstance(name, str) else ""


def _dict(entry, name):
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _number(value):
    return value if _is_usable(value, int) else None


def _list(value):
    return value if isinstance(value, list) else []


def _text(entry, name):
    value = entry.get(name)
    return value if isinstance(value, str) and value else None
