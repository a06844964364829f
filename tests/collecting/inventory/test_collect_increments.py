"""Imports of new data give the same rows as one from scratch, with little work."""

import os
import random
import shutil
import sys

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from agents import databases
from agents.models import CollectedSession
from artifacts.models import Artifact
from collecting.stages import agent_files as agent_stage
from ledger.models import Session
from people.configuration import setting_values
from tests.collecting.collect_runs import MAIN, run
from tests.homes import Home, assistant, result, user
from tests.suite.sources import ORDER, ROOT

pytestmark = pytest.mark.django_db
MOST_FILES, MOST_CHANGES = 45, 200
STEPS = 14
OUTPUT = "a line of a log\n" * 1_000
TABLES = {
    "transcript_events": "session_id, seq, kind, turn_number, is_active, event_json, trim_json",
    "transcript_event_identities": "session_id, event_id, seq, parent_id",
    "conversation_turns": "id, turn_number, user_message_content, agent_message_content, total_tokens, cost_usd, "
    "record_count, tool_call_count, error_count, is_active, last_seq, latency_ms",
    "sessions": "id, session_key, record_count, turn_count, total_tokens, cost_usd, title, kind_counts, id_checksum, "
    "leaf_record_id, source_state, origin",
    "session_days": "session_id, date, record_count, turn_count, total_tokens",
    "session_tools": "session_id, date, tool, call_count, result_count, failed_count, chars, prompt_tokens",
    "tool_days": "date, tool, call_count, result_count, failed_count, chars, prompt_tokens",
    "artifacts": "id, session_id, turn_id, handle",
}


@pytest.mark.parametrize("seed", range(4))
def test_many_imports_come_to_what_one_comes_to(tmp_path, real_files, seed):
    chance, home = random.Random(seed), Home(tmp_path / "openclaw")
    scripts, index = [], {}
    for step in range(STEPS):
        for _act in range(chance.randint(1, 4)):
            mutate(chance, home, scripts, index, step)
        run(home)
    shutil.copytree(home.root, tmp_path / "other")
    other = Home.__new__(Home)
    other.root = tmp_path / "other"
    run(other, **{"as": "fresh"})
    once, often = contents("fresh"), contents("main")
    assert often == once
    assert often["transcript_events"]
    assert held("main") == held("fresh")


def mutate(chance, home, scripts, index, step):
    """Let a home grow as OpenClaw lets it: sessions, lines, half a line, branches, an index."""
    act = chance.choice(("new", "new", "more", "more", "more", "half", "branch", "odd", "index", "call"))
    if act == "new" or not scripts:
        scripts.append(home.transcript(user(f"Hello {step}"), assistant(f"Welcome {step}")))
        return
    script = chance.choice(scripts)
    text = script.path.read_text()
    if not text.endswith("\n"):
        script.raw('"}\n')  # completes a half-written line
    if act == "half":
        script.raw('{"type": "custom", "customType": "mark", "id": "half' + str(step) + str(len(text)))
    elif act == "branch" and script.count > 2:
        script.add(user(f"Again {step}") | {"parentId": f"r{chance.randint(1, script.count - 1)}"}, assistant("Other"))
    elif act == "odd":
        script.raw("not a record\n")
    elif act == "index":
        index[f"agent:main:telegram:direct:{step}"] = {"sessionId": script.session, "updatedAt": 1_771_700_000_000}
        home.index(index)
    elif act == "call":
        script.add(assistant("", (f"c{step}", "exec", {"n": step})), result(f"c{step}", f"line {step}\n" * 300))
    else:
        script.add(user(f"More {step}"), assistant(f"Answer {step}"))


def contents(agent_id):
    rows_by_table = {}
    with connections[databases.get_alias(agent_id)].cursor() as cursor:
        for table, columns in TABLES.items():
            cursor.execute(f"SELECT {columns} FROM {table}")
            rows_by_table[table] = sorted(map(repr, cursor.fetchall()))
    return rows_by_table


def held(agent_id):
    rows = CollectedSession.objects.filter(agent_id=agent_id).order_by("session_id")
    return list(rows.values_list("session_id", "kind_counts", "id_checksum", "record_count"))


