"""A value of the wrong JSON type costs only its line or itself.

This holds for any place of a record or an index.
"""

import json
import uuid

import pytest
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agents.models import Agent
from automation.models import CronJob
from datasets.services import make_samples
from ledger.models import (
    ConversationTurn,
    PromptReport,
    RejectedRecord,
    Session,
    TrajectoryEvent,
    TranscriptEvent,
)
from tests.collecting.collect_runs import MAIN, run
from tests.homes import Home, assistant, user
from tests.odd_json import ENTRY, JOB, JSON, RECORDS, RUN, STEP, SUBAGENT, odd
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.django_db
# A case takes a second: failing examples are not shrunk, because that would take minutes.
MANY = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
BEFORE, AFTER = user("the first words"), user("the last words")
VIEWS = (
    "",
    "turns/",
    "branches/",
    "steps/",
    "savings/",
    "?find=words",
    "?branch=all",
    "?kind=tools",
)


@pytest.fixture
def homes(tmp_path, real_files):
    return Home(tmp_path / "files"), SqliteHome(tmp_path / "database", agents=("second",))


def assert_pages_open(client, agent, session_id):
    """Assert that all pages and answers with records of a session have status 200."""
    session = f"agents/{agent}/sessions/{session_id}"
    ids = TranscriptEvent.objects.using(f"agent_{agent}").filter(session_id=session_id)
    places = [f"/{session}/{view}" for view in VIEWS]
    places += [f"/api/v1/{session}{end}" for end in ("", "/events", "/turns", "/branches", "/steps", "/savings")]
    places += [f"/agents/{agent}/{name}/" for name in ("sessions", "turns", "events", "savings", "files")]
    for record_id in ids.values_list("event_id", flat=True):
        places.append(reverse("ledger:record_detail", args=[agent, session_id, record_id]))
    for place in places:
        assert client.get(place).status_code == 200, place


@pytest.mark.parametrize("type_", [["text"], {"a": 1}, 5, None, True, 1.5])
def test_a_content_block_of_any_type_costs_itself(home, type_):
    block = {"type": type_, "text": "odd"}
    message = {"role": "user", "content": [block, {"type": "text", "text": "Hello"}]}
    home.transcript(BEFORE, {"type": "message", "message": message}, assistant("Hi"), AFTER)
    report = run(home)
    assert (report["records"], report["rejected"]) == (5, 0)
    assert report["agents"]["main"]["notes"] == []
    turns = ConversationTurn.objects.using(MAIN).order_by("turn_number")
    assert [*turns.values_list("user_message_content", flat=True)] == ["the first words", "Hello", "the last words"]


@MANY
@given(st.lists(st.sampled_from(RECORDS).flatmap(odd), min_size=1, max_size=8))
def test_every_record_is_stored_or_rejected_by_itself_and_every_page_opens(homes, as_admin, records):
    session, start = str(uuid.uuid4()), {"timestamp": "2026-02-21T03:00:01.000Z"}
    lines = [json.dumps({"id": f"o{number}"} | start | record) for number, record in enumerate(records)]
    files, database = homes
    script = files.transcript(BEFORE, session=session)
    for line in lines:
        script.raw(line + "\n")
    script.add(AFTER)
    database.session(session, BEFORE, *lines, AFTER, agent="second")
    for home, agent in ((files, "main"), (database, "second")):
        agent_report = run(home)["agents"][agent]
        assert not {"unreadable_file", "unreadable_session", "unforeseen"} & set(agent_report["rejected"]), agent_report
        stored, rejected = (
            rows.objects.using(f"agent_{agent}").filter(session_id=session)
            for rows in (TranscriptEvent, RejectedRecord)
        )
        noted = rejected.exclude(reason="unknown_envelope").count()
        assert stored.count() + noted + agent_report["repeated"] == 3 + len(lines)
        turns = ConversationTurn.objects.using(f"agent_{agent}").filter(session_id=session)
        assert {"the first words", "the last words"} <= {*turns.values_list("user_message_content", flat=True)}
        assert_pages_open(as_admin, agent, session)
        make_samples(Agent.objects.get(agent_id=agent), session, None, by="root")


