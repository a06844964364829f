"""Automatic capture: stored rows become events, once, of what happened since it was switched on."""

import json
import re
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import call_command
from django.test.utils import CaptureQueriesContext

from agents import services
from automation.models import CronJob, CronRunLog
from episodes import redaction, retention
from episodes.capture import switches
from episodes.capture.services import capture_agent
from episodes.chain import triggers, verification
from episodes.events import WrongEvent, check_own_id
from episodes.models import EpisodeCapture, EpisodicEvent
from episodes.redaction import Redaction
from guardian.models import WriteGuardianAudit
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.clock import DAY_MS
from openclaw_web.sqlite import statements
from people.configuration import setting_values as configuration
from people.models import AuditEntry
from tests.collecting.collect_runs import LONG, MAIN, run
from tests.homes import assistant, result, user

pytestmark = pytest.mark.django_db
KEY = "sk-proj-" + "a1B2c3D4" * 6


def at(days_ago, record):
    """Return a record of some days ago."""
    moment = datetime.fromtimestamp((clock.now_ms() - days_ago * DAY_MS) / 1000, UTC)
    return record | {"timestamp": moment.isoformat()}


def talk(home, *records, **more):
    return home.transcript(*(at(1, record) for record in records), **more)


def switch(**more):
    """Switch capture on for the agent main; returns the agent."""
    agent = services.get("main")
    switches.set_capture(agent, **({"is_on": True, "by": "tester"} | more))
    return agent


def started(home, **more):
    """Import an empty home and switch capture on."""
    home.transcript(session="empty")
    run(home)
    return switch(**more)


def events(**criteria):
    rows = EpisodicEvent.objects.using(MAIN).filter(**criteria).order_by("id")
    return [row for row in rows if row.session_id != "openclaw-web"]


def summaries(**criteria):
    return [row.summary for row in events(**criteria)]


def places():
    return EpisodeCapture.objects.using(MAIN).get().positions


def test_capture_is_off_until_somebody_switches_it_on(home):
    talk(home, user("one"), assistant("1"))
    run(home)
    assert events() == []
    switch()
    talk(home, user("two"), assistant("2"))
    run(home)
    assert summaries() == ["conversation.user: two", "conversation.assistant: 2"]
    switch(is_on=False)
    talk(home, user("three"))
    run(home)
    switch()
    run(home)
    assert len(events()) == 2, "what was stored while it was off is not captured"
    assert AuditEntry.objects.filter(action="episodes_capture", agent_id="main").count() == 3


def test_since_captures_what_is_stored_already(home):
    talk(home, user("recent"))
    home.transcript(at(20, user("older")))
    run(home)
    switch(since_ms=clock.now_ms() - 10 * DAY_MS)
    run(home)
    assert summaries() == ["conversation.user: recent"]


def test_an_event_says_who_where_and_what(home):
    agent = started(home)
    script = talk(
        home, user("Please   look\nat ann@corp-mail.io"), assistant("On it", ("c1", "exec", {"command": "ls"}))
    )
    script.add(at(1, result("c1", "a.txt", isError=True)))
    run(home)
    spoken, reply, call, answer = events()
    assert spoken.summary == "conversation.user: Please look at [REDACTED_EMAIL]"
    assert spoken.payload == {"text": "Please   look\nat [REDACTED_EMAIL]"}
    assert (spoken.scope, spoken.agent_id, spoken.session_id) == ("agent:main", "main", script.session)
    turn = f"{script.session}:r1"
    assert spoken.refs == {"source": "capture", "record": "r1", "turn": turn}
    assert (reply.type, reply.refs["record"]) == ("conversation.assistant", "r2")
    assert (call.type, call.summary, call.payload) == ("tool.call", "tool.call: exec", None)
    assert call.refs == {"source": "capture", "record": "r2", "toolCallId": "c1", "turn": turn}
    assert (answer.type, answer.summary, answer.payload) == ("tool.result", "tool.result: exec (failed)", None)
    assert all(row.event_id.startswith("ep-") and len(row.event_id) == 35 for row in events())
    assert verification.verify(agent.db).faults == []


def test_payloads_of_tools_are_stored_where_that_is_allowed(home):
    started(home, allows_tool_output=True)
    talk(home, user("go"), assistant("", ("c1", "exec", {"command": "ls"})), result("c1", "a.txt"))
    run(home)
    assert [row.payload for row in events()][1:] == [{"arguments": {"command": "ls"}}, {"text": "a.txt"}]


