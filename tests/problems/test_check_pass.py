"""Each kind finds its planted problem and no other; and how problems develop."""

import json
import os

import pytest
from django.db import connections

from agents import databases, unread_parts
from agents.models import Agent, AgentDatabase, CollectorSource
from collecting import watcher_state
from datasets.kinds import verdict_service
from datasets.kinds.kind import NONE
from datasets.kinds.write import WRITE
from datasets.review import undo, verdicts
from datasets.review.parts import PartVerdict
from gate.recording import decision_store
from guardian.models import GuardianRun, WriteGuardianAudit
from ledger.models import ConversationTurn
from ledger.transcripts import turns
from openclaw_web import clock
from openclaw_web.disk import locks
from overview.models import AgentDailyStat, AgentSummary
from people.configuration import setting_values as configuration
from problems import check_pass, services
from problems.models import ErrorGroup, Problem, ProblemCheck
from tests.collecting.collect_runs import run
from tests.factories import BackupRunFactory, CronJobFactory, CronRunFactory, JobFactory
from tests.gate.statistics.statistics_rows import make_failed_call, make_report, midnight
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.standing.recorded_homes import RecordedHome
from tests.guardian.write_rows import create_write
from tests.sqlite_homes import T0

from .check_results import check, open_sentences

pytestmark = pytest.mark.django_db
DB, HOUR_MS = "agent_main", 3_600_000


@pytest.fixture
def home(tmp_path, real_files):
    """An imported home in which nothing is wrong."""
    home = RecordedHome(tmp_path / "openclaw")
    home.file("MEMORY.md", "one\n")
    home.record("MEMORY.md", "one\n").prompt([("MEMORY.md", 3, 3)], at=T0 + 10**12)
    run(home)
    BackupRunFactory(proven_at=clock.now_ms())
    return home


def rule_broken(_home):
    now = clock.now_ms()
    create_write(DB, 1, b"one\n", b"one\ntea\n", candidate_fact="Likes tea.", created_at=now - 5_000)
    rule = create_correction("w1", "main", apply_to_future=True, pattern="Likes tea")
    create_write(DB, 2, b"one\ntea\n", b"one\ntea\ntea\n", candidate_fact="Likes tea.", created_at=now, rule_id=rule.id)


def proposal(_home):
    propose("p1", "Likes tea.")


def propose(name, fact):
    columns = {"target_file": "MEMORY.md", "candidate_fact": fact, "started_by": "root"}
    GuardianRun.objects.using(DB).create(id=name, state="proposed", created_at=clock.now_ms(), **columns)


def left_out(home):
    home.record("MEMORY.md", "one\n", "untrusted", at=T0 + 20_000).prompt([], at=T0 + 10**12 + 1, session="p2")
    run(home)


def blind(_home):
    now = clock.now_ms()
    decision_store.store_reports(DB, [make_report(created_at=now - n * 1_000, saw_user=False) for n in range(40)])


def drift(_home):
    before = [make_report("NO_WRITE", created_at=midnight(20) + n) for n in range(60)]
    decision_store.store_reports(
        DB, [*before, *(make_report("UPDATE_USER", created_at=midnight(2) + n) for n in range(60))]
    )


def calls(_home):
    decision_store.store_calls(DB, [make_failed_call(created_at=clock.now_ms() - n) for n in range(5)])


def overdue(_home):
    CronJobFactory(agent_id="main", name="Stock watch", next_run_at=clock.now_ms() - 15 * HOUR_MS)


def failing(_home):
    job = CronJobFactory(agent_id="main", name="Digest")
    for hours in (5, 3):
        CronRunFactory(agent_id="main", job_id=job.id, ts=clock.now_ms() - hours * HOUR_MS, status="error")


def rejects(home):
    file = home.root / "agents" / "main" / "sessions" / "odd.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    header = '{"type":"session","version":3,"id":"odd","timestamp":"2026-02-21T03:00:00.000Z","cwd":"/"}\n'
    file.write_text(header + '{"type":"message","id":\n')
    run(home)


