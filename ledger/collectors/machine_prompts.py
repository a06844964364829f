"""Recognises prompts that OpenClaw wrote in place of a person's message.

A message's own `provenance` is believed first, then the kind of its session key, then the table of texts. A new text is
a row of TEXTS. Each row names the versions of the npm package `openclaw` whose files have it, and one such file. Pure:
no Django.
"""

import re
from dataclasses import dataclass
from typing import Any

# Kinds of prompts; `ledger.words.INJECTED_WORDS` has a word for each.
CRON, HEARTBEAT, NEW_SESSION, MEMORY_FLUSH = "cron", "heartbeat", "new_session", "memory_flush"
SYSTEM_MESSAGE, SUBAGENT_TASK, BOOT, HOOK = "system_message", "subagent_task", "boot", "hook"
TASK_RESULT, COMMAND_RESULT, OTHER_SESSION = "task_result", "command_result", "other_session"
CONTINUATION, NAMING, DREAM_DIARY, STARTUP = "continuation", "naming", "dream_diary", "startup_context"
COMMAND, INTERNAL, HANDOVER = "command", "internal", "handover"
JANUARY, FEBRUARY, SEPTEMBER = "2026.1.30", "2026.2.26", "2026.9.6"
ALL = f"{JANUARY} to {SEPTEMBER}"
SITE_TASK_PREFIX = "[OpenClaw Web task]"  # how each text begins that this site hands to an agent
HANDOVER_SESSION = "openclaw-web"  # and the part of the key of the session that it is handed over in
# The label of a task may be the task itself, over several lines.
RESULT = r'A [a-z][a-z -]{2,40} "(?:.|\n){0,4000}?" just (?:completed|timed out|failed|finished)'


@dataclass(frozen=True, slots=True)
class PromptText:
    """The beginning of a prompt's text: literal, or a pattern when `is_pattern`."""

    kind: str
    start: str
    versions: str
    file: str
    is_pattern: bool = False