def test_a_large_output_is_named_by_its_artifact(home):
    started(home, allows_tool_output=True)
    talk(home, user("go"), assistant("", ("c1", "exec", {})), result("c1", LONG))
    run(home)
    answer = events(type="tool.result")[0]
    assert answer.refs["artifact"].startswith("ocm_artifact:v1:sha256:")
    assert len(answer.payload_json.encode()) <= 4_096


def test_long_texts_are_cut_at_characters(home):
    started(home)
    talk(home, user("好" * 5_000))
    run(home)
    row = events()[0]
    assert row.summary == f"conversation.user: {'好' * 220}…"
    assert row.payload["text"].endswith("好…")
    assert row.payload["original_bytes"] == 15_000
    assert len(row.payload_json.encode()) <= 4_096


def test_a_tag_names_the_scope_of_the_whole_turn(home):
    started(home, scope="Team One")
    talk(home, user("[SCOPE: Secret Plan] begin"), assistant("begun"), user("other"), assistant("done"))
    run(home)
    assert summaries(scope="secret-plan") == ["conversation.user: begin", "conversation.assistant: begun"]
    assert summaries(scope="team-one") == ["conversation.user: other", "conversation.assistant: done"]


@pytest.mark.parametrize("allowed", [True, False])
def test_secrets_are_stored_nowhere(home, allowed):
    started(home, allows_tool_output=allowed)
    records = user(f"my api_key: {KEY}"), assistant(f"Bearer {KEY}", ("c1", "exec", {"password": KEY, "x": [KEY]}))
    talk(home, *records, result("c1", f"password={KEY}"))
    run(home)
    assert [row.redacted for row in events()] == ([1, 1, 1, 1] if allowed else [1, 1, 0, 0])
    columns = EpisodicEvent.objects.using(MAIN).values_list("summary", "payload_json", "refs_json")
    assert KEY not in str(list(columns))


def test_words_of_people_who_opted_out_are_not_captured(home):
    started(home)
    carol = {"__openclaw": {"senderId": "carol"}}
    script = talk(
        home, user("from carol", **carol), assistant("to carol"), user("from bob", __openclaw={"senderId": "bob"})
    )
    home.index({"agent:main:telegram:group:7": {"sessionId": script.session, "updatedAt": clock.now_ms()}})
    switch(is_on=False)
    run(home)
    configuration.put("collector.optedOutSenders", ["carol"])
    switch(since_ms=1)
    capture_agent(services.get("main"))
    assert summaries() == ["conversation.user: from bob"]


def test_copies_in_forked_sessions_are_captured_once(home):
    started(home)
    parent = talk(home, user("one"), assistant("1"), session="aaaaaaaa-0000-4000-8000-000000000001")
    header, *lines = parent.path.read_text().splitlines()
    child = "bbbbbbbb-0000-4000-8000-000000000002"
    header = json.loads(header) | {"id": child, "parentSession": str(parent.path)}
    own = at(0, user("two")) | {"id": "r3", "parentId": "r2"}
    parent.path.with_name(f"{child}.jsonl").write_text("\n".join([json.dumps(header), *lines, json.dumps(own)]) + "\n")
    run(home)
    assert summaries() == ["conversation.user: one", "conversation.assistant: 1", "conversation.user: two"]


def test_removed_events_do_not_come_back(home):
    agent = started(home)
    home.transcript(at(70, user("expired")), at(70, assistant("kept 90 days")), session="old")
    run(home)
    assert summaries() == ["conversation.assistant: kept 90 days"]
    retention.run(agent, "agent:main", {"conversation.assistant": 30}, by="tester")
    switch(since_ms=1)
    run(home)
    assert summaries(type__startswith="conversation") == []


def test_redacted_events_stay_redacted(home):
    agent = started(home)
    script = talk(home, user("private words"))
    run(home)
    redaction.redact(agent, Redaction.parse("agent:main", session_id=script.session), by="tester")
    switch(since_ms=1)
    run(home, again=True)
    assert summaries() == ["[REDACTED]", "Redaction removed the texts of 1 events"]


