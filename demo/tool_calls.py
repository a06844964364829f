"""Tool calls as the 2026.2 tools answer them: arguments, text, `details` and duration."""

import json
from dataclasses import dataclass

from . import moments

RUNNING = "Command still running (session {session}, pid {pid}). Use process (list/poll/log/kill) for follow-up."
TEXT_TOOLS = frozenset({"read", "write", "edit"})
SECONDS = {"exec": (0.02, 4), "web_fetch": (0.3, 2.6), "web_search": (0.4, 1.9), "memory_search": (0.05, 0.6)}
MAIN_ARGUMENT = {
    "exec": "command",
    "read": "path",
    "memory_search": "query",
    "memory_get": "path",
    "web_search": "query",
    "web_fetch": "url",
}
ALWAYS = {"web_search": {"count": 5}, "web_fetch": {"extractMode": "markdown"}}


@dataclass(slots=True)
class ToolAnswer:
    """The answer of a tool."""

    text: str
    details: dict | None = None
    is_error: bool = False
    took_ms: int = 20


def plan_call(call, fill, workspace, ms):
    """The tool and the arguments of a call; `append` and `note` become edits."""
    tool, target, text = call.tool, fill(call.target), fill(call.text)
    if tool == "note":
        tool, target = "append", f"memory/{moments.format_day(ms)}.md"
        if target not in workspace.files:
            return "write", {"path": target, "content": f"# {moments.format_day(ms)}\n\n{text}\n"}
    if tool == "append":
        path, _, section = target.partition(" ")
        old, new = workspace.append_to(path, section, text)
        return "edit", {"path": path, "oldText": old, "newText": new}
    if tool == "edit":
        old, _, new = text.partition("\n=>\n")
        return tool, {"path": target, "oldText": old, "newText": new}
    if tool == "write":
        return tool, {"path": target, "content": f"{text}\n"}
    if tool == "message":
        channel, _, to = target.partition(" ")
        return tool, {"action": "send", "channel": channel, "target": to, "message": text}
    if tool == "sessions_spawn":
        return tool, {"task": text, "label": target}
    if tool in MAIN_ARGUMENT:
        return tool, {MAIN_ARGUMENT[tool]: text, **ALWAYS.get(tool, {})}
    return tool, json.loads(text) if text else {}


def answer_call(tool, arguments, result, workspace, chance, ms):
    """Answer a tool call as the story says, else as the workspace has it."""
    low, high = SECONDS.get(tool, (0.005, 0.06))
    took_ms = chance.between(low, high)
    outcome, _, code = (result.how if result else "").partition(" ")
    text = result.text if result else ""
    if outcome == "failed":
        error = {"status": "error", "tool": tool, "error": text}
        return ToolAnswer(json.dumps(error, ensure_ascii=False, indent=2), error, took_ms=took_ms)
    if outcome == "thrown":
        return ToolAnswer(text, {}, is_error=True, took_ms=took_ms)
    if tool == "exec":
        return _exec(text, outcome, int(code or 0), workspace, chance, ms, took_ms)
    tool_answer = MADE.get(tool, _plain)(arguments, text, workspace, chance)
    tool_answer.took_ms = took_ms
    return tool_answer


def _exec(text, outcome, code, workspace, chance, ms, took_ms):
    if outcome == "running":
        session, pid = f"{chance.choice(('calm', 'swift', 'warm'))}-{chance.choice(('reef', 'oven', 'pier'))}", 4_711
        details = {"status": "running", "sessionId": session, "pid": pid, "startedAt": ms, "cwd": workspace.folder}
        return ToolAnswer(RUNNING.format(session=session, pid=pid), details | {"tail": text}, took_ms=10_000)
    text = text or "(no output)"
    if code:
        text += f"\n\n(Command exited with code {code})"
    details = {"status": "completed", "exitCode": code, "durationMs": took_ms, "aggregated": text}
    return ToolAnswer(text, details | {"cwd": workspace.folder}, took_ms=took_ms + 8)


def _read(arguments, text, workspace, _chance):
    if not text and arguments["path"] not in workspace.files:
        path = f"{workspace.folder}/{arguments['path']}"
        error = {"status": "error", "tool": "read", "error": f"ENOENT: no such file or directory, access '{path}'"}
        return ToolAnswer(json.dumps(error, ensure_ascii=False, indent=2), error)
    return ToolAnswer(text or workspace.files[arguments["path"]])


def _write(arguments, _text, workspace, _chance):
    path, content = arguments["path"], arguments["content"]
    if not path.startswith("/"):
        workspace.files[path] = content
    return ToolAnswer(f"Successfully wrote {len(content.encode())} bytes to {path}")


def _edit(arguments, _text, workspace, _chance):
    diff, first = workspace.edit(arguments["path"], arguments["oldText"], arguments["newText"])
    details = {"diff": diff, "firstChangedLine": first}
    return ToolAnswer(f"Successfully replaced text in {arguments['path']}.", details)


def _memory_search(_arguments, text, _workspace, _chance):
    results = []
    for line in text.splitlines():
        place, score, snippet = (part.strip() for part in line.split("|", 2))
        path, _, first = place.partition("#")
        citation = {"snippet": snippet, "source": "memory", "citation": f"{path}#L{first}"}
        results.append({"path": path, "startLine": int(first), "endLine": int(first), "score": float(score)} | citation)
    content = {"results": results, "provider": "openai", "model": "text-embedding-3-small"}
    return _json(content | {"citations": "auto", "mode": "hybrid"})


def _memory_get(arguments, text, workspace, _chance):
    path = arguments["path"]
    return _json({"text": text or workspace.files.get(path, ""), "path": path})


def _web_search(arguments, text, _workspace, chance):
    rows = [[part.strip() for part in line.split("|", 2)] for line in text.splitlines()]
    results = [dict(zip(("title", "url", "description"), row, strict=True)) for row in rows]
    content = {"query": arguments["query"], "provider": "brave", "count": len(results)}
    return _json(content | {"tookMs": chance.randint(180, 900), "results": results})


def _web_fetch(arguments, text, _workspace, chance):
    title, _, body = text.partition("\n")
    content = {"url": arguments["url"], "finalUrl": arguments["url"], "status": 200, "contentType": "text/html"}
    content |= {"title": title, "extractMode": "markdown", "extractor": "readability", "truncated": False}
    return _json(content | {"length": len(body), "tookMs": chance.randint(200, 1_900), "text": body})


def _message(arguments, _text, _workspace, chance):
    return _json({"ok": True, "messageId": str(chance.randint(2_000, 9_000)), "chatId": arguments["target"]})


def _plain(_arguments, text, _workspace, _chance):
    return ToolAnswer(text, {})


def _json(content):
    return ToolAnswer(json.dumps(content, ensure_ascii=False, indent=2), content)


MADE = {
    "read": _read,
    "write": _write,
    "edit": _edit,
    "memory_search": _memory_search,
    "memory_get": _memory_get,
    "web_search": _web_search,
    "web_fetch": _web_fetch,
    "message": _message,
}