def import_failed(home):
    now = clock.now_ms()
    params = f'{{"source":"{home.root}"}}'
    ended = {"state": "refused", "message": "The disk is full.", "created_at": now, "finished_at": now}
    JobFactory(kind="collect", started_by="mei", params_json=params, **ended)


def newer(home):
    parts = {"version": 99, "known": 25, "unfamiliar": [], "rows": {}, "is_newer": True}
    unread_parts.note_parts(home.root / "openclaw.json", parts)


def newer_version(home, version="2026.11.2"):
    config = json.loads((home.root / "openclaw.json").read_text())
    home.write("openclaw.json", config | {"meta": {"lastTouchedVersion": version}})
    run(home)


def watcher_gone(_home):
    watcher_state.note_alive()
    before = clock.now_ms() / 1_000 - 600
    os.utime(watcher_state._file(), (before, before))


def no_worker(_home):
    JobFactory(kind="export", state="queued", created_at=clock.now_ms() - HOUR_MS)


def new_error(_home):
    now = clock.now_ms()
    columns = {"first_at": now, "last_at": now, "count": 1, "opened_at": now}
    ErrorGroup.objects.create(id="e1", tool="exec", message="Error: not found", is_new=True, **columns)


def budget(_home):
    configuration.put("budget.limits", ["all agents: 10 tokens per day"])
    today = turns.utc_day(clock.now_ms())
    AgentDailyStat.objects.update_or_create(agent_id="ghost", date=today, defaults={"total_tokens": 20})


def backup(_home):
    from operations.models import BackupRun

    BackupRun.objects.update(proven_at=clock.now_ms() - 40 * 24 * HOUR_MS)


# The function that plants each problem, and a part of its sentence, the worst first.
PLANTED = {
    no_worker: "1 job is queued, but no worker runs it.",
    import_failed: "The last import of ",
    watcher_gone: "The watcher has stopped: changes are not imported.",
    left_out: "OpenClaw has left MEMORY.md of main out of every prompt since",
    rule_broken: "1 write of main broke the rule “Likes tea” (MEMORY.md).",
    blind: "The gate of main saw no user message in 40 of 160 decisions.",
    budget: "All agents: 200% of the budget of this day (UTC) is used, 20 of 10.",
    calls: "The last 5 calls of the gate's model for main failed.",
    proposal: "1 proposal waits for MEMORY.md of main.",
    overdue: "The scheduled task “Stock watch” of main is 15 h overdue.",
    failing: "The last 2 runs of the scheduled task “Digest” of main failed.",
    rejects: "1 record of main was rejected by imports.",
    newer_version: "is newer than the newest version this site was checked with (2026.9.6).",
    newer: "openclaw.json has schema 99; this version of OpenClaw Web knows schemas up to 25.",
    new_error: "New error of exec: Error: not found",
    drift: "NO_WRITE of main fell from 100.0% (60 decisions, four weeks before) to 0.0% (60 decisions, last 7 days).",
    backup: "The last successful restore was more than 30 days ago.",
}


def test_all_are_found_and_none_is_invented(home):
    assert check() == []
    for plant in reversed(PLANTED):  # reversed, since a successful import closes the problem of a failed one
        plant(home)
    sentences = [
        sentence for sentence in check() if "no known author" not in sentence
    ]  # two plants changed the file themselves
    assert [
        (sentence, part) for sentence, part in zip(sentences, PLANTED.values(), strict=True) if part not in sentence
    ] == []
    assert [
        sentence for sentence in check() if "no known author" not in sentence
    ] == sentences  # a second check repeats nothing


def test_a_problem_closes_by_itself_and_opens_again(home):
    proposal(home)
    assert check() == ["1 proposal waits for MEMORY.md of main."]
    first = Problem.objects.get()
    GuardianRun.objects.using(DB).update(state="declined")
    assert check() == []
    closed = Problem.objects.get()
    assert (closed.state, closed.closed_by, closed.id) == ("closed", "", first.id)
    GuardianRun.objects.using(DB).update(state="proposed")
    check()
    again = Problem.objects.get()
    assert (again.state, again.reopened_count, again.closed_at, again.id) == ("open", 1, None, first.id)