@MANY
@given(odd(ENTRY))
def test_an_index_entry_of_any_types_costs_those_values(homes, as_admin, entry):
    session = str(uuid.uuid4())
    files, database = homes
    files.transcript(BEFORE, AFTER, session=session)
    index = {f"agent:main:irc:direct:{session}": entry | {"sessionId": session}}
    files.write("agents/main/sessions/sessions.json", json.dumps(index))
    database.session(session, BEFORE, AFTER, agent="second", **entry | {"sessionId": session})
    for home, agent in ((files, "main"), (database, "second")):
        agent_report = run(home)["agents"][agent]
        assert (agent_report["rejected"], agent_report["notes"]) == ({}, [])
        assert_pages_open(as_admin, agent, session)


OLD = {"skills": [{"name": "a", "description": "b"}], "tools": ["exec"], "systemPromptChars": 5, "toolSchemas": 1}
OLD["files"] = [{"name": "USER.md", "rawChars": 5, "injectedChars": 4, "truncated": True, "missing": False}]


@MANY
@given(odd(OLD), odd({"origin": {"label": "x"}, "chatType": "direct", "spawnedBy": "agent:main:main"}) | JSON)
def test_pages_open_with_what_older_versions_stored(homes, as_admin, report, metadata):
    session = str(uuid.uuid4())
    files, _database = homes
    files.transcript(BEFORE, assistant("Hi"), session=session)
    files.write("workspace/USER.md", "me")
    run(files)
    prompt_report = PromptReport.objects.using(MAIN).create(id=session, report_json=json.dumps(report))
    rows = Session.objects.using(MAIN).filter(id=session)
    rows.update(prompt_report=prompt_report, metadata=json.dumps(metadata), last_activity_at=4_000_000_000_000)
    assert_pages_open(as_admin, "main", session)


@MANY
@given(odd(JOB), odd(RUN), odd(SUBAGENT), odd(STEP))
def test_schedules_runs_and_steps_of_any_types_cost_themselves(homes, as_admin, job, ran, subagent, step):
    session = str(uuid.uuid4())
    files, database = homes
    files.transcript(BEFORE, AFTER, session=session)
    database.session(session, BEFORE, AFTER, agent="second")
    files.write("cron/jobs.json", json.dumps({"version": 1, "jobs": [JOB | {"id": "sound"}, job]}))
    files.write("cron/runs/sound.jsonl", json.dumps(ran) + "\n" + json.dumps(RUN) + "\n")
    files.write("subagents/runs.json", json.dumps({"version": 2, "runs": {"r": subagent, "sound": SUBAGENT}}))
    steps = [json.dumps({**record, "sessionId": session}) + "\n" for record in (step, STEP)]
    files.write(f"agents/main/sessions/{session}.trajectory.jsonl", "".join(steps))
    with database.state() as store:
        store.execute("DELETE FROM cron_jobs")
        database.insert(store, "cron_jobs", store_key="k", job_id="b", name="n", enabled=1, job_json=job, updated_at=1)
        store.execute("DELETE FROM cron_run_logs")
        database.insert(store, "cron_run_logs", job_id="b", seq=1, ts=1771642800000, entry_json=ran)
        store.execute("DELETE FROM subagent_runs")
        subagent = {"run_id": "b", "child_session_key": "x", "requester_session_key": "y", "payload_json": subagent}
        database.insert(store, "subagent_runs", created_at=1, **subagent)
    for home, agent in ((files, "main"), (database, "second")):
        report = run(home)
        assert report["agents"][agent]["notes"] == [] == report["notes"]
        for place in ("cron", "subagents", "background", "stored"):
            assert as_admin.get(f"/agents/{agent}/{place}/").status_code == 200, place
        assert_pages_open(as_admin, agent, session)
    ours = CronJob.objects.filter(agent_id__in=("main", "second"))  # an odd one may name an agent that is not here
    for job_id in ours.values_list("id", "agent_id"):
        assert as_admin.get(reverse("automation:cron_detail", args=job_id[::-1])).status_code == 200
    assert CronJob.objects.filter(id="sound").exists()
    assert TrajectoryEvent.objects.using(MAIN).filter(session_id=session).exists()
