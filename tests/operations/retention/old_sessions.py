"""Homes with old sessions of every kind, for tests of retention and archives."""

import ast
from pathlib import Path

import orjson

from ledger.collectors.jsonl import Line, parse_line
from ledger.transcripts import removal, transcript_store
from operations.retention import session_selection
from tests import homes
from tests.operations.backups.backup_homes import run

BIG = "\n".join(f"line {number} of an output" for number in range(2_000))
SECRET = "password = hunter2hunter2\n" + "filling\n" * 2_000


def fill(home, *, sessions=3, turns=4, agents=("main", "research")):
    """Collect sessions of 2026-02-21 with calls, big outputs, secrets, branches, compactions and damaged lines."""
    source = homes.Home(Path(f"{home}-source"), agents=agents)
    scripts = [_session(source, agents[number % len(agents)], number, turns) for number in range(sessions)]
    source.index(
        {
            f"agent:main:telegram:direct:{number}": {
                "sessionId": script.session,
                "chatType": "direct",
                "channel": "telegram",
                "systemPromptReport": {"skills": {"entries": [{"name": f"skill-{number % 2}", "blockChars": 3}]}},
            }
            for number, script in enumerate(scripts)
            if agents[number % len(agents)] == "main"
        }
    )
    assert run(home, "collect")[0] in (0, 4)
    return source, scripts


def _session(source, agent, number, turns):
    script = source.transcript(agent=agent)
    for turn in range(turns):
        call = f"c{turn}"
        script.add(homes.user(f"Question {number} {turn} 🦞"), homes.assistant("", (call, "exec", {"n": turn})))
        output = (BIG, SECRET, "x" * 9_000, f"short {turn}")[turn % 4]
        script.add(homes.result(call, output), homes.assistant(f"Answer {turn} " + "y" * (turn % 2) * 9_000))
    script.add({"type": "compaction", "summary": "what was", "firstKeptEntryId": "r1", "tokensBefore": 5})
    script.add(homes.user("Another way?") | {"parentId": "r2"}, homes.assistant("Yes."))
    return script.raw("no record\n")


def store(session_id, records, *, damaged=True):
    """Store a session with these records for ada; returns its id.

    With `damaged`, a line that is no record follows.
    """
    lines, offset = [], 0
    for number, record in enumerate(records):
        raw = orjson.dumps({"id": f"r{number}", "timestamp": f"2026-02-21T03:00:{number:02d}.000Z"} | record) + b"\n"
        lines.append(parse_line(Line(offset, offset + len(raw), raw.strip())))
        offset += len(raw)
    if damaged:
        lines.append(Line(offset, offset + 2, b"no", None, "not_json", "no"))
    transcript_store.store_transcript(
        "agent_ada", transcript_store.Transcript(session_id, f"{session_id}.jsonl", 5), iter(lines)
    )
    return session_id


def remove(session_id, before):
    """Remove a session as retention does, when no evidence needs it."""

    def needed_by(session_id):
        return session_selection.find_evidence("ada", "agent_ada", session_id)

    return removal.remove_session("agent_ada", session_id, before=before, needed_by=needed_by, why="retention")


def count_kept(before):
    """Count the sessions of ada that stay when older ones are removed, by their evidence."""
    return dict(session_selection.count_old_sessions("ada", "agent_ada", before).kept_counts)


def select_day_sums(tables):
    """Return the sums of each agent and day in `tables`.

    Columns that count only sessions that still exist are left out.
    """
    names = 2 + 12  # agent and day; how many sessions, turns, tokens
    return [ast.literal_eval(row)[:names] for row in tables["state/openclaw.sqlite", "agent_daily_stats"]]