@pytest.mark.parametrize(
    "settle",
    [lambda row: services.mute(row.id, by="mei", reason="Known."), lambda row: services.close(row.id, by="mei")],
)
def test_what_a_person_settled_stays_until_it_is_worse_or_gone_and_back(home, settle):
    proposal(home)
    check()
    row = settle(Problem.objects.get())
    assert check() == [] and Problem.objects.get().state == row.state
    propose("p2", "Likes jam.")
    assert check() == ["2 proposals wait for MEMORY.md of main."]
    assert Problem.objects.get().mute_reason == ""
    settle(Problem.objects.get())
    GuardianRun.objects.using(DB).update(state="declined")
    assert check() == []
    GuardianRun.objects.using(DB).update(state="proposed")
    assert check() == ["2 proposals wait for MEMORY.md of main."]


# Whether a folder whose configuration names this version is a problem.
VERSIONS = {
    "2026.9.6": False,
    "2026.9.6-1": False,
    "2026.9.6-beta.2": False,
    "2026.9.7-beta.1": True,
    "v2026.10.1+build.7": True,
    "2027.1": True,
    "2026.13.1": False,
    "20261.10.1": False,
    "latest": False,
    "": False,
    7: False,
    "2026.10.2 \u202e<b>" + "x" * 1_000: True,
}


def test_a_folder_of_a_newer_version_is_a_problem_until_it_is_none(home):
    for version, is_newer in VERSIONS.items():
        newer_version(home, version)
        sentences = check()
        assert [sentence.startswith("OpenClaw 202") for sentence in sentences] == [True] * is_newer, version
        assert "<b>" not in "".join(sentences)
    assert f"OpenClaw 2026.10.2, which wrote {home.root}, is newer" in sentences[0]
    newer_version(home, "2026.9.6")
    assert check() == []
    newer_version(home)
    check()
    services.mute(Problem.objects.get(state="open", detail_json__contains="2026.11.2").id, by="mei", reason="Known.")
    newer_version(home, "2026.11.1")
    assert check() == []
    newer_version(home, "2026.12.1")  # a muted problem opens again when it is worse
    assert len(check()) == 1
    AgentSummary.objects.all().delete()
    Agent.objects.all().delete()
    CollectorSource.objects.all().delete()
    assert check() == []


def test_words_are_withheld_as_soon_as_somebody_opts_out(home):
    rule_broken(home)
    assert PLANTED[rule_broken] in check()
    configuration.put("collector.optedOutSenders", ["+49 30 1"])
    assert "1 write of main broke a rule (MEMORY.md)." in check()
    assert "Likes tea" not in Problem.objects.get(kind="rule_broken").detail_json


def test_an_import_that_works_ends_one_that_failed(home, later):
    import_failed(home)
    assert check() == [f"The last import of {home.root} failed: The disk is full."]
    later(seconds=1)
    run(home)
    assert check() == []
    watcher_state.note_refusal(home.root, "There is no OpenClaw folder.")
    refused_at = clock.now_ms()
    later(hours=3)
    watcher_state.note_refusal(home.root, "The disk is full.")
    watcher_state.note_refusal(home.root.parent, "It was never read.")
    assert check() == [f"The last import of {home.root} failed: The disk is full."]
    assert abs(Problem.objects.get(state="open").since_at - refused_at) < 10_000
    run(home)
    assert check() == []


def test_a_write_that_somebody_judged_is_settled(home, as_operator):
    rule_broken(home)
    assert PLANTED[rule_broken] in check()
    create_correction("w2", "main", status="written", fact="Likes tea.", reason="It is right.")
    assert PLANTED[rule_broken] not in check()
    assert "Likes tea" not in Problem.objects.get(kind="rule_broken").detail_json, "private facts go with it"