TEXTS = (
    PromptText(CRON, r"\[cron:[^\]\n]{1,300}\]", ALL, "isolated-agent", is_pattern=True),
    PromptText(CRON, "[OpenClaw cron wake]", SEPTEMBER, "heartbeat"),
    PromptText(
        CRON, "A scheduled reminder has been triggered. The reminder content is:", ALL, "heartbeat-events-filter"
    ),
    PromptText(CRON, "A scheduled cron event was triggered, but", ALL, "heartbeat-events-filter"),
    PromptText(HEARTBEAT, "Read HEARTBEAT.md if it exists", ALL, "heartbeat"),
    PromptText(HEARTBEAT, "Follow the heartbeat monitor scratch context when provided.", SEPTEMBER, "heartbeat"),
    PromptText(HEARTBEAT, "[OpenClaw heartbeat poll]", SEPTEMBER, "heartbeat"),
    PromptText(
        NEW_SESSION, r"A new session was started via /(?:new|reset)\b", ALL, "session-reset-prompt", is_pattern=True
    ),
    PromptText(NEW_SESSION, r"\[OpenClaw session (?:new|reset)\]", SEPTEMBER, "get-reply", is_pattern=True),
    PromptText(NEW_SESSION, r"Wake up, my friend!\s*\Z", ALL, "onboarding.finalize", is_pattern=True),
    PromptText(MEMORY_FLUSH, "Pre-compaction memory flush", ALL, "memory-flush"),
    PromptText(SYSTEM_MESSAGE, "[System Message]", FEBRUARY, "subagent-announce"),
    PromptText(SYSTEM_MESSAGE, "[System] ", SEPTEMBER, "system-turn-prompt"),
    PromptText(SYSTEM_MESSAGE, "[SYSTEM HANDOFF] ", SEPTEMBER, "builtin-openclaw"),
    PromptText(SYSTEM_MESSAGE, "[OpenClaw session event]", SEPTEMBER, "heartbeat"),
    PromptText(SYSTEM_MESSAGE, "[OpenClaw runtime event]", SEPTEMBER, "subagent-registry"),
    PromptText(
        SYSTEM_MESSAGE,
        r"Continue the OpenClaw runtime event\.\s*\Z",
        SEPTEMBER,
        "runtime-context-prompt",
        is_pattern=True,
    ),
    PromptText(SYSTEM_MESSAGE, "[OpenClaw room event]", SEPTEMBER, "get-reply"),
    PromptText(SYSTEM_MESSAGE, "[Queue overflow] Dropped ", ALL, "state"),
    PromptText(SYSTEM_MESSAGE, "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", SEPTEMBER, "internal-runtime-context"),
    PromptText(SYSTEM_MESSAGE, "OpenClaw runtime context (internal):", SEPTEMBER, "internal-runtime-context"),
    PromptText(SUBAGENT_TASK, "[Subagent Context]", f"{FEBRUARY} to {SEPTEMBER}", "sessions-spawn-tool"),
    PromptText(SUBAGENT_TASK, "[Subagent Task]", f"{FEBRUARY} to {SEPTEMBER}", "sessions-spawn-tool"),
    PromptText(BOOT, "You are running a boot check.", ALL, "boot-md/handler"),
    PromptText(TASK_RESULT, RESULT, ALL, "subagent-announce", is_pattern=True),
    PromptText(TASK_RESULT, "A background task completed. Use this result", SEPTEMBER, "internal-events"),
    PromptText(
        TASK_RESULT,
        r"Background task (?:done|blocked|ready for review|timed out|lost|failed|cancell?ed)\b",
        SEPTEMBER,
        "task-notification-routing",
        is_pattern=True,
    ),
    PromptText(
        TASK_RESULT,
        "[Queued announce messages while agent was busy]",
        f"{JANUARY} to {FEBRUARY}",
        "subagent-announce-queue",
    ),
    PromptText(TASK_RESULT, "[Internal task completion event]", SEPTEMBER, "internal-events"),
    PromptText(TASK_RESULT, "<task-notification>", SEPTEMBER, "cli-session-history.claude"),
    PromptText(COMMAND_RESULT, "An async command you ran earlier", ALL, "heartbeat-events-filter"),
    PromptText(COMMAND_RESULT, "An async command completion event was triggered", SEPTEMBER, "heartbeat-events-filter"),
    PromptText(COMMAND_RESULT, "An async command did not run.", SEPTEMBER, "bash-tools.exec-approval-followup"),
    PromptText(
        COMMAND_RESULT,
        "An async command the user already approved has completed.",
        SEPTEMBER,
        "bash-tools.exec-approval-followup",
    ),
    PromptText(COMMAND_RESULT, "[OpenClaw exec completion]", SEPTEMBER, "heartbeat"),
    PromptText(
        HOOK,
        r"(?:Task: [^\n]{0,400}|Job ID: [^\n]{0,200}|Received: [^\n]{0,80})\n\nSECURITY NOTICE: ",
        ALL,
        "external-content",
        is_pattern=True,
    ),
    PromptText(HOOK, "SECURITY NOTICE: The following content is from an EXTERNAL", ALL, "external-content"),
    PromptText(HOOK, "<<<EXTERNAL_UNTRUSTED_CONTENT", ALL, "external-content"),
    PromptText(OTHER_SESSION, "[Inter-session message]", SEPTEMBER, "input-provenance"),
    PromptText(
        OTHER_SESSION, r"Agent-to-agent (?:announce|reply) step\b", ALL, "sessions-send-helpers", is_pattern=True
    ),
    PromptText(OTHER_SESSION, "Agent-to-agent message context:", ALL, "sessions-send-helpers"),
    PromptText(
        CONTINUATION,
        "Continue where you left off. The previous model attempt",
        f"{FEBRUARY} to {SEPTEMBER}",
        "agent-command",
    ),
    PromptText(
        CONTINUATION,
        r"The previous (?:attempt|assistant turn) (?:did not produce|recorded reasoning|completed its|compacted the)",
        SEPTEMBER,
        "embedded-agent",
        is_pattern=True,
    ),
    PromptText(
        CONTINUATION, "Continue the current task from the existing transcript, preserving", SEPTEMBER, "embedded-agent"
    ),
    PromptText(CONTINUATION, "<turn_aborted>", SEPTEMBER, "agent-core"),
    PromptText(
        NAMING, "Based on this conversation, generate a short 1-2 word filename slug", ALL, "llm-slug-generator"
    ),
    PromptText(NAMING, "Generate a concise session title (", SEPTEMBER, "dashboard-session-title"),
    PromptText(DREAM_DIARY, "Write a dream diary entry from these memory fragments", SEPTEMBER, "dreaming-narrative"),
    PromptText(STARTUP, "[Startup context loaded by runtime]", SEPTEMBER, "get-reply"),
    PromptText(STARTUP, "[Post-compaction context refresh]", f"{FEBRUARY} to {SEPTEMBER}", "post-compaction-context"),
    PromptText(
        COMMAND,
        r'Use the "[^"\n]{1,120}" skill for this request\.\s*\Z',
        ALL,
        "get-reply-inline-actions",
        is_pattern=True,
    ),
    # Commands that the gateway answers itself: alone, with one word, with words of their own.
    PromptText(
        COMMAND,
        r"/(?:help|commands|status|tasks|whoami|id|agents|stop|restart|update|new|reset|send|debug|config|mcp|plugins?"
        r"|subagents|tts)(?:@\w{1,64})?\s*\Z",
        ALL,
        "commands-registry",
        is_pattern=True,
    ),
    PromptText(
        COMMAND,
        r"/(?:models?|think(?:ing)?|t|verbose|v|trace|fast|reason(?:ing)?|elev(?:ated)?|queue|usage|activation|context"
        r"|tools)(?:@\w{1,64})?(?:(?::|[^\S\n])[^\S\n]{0,20}\S{1,200})?\s*\Z",
        ALL,
        "commands-registry",
        is_pattern=True,
    ),
    PromptText(
        COMMAND,
        r"/(?:compact|approve|allowlist)(?:@\w{1,64})?(?:(?::|[^\S\n])[^\n]{0,500})?\s*\Z",
        ALL,
        "commands-registry",
        is_pattern=True,
    ),
    PromptText(HANDOVER, SITE_TASK_PREFIX, "none: this site writes it", "guardian/handover/messages.py"),
)

