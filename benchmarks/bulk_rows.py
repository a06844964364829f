"""Inserts many rows of every kind by SQL: a million in seconds, like collected ones."""

import json

T0 = 1_767_571_200_000
MINUTE_MS = 60_000
WORDS = "'Question ' || i || ': 用表格列出前十个最慢的请求。 Which of them are slow because the cache was cold?'"
BY = "'user' || (i % 7)"
LATENCIES = "json_object('104', 3 + i % 5, '108', 2, '112', i % 3, '120', 1, '128', i % 2)"
MODELS = "json_object('claude-opus-4-5', json_array(0.01, 0), 'claude-sonnet-4-5', json_array(0.02, i % 7))"
TOOLS = ("exec", "read", "web_fetch", "browser", "grep", "process", "message", "memory_search")
TOOL_SUMS = """INSERT INTO tool_days SELECT date(created_at / 1000, 'unixepoch'), tool, 'telegram', count(*), count(*),
0, sum(chars), count(*), sum(chars), count(*) * 600, sum(chars) * 9, 0 FROM artifacts GROUP BY 1, 2"""
# Of ten records of a session: a question, then calls, their results and replies.
KIND = "CASE i % 10 WHEN 0 THEN 'user' ELSE CASE i % 3 WHEN 0 THEN 'tool_result' ELSE 'assistant' END END"
BODY = (
    "json_object('type', 'message', 'id', 'r' || i, 'timestamp', {t0} + i * 6000, 'message', json_object('role', "
    f"'user', 'content', {WORDS} || printf('%0300d', i)))"
)


def fill_sessions(db, count):
    """Insert sessions a minute apart, over four channels and three origins; every twentieth has errors."""
    from ledger.models import Session

    moment, turns = f"{T0} + i * {MINUTE_MS}", "(1 + i * 7919 % 59)"
    insert(
        db,
        Session,
        count,
        id="printf('%08d', i)",
        channel_id="CASE i % 4 WHEN 0 THEN 'telegram' WHEN 1 THEN 'webchat' WHEN 2 THEN 'irc' ELSE 'discord' END",
        origin="CASE i % 3 WHEN 0 THEN 'direct' WHEN 1 THEN 'group' ELSE 'cron' END",
        created_at=moment,
        last_activity_at=moment,
        title="'Session number ' || i || ': 请分析 data.csv and say what is wrong with it'",
        session_key="'agent:main:direct:' || i",
        turn_count=turns,
        record_count=f"{turns} * 4",
        total_tokens=f"{turns} * 9000",
        cost_usd=f"{turns} * 0.01",
        error_count="i % 20 = 0",
    )


# Long because it names the columns of several tables.
def fill_agent(db, count):
    """Insert an agent's turns, records and rejected lines, ten of each to a session."""
    from ledger.models import ConversationTurn, RejectedRecord, TranscriptEvent

    session, moment = "printf('%08d', i / 10)", f"{T0} + i * 6000"
    usage = {"model": "CASE i % 3 WHEN 0 THEN 'claude-opus-4-5' ELSE 'claude-sonnet-4-5' END", "cost_usd": "0.01"}
    insert(
        db,
        ConversationTurn,
        count,
        id=f"{session} || ':r' || i",
        session_id=session,
        turn_number="i % 10",
        user_message_content=WORDS,
        agent_message_content=f"'Three of them: ' || {WORDS}",
        created_at=moment,
        first_seq="i",
        last_seq="i",
        total_tokens="i % 9000",
        prompt_tokens="i % 9000",
        error_count="i % 5000 = 0",
        **usage,
    )
    insert(
        db,
        TranscriptEvent,
        count,
        session_id=session,
        seq="i % 10",
        created_at=moment,
        event_id="'r' || i",
        event_type="'message'",
        parent_id="'r' || (i - 1)",
        kind=KIND,
        turn_number="1",
        is_failed="i % 5000 = 3",
        tool_name="CASE WHEN i % 10 AND i % 3 = 0 THEN 'exec' END",
        event_json=BODY.format(t0=T0),
        **usage,
    )
    insert(
        db,
        RejectedRecord,
        count // 10,
        id="i + 1",
        file="'sessions/' || (i / 100) || '.jsonl'",
        byte_offset="i * 100",
        byte_length="100",
        reason="CASE i % 2 WHEN 0 THEN 'not_json' ELSE 'not_utf8' END",
        session_id=session,
        created_at=moment,
    )