def test_an_appended_line_reads_that_line_alone(home):
    agent = started(home)
    script = talk(home, *(user(f"message {number}") for number in range(450)))
    run(home)
    assert len(events()) == 450
    last_row = statements.read_row(MAIN, "SELECT max(rowid) FROM transcript_events")[0]
    script.add(at(0, user("last")))
    with CaptureQueriesContext(statements.connections[MAIN]) as queries:
        assert capture_agent(agent)["transcripts"] == 0
    assert [query["sql"] for query in queries if "event_json" in query["sql"]] != []
    before = len(queries)
    with CaptureQueriesContext(statements.connections[MAIN]) as queries:
        run(home)
    reads = [query["sql"] for query in queries if '"event_json"' in query["sql"] and ".rowid > " in query["sql"]]
    starts = {int(re.search(r"rowid > \(?(\d+)", sql)[1]) for sql in reads}
    assert summaries()[450:] == ["conversation.user: last"]
    assert starts == {last_row, last_row + 1}, "no row before the appended one was read"
    assert before < 10


def test_a_rebuilt_session_is_not_captured_again_and_brings_no_older_words(home):
    old = home.transcript(at(3, user("before")), at(3, assistant("earlier answer")))
    agent = started(home)
    talk(home, user("after"), assistant("later answer"))
    run(home)
    assert len(events()) == 2
    lines = old.path.read_text().splitlines()
    old.path.write_text("\n".join([*lines[:2], *lines[2:]]).replace("earlier answer", "other answer") + "\n")
    run(home, again=True)
    new = at(0, user("newest"))
    talk(home, new)
    run(home)
    assert not {"conversation.user: before", "conversation.assistant: earlier answer"}.intersection(summaries())
    assert len(set(summaries())) == len(summaries())
    assert verification.verify(agent.db).faults == []


def test_compacting_the_file_loses_no_event(home):
    agent = started(home, since_ms=clock.now_ms() - 5 * DAY_MS)
    first = talk(home, user("first"), user("second"))
    talk(home, user("third"))
    run(home)
    with connection_of(agent) as cursor:
        cursor.execute("DELETE FROM transcript_events WHERE session_id = %s", [first.session])
        cursor.execute("VACUUM")
    talk(home, user("fourth"))
    run(home)
    assert summaries()[2:] == ["conversation.user: third", "conversation.user: fourth"]


def connection_of(agent):
    return statements.connections[agent.db].cursor()


def test_work_that_was_interrupted_continues(home):
    agent = started(home)
    talk(home, *(user(f"message {number}") for number in range(250)))
    switch(is_on=False)
    run(home)
    switch(since_ms=1)
    before = places()
    capture_agent(agent)
    EpisodeCapture.objects.using(MAIN).update(positions_json=json.dumps(before))
    assert capture_agent(agent)["transcripts"] == 0
    assert len(events()) == 250


def test_jobs_become_receipts_of_the_agents_that_they_name(home):
    agent = started(home)
    other = services.register("research")
    switches.set_capture(other, is_on=True, by="tester")
    ended = {"state": "finished", "created_at": clock.now_ms(), "finished_at": clock.now_ms()}
    JobRun.objects.create(id="j1", kind="collect", result_json='{"agents": {"research": {}}, "records": 7}', **ended)
    JobRun.objects.create(id="j2", kind="backup", message="Saved.", result_json="{}", **ended)
    JobRun.objects.create(id="j3", kind="export", result_json="{}", **ended)
    JobRun.objects.create(id="j4", kind="doctor", **(ended | {"state": "running", "finished_at": None}))
    assert (capture_agent(agent)["jobs"], capture_agent(other)["jobs"]) == (1, 1)
    receipt = EpisodicEvent.objects.using(agent.db).get(type="ops.alert")
    assert receipt.summary == "ops.alert: backup finished. Saved."
    assert (receipt.refs["job"], receipt.scope, receipt.session_id) == ("j2", "agent:main", "openclaw-web")
    imported = EpisodicEvent.objects.using(other.db).get(type="ops.alert")
    assert imported.payload["counts"] == {"records": 7}
    JobRun.objects.filter(id="j4").update(state="failed", finished_at=clock.now_ms())
    assert (capture_agent(agent)["jobs"], capture_agent(agent)["jobs"]) == (1, 0)