STARTS = tuple(text.start for text in TEXTS if not text.is_pattern)
PATTERNS = tuple((re.compile(text.start), text.kind) for text in TEXTS if text.is_pattern)
# The first words of all patterns: a text that begins with none of them needs no match.
FIRST = re.compile(
    r"\[(?:cron:|OpenClaw )|A |Wake up|Background task |Task: |Job ID: |Received: |Agent-to-agent |The prev|Use the |"
    r"Continue the |/[a-z]"
)

# Values of `message.provenance` (input-provenance, 2026.9.6) and of its `sourceTool`.
PERSON, INTER_SESSION, SYSTEM = KINDS_OF_SOURCE = ("external_user", "inter_session", "internal_system")
SOURCES = {
    "heartbeat": HEARTBEAT,
    "cron": CRON,
    "exec": COMMAND_RESULT,
    "exec-event": COMMAND_RESULT,
    "exec_approval_followup": COMMAND_RESULT,
    "subagent_announce": TASK_RESULT,
    "subagent_settle": TASK_RESULT,
    "agent_harness_task": TASK_RESULT,
    "image_generate": TASK_RESULT,
    "music_generate": TASK_RESULT,
    "video_generate": TASK_RESULT,
    "claude_cli_task_notification": TASK_RESULT,
    "main_session_restart_recovery": CONTINUATION,
    "restart-sentinel": CONTINUATION,
    "session_goal_resume": CONTINUATION,
    "sessions.recover": CONTINUATION,
    "subagent_interrupted_resume": CONTINUATION,
    "sessions_send": OTHER_SESSION,
}
# Sessions that programs speak in, by a part of their key: `agent:<id>:cron:<job>`, `hook:<id>`.
SESSIONS = {
    "cron": CRON,
    "subagent": SUBAGENT_TASK,
    "hook": HOOK,
    "boot": BOOT,
    "heartbeat": HEARTBEAT,
    HANDOVER_SESSION: HANDOVER,
}
BOOT_ID = re.compile(r"boot-\d{4}-\d\d-\d\d")
NAMER, DREAMER = "slug-generator", "dreaming-narrative"


@dataclass(frozen=True, slots=True)
class Origin:
    """The kind of prompt by a message's provenance, or that it is unknown.

    The kind is empty for a person's words.
    """

    kind: str = ""
    is_unknown: bool = False


def text_kind(text: str, at: int = 0) -> str:
    """The kind of the prompt at this place of a text, or "" if unknown."""
    if text.startswith(STARTS, at):
        return next(row.kind for row in TEXTS if not row.is_pattern and text.startswith(row.start, at))
    if FIRST.match(text, at):
        return next((kind for pattern, kind in PATTERNS if pattern.match(text, at)), "")
    return ""


def parse_provenance(provenance: Any, text: str) -> Origin | None:
    """The origin of a message by its provenance; None when it has none."""
    if not isinstance(provenance, dict) or not provenance:
        return None
    kind, tool, prefix = (provenance.get(name) for name in ("kind", "sourceTool", "sourcePromptPrefix"))
    if kind == PERSON:
        kind = text_kind(text)  # a person's command is no question
        return Origin(kind if kind in (COMMAND, HANDOVER) else "")
    if kind in (INTER_SESSION, SYSTEM):
        name = SOURCES.get(tool.strip().lower(), "") if isinstance(tool, str) else ""
        return Origin(name or text_kind(text) or (OTHER_SESSION if kind == INTER_SESSION else INTERNAL))
    if isinstance(prefix, str) and prefix.strip() and text.startswith(prefix.strip()):
        return Origin(text_kind(text) or INTERNAL)
    return Origin(is_unknown=True) if kind is not None else None


def session_kind(session_key: str | None, session_id: str = "") -> str:
    """The kind of every prompt in a session of programs, or "".

    The session's key or id decides. The kind is empty where a person may speak.
    """
    parts = (session_key or "").split(":")
    place = parts[2:] if parts[0] == "agent" else parts
    first = place[0] if place else ""
    if first in SESSIONS or (len(place) > 1 and place[-1] == "heartbeat"):
        return SESSIONS[first if first in SESSIONS else "heartbeat"]
    if BOOT_ID.match(session_id):
        return BOOT
    if any(part.startswith(DREAMER) for part in place):
        return DREAM_DIARY
    return NAMING if NAMER in place or session_id.startswith(f"{NAMER}-") else ""


def prompt_kind(sender: dict[str, Any], session_key: str | None, session_id: str = "") -> str:
    """The kind of prompt of a user message, or "" for a person's.

    `sender` is the one that `records` reads from the message.
    """
    if "injected" in sender:
        return str(sender["injected"] or "")
    kind = session_kind(session_key, session_id)
    # OpenClaw treats tasks of this site as a person's words, because the command is that of its owner.
    return "" if sender.get("is_person") and kind != HANDOVER else kind