def test_one_appended_line_enters_few_modules(home):
    """Counts the modules of ours that calls enter in the stages, and the changes between them.

    What Django's cursor calls for a statement that it sees for the first time is no step.
    Both numbers have an upper limit: MOST_FILES and MOST_CHANGES.
    """
    home.write("workspace/MEMORY.md", "# Memory\n")
    script = home.transcript(user("One"), assistant("Two"))
    home.transcript(user("Another"), assistant("Session"))
    home.index({"agent:main:main": {"sessionId": script.session}})
    run(home)
    script.add(assistant("And one more"))
    path, states = [], [False]

    def note(frame, event, _argument):
        file = frame.f_code.co_filename
        if frame.f_code is agent_stage.collect.__code__ and event in ("call", "return"):
            states.append(event == "call")
        module = file.removeprefix(f"{ROOT}/")
        is_step = module.split("/")[0] in ORDER and not module.startswith("openclaw_web/sqlite/backend/")
        if states[-1] and event == "call" and is_step and path[-1:] != [module]:
            path.append(module)

    sys.setprofile(note)
    try:
        report = run(home)
    finally:
        sys.setprofile(None)
    assert report["records"] == 1 and states == [False, True, False]
    assert len(set(path)) <= MOST_FILES, sorted(set(path))
    assert len(path) <= MOST_CHANGES


def test_short_sessions_share_a_transaction_and_their_notes_a_statement(home):
    run(home)
    scripts = [home.transcript(user(f"Hello {number}"), assistant("Hi")) for number in range(40)]
    with CaptureQueriesContext(connections[MAIN]) as own, CaptureQueriesContext(connections["default"]) as shared:
        assert run(home)["records"] == 3 * len(scripts)
    begun = [query for query in own if query["sql"].startswith(("BEGIN", "SAVEPOINT"))]
    assert len(begun) <= 5
    notes = [query for query in shared if query["sql"].startswith('INSERT INTO "collector_sessions"')]
    assert len(notes) == 1
    assert CollectedSession.objects.filter(record_count=3).count() == len(scripts)


def test_a_session_that_cannot_be_stored_takes_no_other_with_it(home):
    run(home)
    scripts = [home.transcript(user("Look"), assistant("", ("c", "exec", {})), result("c", OUTPUT)) for _ in range(5)]
    with connections[MAIN].cursor() as cursor:
        refuse = f"WHEN NEW.session_id = '{scripts[2].session}' BEGIN SELECT RAISE(ABORT, 'refused'); END"
        cursor.execute(f"CREATE TRIGGER refusing BEFORE INSERT ON transcript_events {refuse}")
        report = run(home)
        cursor.execute("DROP TRIGGER refusing")
    others = {script.session for script in scripts} - {scripts[2].session}
    assert {row.session_id for row in CollectedSession.objects.filter(record_count=4)} == others
    assert {row.session_id for row in Artifact.objects.using(MAIN)} == others
    assert [note for note in report["agents"]["main"]["notes"] if scripts[2].session in note]
    assert run(home)["records"] == 4
    assert Artifact.objects.using(MAIN).filter(session_id=scripts[2].session).count() == 1


CHANGES = {
    "a line": lambda home, scripts: scripts["kim"].add(user("More"), assistant("Answer")),
    "a memory file": lambda home, scripts: home.write("workspace-kim/MEMORY.md", "# Memory\n- New.\n"),
    "an index": lambda home, scripts: home.index({"agent:kim:x": {"sessionId": scripts["kim"].session}}, agent="kim"),
    "our own rows": lambda home, scripts: Session.objects.using("agent_kim").update(title="Changed by somebody"),
    "our own file": lambda home, scripts: os.utime(databases.get_path("kim"), ns=(1, 1)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_agents_with_a_change_are_opened(tmp_path, real_files, change):
    home, scripts = Home(tmp_path / "openclaw", ("kim", "lea", "max")), {}
    for name in ("kim", "lea", "max"):
        home.write(f"workspace-{name}/MEMORY.md", f"# Memory of {name}\n")
        scripts[name] = home.transcript(user("One"), assistant("Two"), agent=name)
        home.index({f"agent:{name}:main": {"sessionId": scripts[name].session}}, agent=name)
    first, quiet = run(home), run(home)
    assert find_opened(lambda: run(home)) == set()
    assert run(home)["agents"] == quiet["agents"] and first["records"] == 9
    CHANGES[change](home, scripts)
    assert find_opened(lambda: run(home)) == {"kim"}
    run(home)
    assert find_opened(lambda: run(home)) == set()


def test_a_changed_setting_opens_every_agent_again(home):
    script = home.transcript(user("One"), assistant("Two"))
    home.index({"agent:main:main": {"sessionId": script.session}})
    for _import in range(3):
        run(home)
    assert find_opened(lambda: run(home)) == set()
    setting_values.put("collector.stashOutputs", False)
    assert find_opened(lambda: run(home)) == {"main"}


def find_opened(function):
    """Return the agents whose files are opened while `function` runs."""
    for connection in connections.all(initialized_only=True):
        if connection.alias.startswith("agent_"):
            connection.close()
    opened, listening = set(), [True]

    def hook(event, args):
        if listening and event == "sqlite3.connect" and "/agents/" in str(args[0]):
            opened.add(str(args[0]).split("/agents/")[1].split("/")[0])

    sys.addaudithook(hook)
    try:
        function()
    finally:
        listening.clear()
    return opened
