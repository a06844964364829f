"""Inserts many gate decisions with their calls, windows and prompts by SQL."""

from benchmarks.bulk_rows import MINUTE_MS, T0, insert

WEEKS_MS = 12 * 7 * 24 * 60 * MINUTE_MS
DECISION = """CASE WHEN i % 20 < 14 THEN 'NO_WRITE' WHEN i % 20 < 16 THEN 'UPDATE_USER' WHEN i % 20 < 18 THEN
'UPDATE_MEMORY' WHEN i % 60 = 18 THEN 'UPDATE_SOUL' WHEN i % 60 = 38 THEN 'UPDATE_IDENTITY' ELSE 'UPDATE_TOOLS' END"""
MODEL = "CASE WHEN i % 7 < 5 THEN 'gate-small' WHEN i % 7 = 5 THEN 'gate-large' ELSE 'gate-next' END"
ORIGIN = "CASE WHEN i % 10 < 6 THEN 'recorded' WHEN i % 10 < 9 THEN 'imported' ELSE 'own' END"
REASON = """'The user ' || CASE i % 5 WHEN 0 THEN 'says hello' WHEN 1 THEN 'asks about line ' || i
WHEN 2 THEN 'likes tea' WHEN 3 THEN '只是闲聊' ELSE 'repeats what is known, ' || (i % 40) || ' times' END || '.'"""
SLOW = "CASE WHEN i % 500 = 3 THEN 6000 ELSE 200 + i * 7919 % 3000 END"


def fill_gate(db, count, *, sessions_of=10, start=T0):
    """Insert `count` decisions of all kinds and origins within twelve weeks.

    They are on the turns of `bulk_rows.fill_agent`, with three models and a window each; every 25th call failed.
    """
    from gate.models import GateCall, GatePrompt, GateWindow, MemoryGateDecision

    about = _build_common_columns(count, sessions_of, start, "i")
    moment = about["created_at"]
    insert(
        db,
        MemoryGateDecision,
        count,
        **about | {"turn_id": f"CASE WHEN i % 100 = 7 THEN NULL ELSE {about['turn_id']} END"},
        id="printf('%026d', i)",
        decision=DECISION,
        reason=REASON,
        candidate_fact=f"CASE WHEN ({DECISION}) <> 'NO_WRITE' THEN 'The user likes tea ' || i END",
        raw_response=f"""json_object('decision', {DECISION}, 'reason', {REASON}, 'candidateFact', NULL)""",
        match="CASE WHEN i % 100 = 7 THEN 'none' WHEN i % 10 < 6 THEN 'given' ELSE 'near' END",
        sources="CASE WHEN i % 10 < 6 THEN 1 WHEN i % 10 < 9 THEN 2 ELSE 8 END",
        session_key="'agent:main:direct:' || i",
        window_hash="printf('%064x', i)",
        saw_user="i % 5 > 0",
    )
    insert(
        db,
        GateCall,
        count // 5,
        **_build_common_columns(count, sessions_of, start, "(i * 5)"),
        id="printf('call%022d', i)",
        decision_id="CASE WHEN i % 5 THEN printf('%026d', i * 5) END",
        outcome="CASE WHEN i % 5 THEN 'decided' WHEN i % 10 THEN 'failed' ELSE 'malformed' END",
        failure="CASE WHEN i % 5 THEN '' WHEN i % 10 THEN 'timeout' ELSE 'not_json' END",
        reason="CASE WHEN i % 5 THEN '' ELSE 'The endpoint did not answer.' END",
    )
    window = "x'28b52ffd0458210000616263641a5b1c7f'"
    insert(db, GateWindow, count, hash="printf('%064x', i)", body_zstd=window, message_count="10", created_at=moment)
    texts = {"id": "'prompt-' || (i + 1)", "text": "'Decide what to keep, version ' || i", "created_at": str(start)}
    insert(db, GatePrompt, 6, **texts)  # one for each two weeks


def fill_verdicts(db, every=10):
    """Store a verdict on every tenth decision, with its sums."""
    from openclaw_web.sqlite import statements

    word = "CASE WHEN rowid % 30 THEN 'right' ELSE 'wrong' END"
    statements.run(db, f"UPDATE memory_gate_decisions SET verdict = {word} WHERE rowid % {every} = 0")
    statements.run(
        db,
        "INSERT INTO gate_verdict_days (day, decision, verdict, llm_model, prompt_version, total) "
        "SELECT created_at - created_at % 86400000, decision, verdict, COALESCE(llm_model, ''), "
        "COALESCE(prompt_version, ''), COUNT(*) FROM memory_gate_decisions WHERE verdict IS NOT NULL "
        "GROUP BY 1, 2, 3, 4, 5",
    )


def _build_common_columns(count, sessions_of, start, i):
    """The columns that a decision and a call share; `i` is the decision's number."""
    session = f"printf('%08d', {i} / {sessions_of})"
    return {
        "session_id": session,
        "turn_id": f"{session} || ':r' || {i}",
        "llm_model": MODEL,
        "prompt_version": f"'prompt-' || (1 + {i} * 6 / {count})",
        "created_at": f"{start} + {i} * {WEEKS_MS} / {count}",
        "origin": ORIGIN,
        "prompt_tokens": "400 + i % 900",
        "completion_tokens": "i % 90",
        "llm_latency_ms": SLOW,
        "cost_usd": "CASE WHEN i % 3 THEN 0.0001 * (1 + i % 9) END",
    }
