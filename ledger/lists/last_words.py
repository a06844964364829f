"""How the last reply of each session begins, or the prompt that waits for one."""

import re
from dataclasses import dataclass

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.json_columns import encode

from ..injected_prompts import InjectedPrompt, split_injected

READ = 400  # characters of each side: the prefix that OpenClaw adds is cut away
SHOWN = 160
MARKS = re.compile(r"\*\*|`+|(?m:^\s{0,3}(?:#{1,6}|>|[-*]|\d{1,3}\.)\s+)")  # of Markdown, which a line does without
# One step in the index for each session; turns that have left the active branch are passed over.
LAST = f"""
    SELECT listed.value, substr(turn.user_message_content, 1, {READ}), substr(turn.agent_message_content, 1, {READ}),
        turn.user_from, turn.user_metadata
    FROM {dialect.json_array("listed")} JOIN conversation_turns turn
    ON turn.session_id = listed.value AND turn.turn_number = (
        SELECT own.turn_number FROM conversation_turns own WHERE own.session_id = listed.value AND own.is_active
        ORDER BY own.turn_number DESC LIMIT 1)
"""  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class LastWords:
    """The last words of a session, on one line.

    `is_reply` is True when the agent said it; `injected` is set when OpenClaw sent the prompt, not a person.
    `user_from` and `user_metadata` are columns of the turn that name its sender.
    """

    text: str
    is_reply: bool
    injected: InjectedPrompt | None
    user_from: str | None = None
    user_metadata: str | None = None


def read_last_words(db: str, session_ids: list[str]) -> dict[str, LastWords]:
    """The last words of these sessions; sessions without a turn have none."""
    rows = statements.read_rows(db, LAST, [encode(session_ids)])
    return {session_id: _build_last_words(*turn) for session_id, *turn in rows}


def _build_last_words(user, reply, *sender):
    injected, prompt = split_injected(user)
    return LastWords(" ".join(MARKS.sub("", reply or prompt).split())[:SHOWN], bool(reply), injected, *sender)
