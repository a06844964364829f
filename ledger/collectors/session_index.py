"""Reads `sessions.json`: OpenClaw's flat map, and the nested one of the specification.

The second is that of the data format specification. No Django.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import lineage
from .envelopes import is_header
from .jsonl import load_object
from .records import parse_moment_ms

SESSION_ID = re.compile(r"[A-Za-z0-9][\w.:-]{0,127}", re.ASCII)
# Names of programs' own sessions (`tui-<uuid>`), where an older key names a channel.
PROGRAM = re.compile(r"[a-z]+-[0-9a-f]{8}(?:-.*)?", re.IGNORECASE)
MAX_FILE = 4096

# Fields of an entry that are stored, and their types; everything else (snapshots, paths, other programs' state)
# is left out.
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
# Titles and recaps that a model may have made of somebody's words.
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
    """The entry of one session in the index.

    `report` holds skills, injected files and tools, without their texts.
    """

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
    """The entries of an index, one per session.

    Of two keys for one session the more specific one wins. Keys without a session are added to `unusable`. Raises
    ValueError when the file is not a JSON object.
    """
    index = load_object(data)
    nested = index.get("agents")
    if isinstance(nested, dict) and "version" in index:
        index = nested
    yield from read_entries(index, unusable)


def read_entries(index: dict[str, Any], unusable: list[str] | None = None) -> Iterator[IndexEntry]:
    """The entries of a parsed index, one per session; `unusable` as for `read`."""
    entries: dict[str, IndexEntry] = {}
    for key, entry in index.items():
        session_id = (entry.get("sessionId") or entry.get("activeSessionId")) if isinstance(entry, dict) else None
        if not isinstance(session_id, str) or not SESSION_ID.fullmatch(session_id):
            if unusable is not None and (isinstance(entry, dict) or key.startswith("agent:")):
                unusable.append(key)
            continue
        read_entry = _build_entry(key, session_id, entry)
        if (earlier := entries.get(session_id)) is not None:
            earlier.files[key] = read_entry.files[key]
            read_entry.files = earlier.files
        if earlier is None or len(key) > len(earlier.session_key):
            entries[session_id] = read_entry
        if earlier is not None:
            latest = max(earlier, read_entry, key=lambda candidate: candidate.workspace_at)
            entries[session_id].workspace, entries[session_id].workspace_at = latest.workspace, latest.workspace_at
    for read_entry in entries.values():
        if len(read_entry.files) > 1:
            read_entry.metadata["keys"] = sorted(read_entry.files)
    yield from entries.values()


def get_file_name(path: str) -> str:
    """The last name of a path of any system, Windows too."""
    return re.split(r"[/\\]", path)[-1]


def parse_session_key(key: str) -> tuple[str, str | None, str | None]:
    """`(origin, channel, target)` of a session key; origin is main, direct, group, cron, ..."""
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
    """The title that an entry gives its session: a person's before a model's."""
    return metadata.get("label") or metadata.get("displayName") or metadata.get("autoLabel") or ""


def _build_entry(key, session_id, entry):
    origin, channel, target = parse_session_key(key)
    delivery = _get_dict(entry, "deliveryContext")
    model = entry.get("model")
    if isinstance(model, dict):
        model = model.get("model")
    metadata = {name: entry[name] for name, types in KEPT.items() if _is_usable(entry.get(name), types)}
    metadata["origin"] = {k: v for k, v in _get_dict(entry, "origin").items() if isinstance(v, str)}
    metadata["prompt"] = _read_prompt(entry)
    metadata[RECAP] = _read_recap(entry.get(RECAP), session_id)
    channel = (
        _get_text(delivery, "channel") or _get_text(entry, "lastChannel") or _get_text(entry, "channel") or channel
    )
    return IndexEntry(
        session_key=key,
        session_id=session_id,
        origin=origin,
        channel=channel or "unknown",
        target=target or _get_text(delivery, "to") or _get_text(entry, "lastTo"),
        account=_get_text(delivery, "accountId") or _get_text(entry, "lastAccountId"),
        updated_at=parse_moment_ms(entry.get("updatedAt")),
        model=model if isinstance(model, str) else None,
        label=find_title(metadata),
        metadata={name: value for name, value in metadata.items() if value not in ("", {})},
        report=_read_report(entry),
        **_read_workspace(entry),
        parents=lineage.find_entry_parents(key, entry),
        files={key: (_get_text(entry, "sessionFile") or "")[:MAX_FILE]},
    )


def _read_workspace(entry):
    """The workspace of a session's last prompt.

    A prompt made in a sandbox has none, because the sandbox has a folder of its own.
    """
    report = _get_dict(entry, "systemPromptReport")
    folder, at = _get_text(report, "workspaceDir"), parse_moment_ms(report.get("generatedAt"))
    if not folder or len(folder) > MAX_PATH or _get_dict(report, "sandbox").get("sandboxed") is True:
        return {}
    return {"workspace": folder, "workspace_at": at or 0}


def _read_prompt(entry):
    """When and where the last prompt was made."""
    report, place = _get_dict(entry, "systemPromptReport"), _read_workspace(entry)
    at = parse_moment_ms(report.get("generatedAt"))
    values = {"at": at, "workspace": place.get("workspace")}
    if _get_dict(report, "sandbox").get("sandboxed") is True:
        values["isSandboxed"] = True
    return {name: value for name, value in values.items() if value}


def _read_report(entry):
    """Names and sizes of the parts of the prompt; their texts are left out."""
    report = _get_dict(entry, "systemPromptReport")
    snapshot = _get_dict(entry, "skillsSnapshot")
    skills = snapshot.get("resolvedSkills") or snapshot.get("skills") or entry.get("skills")
    tools = report.get("tools")
    report_values = {
        "skills": [_pick_named(item, description=str) for item in _valid_list(skills) if _get_name(item)],
        "files": [
            _pick_named(item, rawChars=int, injectedChars=int, truncated=bool, missing=bool)
            for item in _valid_list(report.get("injectedWorkspaceFiles"))
            if _get_name(item)
        ],
        "tools": [_get_name(item) for item in _valid_list(tools.get("entries") if isinstance(tools, dict) else None)],
        "toolSchemas": _valid_number(report.get("toolSchemas")),
        "systemPromptChars": _valid_number(_get_dict(report, "systemPrompt").get("chars"))
        or _valid_number(report.get("totalSize")),
    }
    return {name: value for name, value in report_values.items() if value}


def _read_recap(value, session_id):
    """The text of OpenClaw's recap of a session.

    It is empty for one of another session, or in an unknown shape.
    """
    if isinstance(value, dict):
        if value.get("sessionId", session_id) != session_id:
            return ""
        value = next((value[name] for name in RECAP_TEXTS if isinstance(value.get(name), str)), "")
    return value[:MAX_RECAP] if _is_usable(value, str) else ""


def _is_usable(value, types):
    """Whether a value has the type that belongs there.

    A text in place of a number is not usable.
    """
    if isinstance(value, bool) or types is bool:
        return isinstance(value, bool) and types is bool
    if isinstance(value, str):
        return isinstance(value, types) and not is_header(value)
    return isinstance(value, types) and -BIGGEST < value < BIGGEST


def _pick_named(item, **types):
    if isinstance(item, str):
        return {"name": item}
    return {
        "name": item["name"],
        **{key: item[key] for key, type_ in types.items() if _is_usable(item.get(key), type_)},
    }


def _get_name(item):
    name = item.get("name") if isinstance(item, dict) else item
    return name if isinstance(name, str) else ""


def _get_dict(entry, name):
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _valid_number(value):
    return value if _is_usable(value, int) else None


def _valid_list(value):
    return value if isinstance(value, list) else []


def _get_text(entry, name):
    value = entry.get(name)
    return value if isinstance(value, str) and value else None