def test_runs_of_schedules_and_writes_become_receipts(home):
    agent = started(home)
    now = clock.now_ms()
    CronJob.objects.create(id="c1", agent_id="main", name="Morning report", job_json="{}")
    run_log = {"job_id": "c1", "agent_id": "main", "entry_json": "{}", "status": "ok", "summary": "3 commits"}
    CronRunLog.objects.create(seq=1, ts=now, session_id="s9", **run_log)
    CronRunLog.objects.create(seq=0, ts=now - 5 * DAY_MS, **run_log)
    write = {"target_file": "MEMORY.md", "lines_added": 1, "created_at": now, "candidate_fact": "likes tea"}
    writes = WriteGuardianAudit.objects.using(agent.db)
    writes.create(id="w1", status="written", session_id="s9", origin="imported", **write)
    writes.create(id="w2", status="refused", session_id="s9", origin="imported", **write)
    assert capture_agent(agent) == {"transcripts": 0, "schedules": 1, "writes": 1, "jobs": 0}
    alert, linked = events(type="ops.alert")
    assert (alert.summary, alert.session_id) == ("ops.alert: scheduled task Morning report: ok", "s9")
    assert alert.payload["summary"] == "3 commits"
    assert (linked.refs["memory_ids"], linked.session_id) == (["w1"], "s9")
    assert "tea" not in f"{linked.summary}{linked.payload_json}"
    CronRunLog.objects.create(seq=2, ts=now + 60_000 - DAY_MS, **run_log)
    assert capture_agent(agent)["schedules"] == 0, "it ended before capture was switched on"


def test_lifecycle_records_of_plugins_keep_their_numbers_alone(home):
    started(home)
    data = {"injectedCount": 2, "query": "what does ann like"}
    talk(home, user("hi"), {"type": "custom", "customType": "memory:autoRecall.receipt", "data": data})
    run(home)
    receipt = events(type="ops.alert")[0]
    assert (receipt.summary, receipt.payload) == ("ops.alert: memory:autoRecall.receipt", {"injectedCount": 2})


def test_an_import_with_capture_off_asks_one_question_for_each_agent(home):
    talk(home, user("one"))
    run(home)
    talk(home, user("two"))
    with CaptureQueriesContext(statements.connections[MAIN]) as queries:
        run(home)
    assert sum("episod" in query["sql"] for query in queries) == 1


def test_a_disabled_capability_captures_nothing(home, settings):
    agent = started(home)
    settings.DISABLED = frozenset(["episodes"])
    talk(home, user("one"))
    run(home)
    assert (events(), capture_agent(agent)) == ([], {})


def command(*words):
    out = StringIO()
    call_command("episodes", "capture", *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_switches_and_captures(home):
    talk(home, user("one"))
    run(home)
    assert command()["is_on"] is False
    receipt = command("--on", "--scope", "Team", "--since", "2026-01-01", "--now")
    assert (receipt["is_on"], receipt["scope"], receipt["captured"]["transcripts"]) == (True, "team", 1)
    assert command("--allow-tool-output")["allows_tool_output"] is True
    receipt = command("--off")
    assert (receipt["is_on"], receipt["scope"], receipt["allows_tool_output"]) == (False, "team", True)
    assert summaries() == ["conversation.user: one"]


def test_a_text_with_a_null_byte_takes_no_other_with_it(home):
    started(home, allows_tool_output=True)
    call = ("c1", "exec", {"raw": "a\0b"})
    talk(home, user("clean question"), assistant("clean answer", call), result("c1", "a\0b"))
    run(home)
    types = [row.type for row in events()]
    assert types == ["conversation.user", "conversation.assistant", "tool.call", "tool.result"]
    assert not any("u0000" in (row.payload_json or "") for row in events())


def test_a_ledger_whose_end_is_damaged_stops_no_import(home):
    started(home)
    talk(home, user("one"))
    run(home)
    for name in triggers.TRIGGERS:
        statements.run(MAIN, f"DROP TRIGGER {name}")
    statements.run(MAIN, "UPDATE episodic_events SET chain_hash = 'x'")
    talk(home, user("two"), session="later")
    report = run(home)
    assert report["records"] == 2 and any("The ledger is damaged" in note for note in report["notes"])


def test_an_event_id_of_captures_is_refused_from_others():
    with pytest.raises(WrongEvent):
        check_own_id("ep-" + "0" * 32)
