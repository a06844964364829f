"""sessions.json: one entry for each session key, in the shape the gateway writes."""

import json

SKILLS = (
    ("healthcheck", "Looks over the security of the machine OpenClaw runs on: updates, firewall, remote access."),
    ("shop-admin", "Works the Morning Tide shop from the command line: orders, stock, refunds, delivery slots."),
    ("lab-notebook", "Finds, reads and adds pages of the lab's notebook, and keeps to its numbering."),
    ("weather", "Weather now and for the next days, for one place at a time."),
)
TOOLS = (
    ("read", 298, 392, 4),
    ("edit", 129, 591, 6),
    ("write", 127, 313, 3),
    ("exec", 181, 1086, 12),
    ("process", 85, 961, 12),
    ("message", 89, 4181, 85),
    ("sessions_spawn", 134, 492, 12),
    ("session_status", 207, 89, 2),
    ("web_search", 175, 895, 6),
    ("web_fetch", 129, 374, 3),
    ("memory_search", 334, 139, 3),
    ("memory_get", 151, 128, 3),
)
INJECTED = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md")
REPORTING = frozenset({"webchat", "telegram", "group", "topic", "irc", "ircgroup"})


def write_index(path, entries):
    """Write the index of one agent: (key, entry) pairs."""
    path.write_text(json.dumps(dict(entries), ensure_ascii=False, indent=2), encoding="utf-8", newline="\n")


def build_entry(transcript, workspace, *, folder, spawned_by=None, label=None):
    """The index's entry of a session, with the token counts of its last run."""
    place, model, usage = transcript.place, transcript.model, transcript.usage
    index_entry = {
        "sessionId": transcript.session_id,
        "updatedAt": transcript.ms,
        "sessionFile": f"{folder}/agents/{place.agent}/sessions/{transcript.path.name}",
        "systemSent": True,
        "abortedLastRun": transcript.aborted,
        **_build_delivery(place),
        "modelProvider": model.provider,
        "model": model.id,
        "contextTokens": model.window,
        "inputTokens": usage["input"],
        "outputTokens": usage["output"],
        "cacheRead": usage["cacheRead"],
        "cacheWrite": usage["cacheWrite"],
        "totalTokens": usage["totalTokens"] - usage["output"],
        "totalTokensFresh": True,
    }
    if transcript.compactions:
        index_entry["compactionCount"] = transcript.compactions
    if transcript.thinking != "low":
        index_entry["thinkingLevel"] = transcript.thinking
    if spawned_by:
        index_entry |= {"spawnedBy": spawned_by, "spawnDepth": 1}
    if label:
        index_entry["label"] = label
    index_entry["skillsSnapshot"] = snapshot(folder)
    if place.kind in REPORTING:
        index_entry["systemPromptReport"] = _build_report(transcript, workspace)
    return index_entry


def _build_delivery(place):
    if place.kind not in REPORTING:
        return {}
    if place.kind == "webchat":
        return {"chatType": "direct", "deliveryContext": {"channel": "webchat"}, "lastChannel": "webchat"}
    kind = "group" if place.is_group else "direct"
    to = {"channel": place.channel, "to": place.address, "accountId": "default"}
    origin = {"label": place.label or place.name, "provider": place.channel, "surface": place.channel}
    delivery = {"chatType": kind, "deliveryContext": to, "lastChannel": place.channel}
    delivery |= {"lastTo": place.address, "lastAccountId": "default"}
    if place.is_group:
        delivery |= {"channel": place.channel, "groupId": place.name, "subject": place.label}
        delivery["displayName"] = f"{place.channel}:{place.label}"
    delivery["origin"] = origin | {"chatType": kind, "from": place.address, "to": place.address, "accountId": "default"}
    return delivery


def snapshot(folder):
    """The skills a session was started with."""
    resolved = [
        {
            "name": name,
            "description": description,
            "filePath": f"{folder}/skills/{name}/SKILL.md",
            "baseDir": f"{folder}/skills/{name}",
            "source": "openclaw-managed",
            "disableModelInvocation": False,
        }
        for name, description in SKILLS
    ]
    listed = "\n".join(
        f"  <skill>\n    <name>{skill['name']}</name>\n    <description>{skill['description']}</description>\n"
        f"    <location>{skill['filePath']}</location>\n  </skill>"
        for skill in resolved
    )
    prompt = (
        f"\n\nSkills for special tasks; read a skill's file first.\n\n<available_skills>\n{listed}\n</available_skills>"
    )
    skills = [{"name": name} for name, _ in SKILLS]
    return {"prompt": prompt, "skills": skills, "resolvedSkills": resolved, "version": 0}


def _build_report(transcript, workspace):
    files = [_build_injected(workspace, name) for name in INJECTED]
    inside = sum(file["injectedChars"] for file in files)
    return {
        "source": "run",
        "generatedAt": transcript.ms,
        "sessionId": transcript.session_id,
        "sessionKey": transcript.place.key,
        "provider": transcript.model.provider,
        "model": transcript.model.id,
        "workspaceDir": workspace.folder,
        "bootstrapMaxChars": 20_000,
        "bootstrapTotalMaxChars": 150_000,
        "sandbox": {"mode": "off", "sandboxed": False},
        "systemPrompt": {
            "chars": inside + 11_840,
            "projectContextChars": inside,
            "nonProjectContextChars": 11_840,
        },
        "injectedWorkspaceFiles": files,
        "skills": {
            "promptChars": 1_240,
            "entries": [{"name": name, "blockChars": 190 + len(summary)} for name, summary in SKILLS],
        },
        "tools": {
            "listChars": sum(chars for _, chars, _, _ in TOOLS),
            "schemaChars": sum(chars for _, _, chars, _ in TOOLS),
            "entries": [
                {"name": name, "summaryChars": summary, "schemaChars": schema, "propertiesCount": count}
                for name, summary, schema, count in TOOLS
            ],
        },
    }


def _build_injected(workspace, name):
    text = workspace.files.get(name)
    file = {"name": name, "path": f"{workspace.folder}/{name}", "missing": text is None}
    if text is None:
        return file | {"rawChars": 0, "injectedChars": 0, "truncated": False}
    return file | {"rawChars": len(text), "injectedChars": min(len(text), 20_000), "truncated": len(text) > 20_000}