def fill_gate(db, count):
    """Insert gate decisions and calls on the turns of `fill_agent`; few calls are slow or failed."""
    from gate.models import GateCall, GatePrompt, GateReplay, MemoryGateDecision

    session, moment = "printf('%08d', i / 10)", f"{T0} + i * 6000 + 3000"
    choices = json.dumps([name for name in MemoryGateDecision.Decision.values if name != "NO_WRITE"])
    writes = "(i % 8 = 0)"  # every eighth decision
    about = {
        "session_id": session,
        "turn_id": f"CASE WHEN i % 100 != 7 THEN {session} || ':r' || i END",
        "origin": "CASE WHEN i % 3 THEN 'imported' ELSE 'recorded' END",
        "llm_model": "CASE WHEN i % 1000 = 1 THEN 'gate-large' ELSE 'gate-small' END",
        "prompt_version": "'v' || (i / 50000)",
        "llm_latency_ms": "CASE WHEN i % 1000 = 3 THEN 5000 + i % 4000 ELSE 400 + i * 7919 % 900 END",
        "prompt_tokens": "700 + i % 300",
        "completion_tokens": "40",
        "cost_usd": "0.0002",
        "window_hash": "printf('%064x', i)",
        "created_at": moment,
    }
    insert(
        db,
        MemoryGateDecision,
        count,
        id="printf('%026d', i)",
        decision=f"CASE WHEN {writes} THEN json_extract('{choices}', '$[' || (i / 8 % 5) || ']') ELSE 'NO_WRITE' END",
        reason=f"'The user said: ' || {WORDS}",
        candidate_fact=f"CASE WHEN {writes} THEN 'prefers answer number ' || i END",
        match="CASE WHEN i % 100 != 7 THEN 'near' ELSE 'none' END",
        sources="2",
        saw_user="i % 4 != 0",
        **about,
    )
    outcome = "CASE WHEN i % 500 = 0 THEN 'failed' WHEN i % 500 = 250 THEN 'malformed' ELSE 'decided' END"
    decision = "CASE WHEN i % 250 THEN printf('%026d', i) END"
    insert(db, GateCall, count, id="printf('call-%020d', i)", outcome=outcome, decision_id=decision, **about)
    insert(db, GatePrompt, 1 + count // 50_000, id="'v' || i", text="'Decide. ' || i", created_at=f"{T0} + i")
    ended = {"state": "'finished'", "total": "10", "decided": "9", "agreed": "i % 9", "started_by": "'user1'"}
    about = {"llm_model": "'gate-large'", "prompt_version": "'v0'", "created_at": f"{T0} + i"}
    insert(db, GateReplay, count, id="printf('%08d', i)", **about, **ended)


def fill_guardian(db, count):
    """Insert writes about the turns of `fill_agent`: a fifth refused, a twentieth unattributed, few with rules."""
    from guardian.models import WriteGuardianAudit

    session = "printf('%08d', i / 10)"
    is_told = "i % 20 != 11"
    name = "CASE i % 4 WHEN 0 THEN 'MEMORY.md' WHEN 1 THEN 'USER.md' WHEN 2 THEN 'SOUL.md' ELSE 'TOOLS.md' END"
    origin = f"CASE WHEN NOT ({is_told}) THEN 'unattributed' WHEN i % 3 THEN 'imported' ELSE 'recorded' END"
    insert(
        db,
        WriteGuardianAudit,
        count,
        id="printf('%026d', i)",
        session_id=f"CASE WHEN {is_told} THEN {session} END",
        session_key=f"CASE WHEN {is_told} THEN 'agent:main:direct:' || (i / 10) END",
        turn_id=f"CASE WHEN {is_told} AND i % 100 != 7 THEN {session} || ':r' || i END",
        decision_id=f"CASE WHEN {is_told} THEN printf('%026d', i) END",
        target_file=name,
        candidate_fact=f"CASE WHEN {is_told} THEN 'prefers answer number ' || i END",
        reason=f"'The user said: ' || {WORDS}",
        status="CASE WHEN i % 5 = 2 THEN 'refused' WHEN i % 1000 = 3 THEN 'failed' ELSE 'written' END",
        origin=origin,
        match=f"CASE WHEN {is_told} AND i % 100 != 7 THEN 'near' ELSE 'none' END",
        sources="4",
        lines_added="1 + i % 4",
        lines_removed="i % 3",
        lines_modified="i % 2",
        rule_id="CASE WHEN i % 500 = 4 THEN 'rule-' || (i % 3) END",
        created_at=f"{T0} + i * 6000 + 4000",
    )


def samples(*, agent):
    """The columns of an agent's samples: ten a session, a fourth approved, a third heartbeats."""
    return {
        "id": "printf('%026d', i)",
        "sample_type": "'annotated_turn'",
        "session_id": "printf('%08d', i / 10)",
        "content": f"json_object('userMessage', {WORDS}, 'agentReply', {WORDS})",
        "annotation_status": "CASE WHEN i % 4 THEN 'pending' ELSE 'approved' END",
        "annotated_by": f"CASE i % 4 WHEN 0 THEN {BY} END",
        "agent_id": f"'{agent}'",
        "turn_number": "i % 10",
        "prompted_by": "CASE WHEN i % 3 = 1 THEN 'heartbeat' ELSE '' END",
        "reply_stop": "CASE WHEN i % 50 = 7 THEN 'aborted' ELSE 'stop' END",
        "created_at": f"{T0} + i * 6000",
    }


# Long because it names the columns of several tables.
def fill_site(count, *, agent):
    """Insert an agent's rows of the global file: `count` samples, jobs and audit entries, fewer exports."""
    from datasets.models import DatasetExport, DatasetSample
    from jobs.models import JobRun
    from people.models.bookkeeping import AuditEntry
    from problems.models import ErrorGroup, ErrorSum, Problem

    moment, by = f"{T0} + i * 6000", BY
    insert(
        "default",
        DatasetSample,
        count,
        **samples(agent=agent),
    )
    insert(
        "default",
        JobRun,
        count,
        id="printf('%026d', i)",
        kind="CASE WHEN i % 5 THEN 'collect' ELSE 'export' END",
        state="CASE WHEN i % 1000 THEN 'finished' ELSE 'failed' END",
        started_by=f"CASE WHEN i % 5 THEN 'schedule' ELSE {by} END",
        message="'Nothing is new.'",
        result_json="'{}'",
        created_at=moment,
        started_at=moment,
        finished_at=f"{moment} + 1000",
    )
    insert(
        "default",
        AuditEntry,
        count,
        id="i + 1",
        at=moment,
        actor=by,
        via="'page'",
        action="CASE i % 3 WHEN 0 THEN 'read' ELSE 'labelled' END",
        object_type="'sample'",
        object_id="printf('%026d', i)",
        agent_id=f"'{agent}'",
    )
    insert(
        "default",
        Problem,
        min(count, 5_000),
        id="printf('%020d', i)",
        kind="CASE WHEN i % 5 THEN 'task_failing' ELSE 'disk' END",
        subject="'task ' || i",
        agent_id=f"'{agent}'",
        severity="i % 100",
        detail_json='\'{"name":"Task","task":"t","count":1,"is_more":false,"folder":"/"}\'',
        state="CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'muted' ELSE 'closed' END",
        is_found="i % 3 <> 2",
        since_at=moment,
        opened_at=moment,
        last_seen_at=moment,
    )
    insert(
        "default",
        ErrorGroup,
        min(count, 5_000),
        id="printf('%016x', i)",
        tool="CASE WHEN i % 5 THEN 'exec' ELSE '' END",
        model="CASE WHEN i % 5 THEN '' ELSE 'claude-opus-4-5' END",
        message="'Error: not found (exit code ' || i || ')'",
        state="CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'muted' ELSE 'closed' END",
        opened_at=moment,
        count="i + 1",
        first_at=moment,
        last_at=moment,
    )
    numbers = {"count": "i + 1", "session_count": "1", "first_at": moment, "last_at": moment}
    name = {"agent_id": f"'{agent}'", "group_id": "printf('%016x', i)"}
    insert("default", ErrorSum, min(count, 5_000), **name, **numbers)
    insert(
        "default",
        DatasetExport,
        count // 10,
        id="printf('%026d', i)",
        export_name="'Export ' || i",
        export_format="CASE i % 2 WHEN 0 THEN 'alpaca' ELSE 'sharegpt' END",
        sample_types="'[]'",
        file_path="'exports/' || i",
        exported_by=by,
        exported_at=moment,
        state="'ready'",
    )


def fill_extras(count, *, agent):
    """Insert an agent's other global rows: a scheduled job with all runs, tasks and doctor runs."""
    from automation import models
    from collecting.models import MigrationRun, MigrationSource
    from operations.models import BackupRun

    moment, text, name = f"{T0} + i * 6000", "printf('%026d', i)", f"'{agent}'"
    job = {"agent_id": name, "job_id": "'x'"}
    insert("default", models.CronJob, count, id="iif(i, i, 'x')", agent_id=name, name="'daily'", job_json="'{}'")
    insert("default", models.CronRunLog, count, seq="i", ts=moment, status="'ok'", entry_json="'{}'", **job)
    keys = {"child_session_key": "'child' || i", "requester_session_key": "'agent:main:direct:1'"}
    insert(
        "default",
        models.SubagentRun,
        count,
        run_id=text,
        created_at=moment,
        payload_json="'{}'",
        agent_id=name,
        **keys,
    )
    insert("default", models.TaskRun, count, task_id=text, agent_id=name, created_at=moment)
    insert("default", models.FlowRun, count, flow_id=text, agent_id=name, created_at=moment)
    insert(
        "default",
        models.DeliveryQueueEntry,
        count,
        queue_name="'out'",
        id=text,
        agent_id=name,
        enqueued_at=moment,
    )
    run = {"id": "iif(i, i, 'x')", "started_at": moment, "status": "'completed'"}
    insert("default", MigrationRun, count, **run)
    source = {"source_key": text, "migration_kind": "'session'", "source_path": text, "target_table": "'x'"}
    source["report_json"] = """'{"ignored_sessions": ["x"]}'"""
    insert("default", MigrationSource, count, status="'ignored'", last_run_id="'x'", **source)
    insert("default", BackupRun, count, id=text, created_at=moment, status="'verified'")


def fill_agents(count):
    """Insert agents without files, with the sums for pages that span agents."""
    from agents.models import Agent
    from overview import site_sums
    from overview.models import AgentDailyStat, AgentHour, AgentSummary, MemorySpan

    name, sums = "printf('agent-%03d', i)", {"turn_count": "i", "error_count": "i % 3", "total_tokens": "i * 9000"}
    details = {
        "cost_usd": "0.01 * (i % 50)",
        "unpriced_tokens": "i % 7",
        "latency_json": LATENCIES,
        "models_json": MODELS,
    }
    insert("default", Agent, count, agent_id=name, created_at=str(T0), updated_at=str(T0), agent_db_path=name)
    insert("default", AgentSummary, count, agent_id=name, last_activity_at=f"{T0} + i", **sums)
    days = f"date({T0} / 1000 + (i / {count}) * 86400, 'unixepoch')"
    of_agent = f"printf('agent-%03d', i % {count})"
    insert("default", AgentDailyStat, count * 90, agent_id=of_agent, date=days, **sums, **details)
    hours = f"strftime('%Y-%m-%dT%H', {T0} / 1000 + 87 * 86400 + (i / {count}) * 3600, 'unixepoch')"
    insert("default", AgentHour, count * 72, agent_id=of_agent, span=hours, **sums, **details)
    insert(
        "default", MemorySpan, count * 90, agent_id=of_agent, span=days, written_count="i % 4", refused_count="i % 9"
    )
    site_sums.rebuild()


def fill_artifacts(db, count):
    """Insert artifacts and their sums; their files do not exist.

    They are a minute apart and of eight tools; every fifth content occurs twice.
    """
    from django.db import connections

    from artifacts.models import Artifact

    chars = "(8000 + i * 7919 % 60000)"
    insert(
        db,
        Artifact,
        count,
        id="printf('%032x', i)",
        handle="'ocm_artifact:v1:sha256:' || printf('%064x', i - (i % 5 = 4))",
        bytes=chars,
        stored_bytes=f"{chars} / 5",
        chars=chars,
        lines=f"{chars} / 60",
        content_type="'text/plain'",
        tool=f"json_extract('{json.dumps(TOOLS)}', '$[' || (i % {len(TOOLS)}) || ']')",
        summary=f"'text/plain, ' || {chars} || ' characters, exit code 0'",
        preview="'" + "GET /items 200 " * 30 + "'",
        session_id="printf('%08d', i)",
        turn_id="printf('%08d:r1', i)",
        record_id="'r' || i",
        created_at=f"{T0} + i * {MINUTE_MS}",
    )
    with connections[db].cursor() as cursor:
        cursor.execute(TOOL_SUMS)


def checkpoint_wal(db):
    """Write the -wal to the database file."""
    from django.db import connections

    with connections[db].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def insert(db, model, count, /, **columns):
    """Insert `count` rows of a model; `columns` are SQL expressions of `i`, others have their defaults."""
    from django.db import connections, transaction

    plain = {field.column: _literal(field) for field in model._meta.concrete_fields if field.column}
    values = {name: columns.get(name, default) for name, default in plain.items()}
    assert columns.keys() <= plain.keys(), columns.keys() - plain.keys()
    numbers = f"WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < {count})"
    table, names, expressions = model._meta.db_table, ", ".join(values), ", ".join(values.values())
    sql = f"{numbers} INSERT INTO {table} ({names}) SELECT {expressions} FROM numbers"
    with transaction.atomic(using=db):
        connections[db].connection.execute(sql)


def _literal(field):
    default = field.get_default()
    default = getattr(default, "value", default)  # of choices
    return "NULL" if default is None else repr(int(default) if isinstance(default, bool) else default)