def test_a_verdict_in_review_settles_it_though_no_file_of_the_agent_changes(home, as_operator):
    rule_broken(home)
    turn = ConversationTurn.objects.using(DB).first()
    WriteGuardianAudit.objects.using(DB).filter(id="w2").update(turn_id=turn.id, session_id=turn.session_id)
    sample = verdict_service.give_verdict(WRITE, Agent.objects.get(), "w2", NONE, by="otto")
    assert PLANTED[rule_broken] in check() and PLANTED[rule_broken] in check()
    verdicts.label_sample(sample.id, "approved", by="otto", guardian=PartVerdict("correct"))
    assert PLANTED[rule_broken] not in check()
    undo.undo("otto")
    assert PLANTED[rule_broken] in check()


def test_a_lost_file_is_one_problem(home):
    proposal(home)
    check()
    connections[DB].close()
    file = databases.get_path("main")
    moved_parts = [(part, part.with_name(f"{part.name}.away")) for part in file.parent.glob(f"{file.name}*")]
    for part, moved_part in moved_parts:
        part.rename(moved_part)
    databases._current.discard(DB)
    sentences = check()
    assert sentences == [
        "The database of agent main is missing, and 2 records with it.",
        "1 proposal waits for MEMORY.md of main.",
    ]
    for part, moved_part in moved_parts:
        moved_part.rename(part)
    assert check() == ["1 proposal waits for MEMORY.md of main."]


def test_a_broken_file_closes_nothing_and_ends_nothing(home):
    proposal(home)
    assert check() == ["1 proposal waits for MEMORY.md of main."]
    connections[DB].close()
    file = databases.get_path("main")
    whole = file.read_bytes()
    for part in ("", "-wal", "-shm"):
        file.with_name(file.name + part).unlink(missing_ok=True)
    file.write_bytes(b"nothing of ours" * 1_000)
    databases._current.discard(DB)
    backup(home)
    sentences = check()
    assert "1 proposal waits for MEMORY.md of main." in sentences and PLANTED[backup] in "".join(sentences)
    assert any(sentence.startswith("Agent main could not be checked for problems: ") for sentence in sentences)
    connections[DB].close()
    file.write_bytes(whole)
    assert not [sentence for sentence in check() if "could not be checked" in sentence]


@pytest.mark.parametrize("mistake", ["FAILING", "UNSTORABLE"])
def test_a_kind_that_fails_keeps_its_rows(home, settings, mistake):
    overdue(home)
    assert len(check()) == 1
    settings.PROBLEM_KINDS = settings.PROBLEM_KINDS | {"task_overdue": f"tests.problems.failing_kind.{mistake}"}
    sentences = check()
    assert len(sentences) == 2 and "“Task overdue” could not be checked: unexpected error (see the log)." in sentences


def test_many_of_a_kind_are_counted(home):
    now = clock.now_ms()
    for number in range(25):
        CronJobFactory(agent_id="main", name=f"Task {number}", next_run_at=now - 15 * HOUR_MS)
    database_rows = AgentDatabase.objects.filter(agent="main")
    database_rows.update(last_seen_at=now - 16 * HOUR_MS)  # a task that was due after the last import is not overdue
    assert check() == []
    database_rows.update(last_seen_at=now)
    sentences = check()
    assert len(sentences) == 22 and "5 more: Task overdue." in sentences and "to have stopped: 25" in sentences[0]


def test_one_checks_at_a_time(home):
    proposal(home)
    with locks.lock(check_pass.LOCK):
        assert not check_pass.check_all()
    assert open_sentences() == []
    assert check_pass.check_all() and len(open_sentences()) == 1


def test_an_agent_that_is_gone_has_no_problems(home):
    proposal(home)
    check()
    AgentSummary.objects.all().delete()
    Agent.objects.all().delete()
    assert check() == [] and not ProblemCheck.objects.filter(place="main").exists()


def test_what_was_closed_long_ago_is_removed(home, later):
    from problems import problem_store as problem_storing

    proposal(home)
    check()
    GuardianRun.objects.using(DB).update(state="declined")
    check()
    assert problem_storing.prune_problems() == 0
    later(hours=24 * 91)
    assert problem_storing.prune_problems() == 1
