"""Inserts many memory writes with their versions, rollbacks and corrections by SQL."""

import json

from benchmarks.bulk_rows import MINUTE_MS, WORDS, checkpoint_wal, insert
from openclaw_web import clock

WEEKS_MS = 12 * 7 * 24 * 60 * MINUTE_MS
FILES = json.dumps(["MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "TOOLS.md"])
FILE = f"json_extract('{FILES}', '$[' || ({{number}}) || ']')"
STATUS = """CASE WHEN i % 10 = 2 THEN 'refused' WHEN i % 1000 = 3 THEN 'failed' WHEN i % 100 = 4 THEN 'skipped'
WHEN i % 50 = 5 THEN 'rolled_back' ELSE 'written' END"""
ORIGIN = """CASE WHEN i % 50 = 6 THEN 'rollback' WHEN i % 20 = 11 THEN 'unattributed' WHEN i % 40 = 13 THEN 'own'
WHEN i % 3 THEN 'imported' ELSE 'recorded' END"""
LINE = "'- The user likes tea of the kind number ' || i || ', as they said in the afternoon.' || char(10)"
SAME = LINE.replace("|| i ||", "|| 0 ||")  # a write changes the first line
RULES = 100  # active rules


def fill(db, count, versions, length, *, start=None):
    """Insert `count` writes within twelve weeks, with versions, rollbacks and corrections.

    There are `versions` versions of `length` bytes, half of them of MEMORY.md. The writes are on the turns of
    `bulk_rows.fill_agent`.
    """
    start = clock.now_ms() - WEEKS_MS if start is None else start
    _fill_versions(db, versions, length, start)
    _fill_writes(db, count, versions, start)
    _fill_outcomes(db, count, start)
    checkpoint_wal(db)


def _fill_versions(db, versions, length, start):
    from guardian.models import FileSnapshot

    name = FILE.format(number="CASE WHEN i % 2 THEN 0 ELSE 1 + i / 2 % 4 END")
    insert(
        db,
        FileSnapshot,
        versions,
        id=_build_version_id("i"),
        file_name=name,
        content=f"substr({LINE} || replace(printf('%0{1 + length // 60}d', 0), '0', {SAME}), 1, {length})",
        content_hash="printf('%064x', i)",
        created_at=f"{start} + i * {WEEKS_MS} / {versions}",
        size_bytes=str(length),
    )


def _build_version_id(i):
    name = FILE.format(number=f"CASE WHEN ({i}) % 2 THEN 0 ELSE 1 + ({i}) / 2 % 4 END")
    return f"{name} || printf('@%032x@', {i}) || ({i})"


# Long because it names the columns of a table.
def _fill_writes(db, count, versions, start):
    """Insert writes; every version but the first ones is the result of one of them.

    All others have no versions.
    """
    from guardian.models import WriteGuardianAudit

    each, session = max(count // versions, 1), "printf('%08d', i / 10)"
    version = f"(i / {each})"
    has_sides = f"i % {each} = 0 AND {version} BETWEEN 8 AND {versions - 1}"
    before = f"{version} - CASE WHEN {version} % 2 THEN 2 ELSE 8 END"
    is_reported = f"({ORIGIN}) <> 'unattributed'"
    matched = f"{is_reported} AND i % 100 <> 7"
    insert(
        db,
        WriteGuardianAudit,
        count,
        id="printf('%026d', i)",
        session_id=f"CASE WHEN {is_reported} THEN {session} END",
        session_key=f"CASE WHEN {is_reported} THEN 'agent:main:direct:' || (i / 10) END",
        turn_id=f"CASE WHEN {matched} THEN {session} || ':r' || i END",
        decision_id=f"CASE WHEN {is_reported} THEN printf('%026d', i) END",
        target_file=FILE.format(number=f"CASE WHEN {version} % 2 THEN 0 ELSE 1 + {version} / 2 % 4 END"),
        candidate_fact=f"CASE WHEN {is_reported} THEN 'likes tea number ' || i END",
        reason=f"'The user said: ' || {WORDS}",
        status=STATUS,
        origin=ORIGIN,
        match=f"CASE WHEN {matched} THEN 'near' ELSE 'none' END",
        sources=f"CASE WHEN {is_reported} THEN 1 + i % 3 ELSE 8 END",
        before_snapshot_id=f"CASE WHEN {has_sides} THEN {_build_version_id(before)} END",
        after_snapshot_id=f"CASE WHEN {has_sides} THEN {_build_version_id(version)} END",
        diff=f"CASE WHEN {has_sides} THEN '@@ -1 +1 @@' || char(10) || '-' || {LINE} || '+' || {LINE} END",
        hunks_json=f"CASE WHEN {has_sides} THEN '[[0,1,0,1]]' END",
        lines_added="1 + i % 4",
        lines_removed="i % 3",
        lines_modified="i % 2",
        llm_model="'guardian-small'",
        llm_latency_ms="400 + i * 7919 % 900",
        agent_steps="3",
        rule_id=f"CASE WHEN i % 500 = 8 THEN printf('correction-%020d', i / 500 % {RULES}) END",
        created_at=f"{start} + i * {WEEKS_MS} / {count}",
    )


def _fill_outcomes(db, count, start):
    """Insert statuses, receipts, rollbacks, corrections (some are rules), and proposals."""
    from guardian.models import GuardianReceipt, GuardianStatus, Rollback

    name, moment = "printf('%026d', i)", f"{start} + i * {WEEKS_MS} / {count}"
    given = {"given_by": "'otto'", "created_at": moment}
    insert(db, GuardianStatus, count, id="i + 1", audit_id=name, status=STATUS, **given)
    insert(db, GuardianReceipt, count, id=name, audit_id=name, body_sha256="printf('%064x', i)")
    insert(
        db,
        Rollback,
        count // 50,
        id="printf('rollback-%020d', i)",
        audit_id="printf('%026d', i * 50 + 5)",
        own_audit_id="printf('%026d', i * 50 + 6)",
        rolled_back_at=f"{start} + i * 50 * {WEEKS_MS} / {count} + 1000",
        rolled_back_by="'otto'",
        reason="'It is wrong.'",
        previous_status="'written'",
    )
    _fill_corrections(db, count, start)
    _fill_proposals(db, count, start)


def _fill_corrections(db, count, start):
    from guardian.models import BehaviorCorrection

    is_rule = f"i < {RULES}"
    insert(
        db,
        BehaviorCorrection,
        count // 50,
        id="printf('correction-%020d', i)",
        audit_id="printf('%026d', i * 50 + 7)",
        original_status="'written'",
        original_candidate_fact="'likes tea number ' || (i * 50 + 7)",
        original_target_file="'MEMORY.md'",
        corrected_status="'refused'",
        correction_reason="'It is said every day.'",
        apply_to_future=is_rule,
        correction_pattern=f"CASE WHEN {is_rule} THEN 'likes coffee number ' || i || '[0-9]+' END",
        corrected_by="'user' || (i % 7)",
        corrected_at=f"{start} + i * 50 * {WEEKS_MS} / {count} + 2000",
    )


def _fill_proposals(db, count, start):
    from guardian.models import GuardianRun

    insert(
        db,
        GuardianRun,
        count // 50,
        id="printf('run-%020d', i)",
        decision_id="printf('%026d', i * 50 + 9)",
        session_id="printf('%08d', i * 5)",
        target_file=FILE.format(number="i % 5"),
        candidate_fact="'likes tea number ' || i",
        state="CASE WHEN i % 20 = 0 THEN 'proposed' WHEN i % 3 THEN 'written' ELSE 'refused' END",
        started_by="'schedule'",
        lines_added="1",
        created_at=f"{start} + i * 50 * {WEEKS_MS} / {count}",
    )
