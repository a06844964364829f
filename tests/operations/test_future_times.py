"""Stored times from the future, left by a wrong clock, hold up nothing."""

import os

import pytest
from django.urls import reverse

from agents import holdings
from agents.models import CollectedSession
from agents.runners import auto_run, switches
from collecting import report
from datasets.models import SampleClaim
from datasets.review import claims, verdicts
from gate.models import GateCall
from gate.runner.config import RUNNER
from guardian.models import RollbackIntent
from guardian.recording import checks
from jobs import automatic_tasks
from jobs import kinds as job_kinds
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Progress
from ledger.models import Session, TranscriptEvent
from openclaw_web import clock
from operations.backups import runs
from operations.doctor.sources import gateway
from operations.models import BackupRun
from operations.retention import services, session_selection
from people.api_auth import idempotency
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.factories import BackupRunFactory, GateCallFactory, JobFactory, SampleFactory, UserFactory
from tests.homes import Home, assistant, user

pytestmark = pytest.mark.django_db
NOW = 1_771_700_000_000
HOUR, DAY = 3_600_000, 86_400_000
YEAR = 365 * DAY


@pytest.fixture
def now(monkeypatch):
    """A clock that a test sets, forward and back."""

    class Now:
        ms = NOW

    monkeypatch.setattr(clock, "now_ms", lambda: Now.ms)
    return Now


def create_scheduled_job(kind, at, state="finished"):
    return JobFactory(kind=kind, started_by="schedule", state=state, created_at=at, finished_at=at)


def is_due(kind):
    """Return whether the schedule starts this kind now."""
    return kind in [job.kind for job in automatic_tasks.start_due()]


class TestSchedules:
    @pytest.fixture(autouse=True)
    def settings(self, settings, tmp_path, now):
        settings.STATE_DIR = tmp_path
        configuration.put("schedule.collectMinutes", 5)

    def test_a_run_that_ended_tomorrow_stops_no_import(self, now):
        create_scheduled_job("collect", NOW + DAY)
        assert is_due("collect")
        JobRun.objects.filter(kind="collect", state="queued").update(state="finished", finished_at=NOW)
        assert not is_due("collect"), "the run of now is the last one"
        now.ms += 5 * 60_000
        assert is_due("collect")

    def test_a_clock_that_was_put_back_starts_one_run_more(self, now):
        assert is_due("collect")
        JobRun.objects.update(state="finished", finished_at=NOW)
        now.ms -= 2 * DAY
        assert is_due("collect")
        JobRun.objects.update(state="finished", finished_at=now.ms)
        assert not is_due("collect")

    def test_what_is_under_way_is_not_started_twice(self, now):
        params = job_kinds.get_kind("collect").schedule.build_params()
        JobFactory(kind="collect", state="running", created_at=NOW + DAY, params=params)
        assert is_due("collect")
        assert JobRun.objects.count() == 1

    @pytest.mark.parametrize(("ahead", "lost"), [(YEAR, True), (-YEAR, True), (5_000, False), (-5_000, False)])
    def test_a_heartbeat_from_the_future_keeps_no_job(self, ahead, lost):
        job = JobFactory(state="running", worker="elsewhere:1:x", heartbeat_at=NOW + ahead)
        assert jobs.is_lost(job) is lost


def test_a_claim_from_the_future_can_be_taken(ada, now):
    SampleFactory(id="a")
    now.ms += YEAR
    claims.take("a", by="ann")
    now.ms -= YEAR
    assert claims.find_holder("a", besides="bea") is None
    assert claims.find_holders(claims.queues.Queue(), besides="bea") == []
    assert claims.take_next(claims.queues.Queue(), by="bea").sample_id == "a"
    assert claims.find_holder("a", besides="ann").name == "bea"
    SampleClaim.objects.update(claimed_by="ann", expires_at=NOW + YEAR)
    assert verdicts.label_sample("a", "approved", by="bea").annotated_by == "bea"


def test_a_lease_from_the_future_is_taken_over(now):
    person = UserFactory()
    now.ms += YEAR
    first = idempotency.begin(person, "key", "print")
    with pytest.raises(idempotency.InProgress):
        idempotency.begin(person, "key", "print")
    now.ms -= YEAR
    assert idempotency.begin(person, "key", "print").claim != first.claim


class TestBackups:
    def test_backups_from_the_future_do_not_push_out_new_ones(self, now, tmp_path):
        for number, at in enumerate((NOW + YEAR, NOW + YEAR + 1, NOW - HOUR, NOW)):
            path = tmp_path / f"openclaw-web-2026022{number}T120000Z.tar.zst"
            path.touch()
            BackupRunFactory(id=f"b{number}", created_at=at, status="verified", archive_path=str(path))
        assert runs.find_backup("latest").id == "b3"
        runs.prune_backups(2, tmp_path)
        assert set(BackupRun.objects.exclude(status="gone").values_list("id", flat=True)) == {"b2", "b3"}

    def test_a_proof_from_the_future_is_not_believed(self, now):
        BackupRunFactory(status="verified", proven_at=NOW + YEAR)
        assert runs.is_overdue(runs.find_last_proven_at())
        BackupRunFactory(status="verified", proven_at=NOW - DAY)
        assert not runs.is_overdue(runs.find_last_proven_at())


class TestRetention:
    @pytest.fixture
    def home(self, tmp_path, real_files, now):
        """A home with a session whose last record is a year ahead, and a present one."""
        home = Home(tmp_path / "openclaw")
        home.transcript(user("Hi"), assistant("Ahead") | {"timestamp": NOW + YEAR})
        home.transcript(user("Now") | {"timestamp": NOW - HOUR})
        run(home)
        return home

    def test_a_session_of_the_future_is_as_old_as_its_import(self, home, now):
        ahead = Session.objects.using(MAIN).get(last_activity_at=NOW + YEAR)
        assert session_selection.count_old_sessions("main", MAIN, session_selection.days_ago(30)).sessions == 0
        now.ms += 40 * DAY
        assert [
            session.id
            for session, _needed in session_selection.find_old_sessions("main", MAIN, session_selection.days_ago(50))
        ] == []
        old = [
            session.id
            for session, _needed in session_selection.find_old_sessions("main", MAIN, session_selection.days_ago(30))
        ]
        assert len(old) == 2 and ahead.id in old
        answer = services.remove_sessions({"days": 30, "agent": "main"}, Progress())
        assert (answer["sessions"], answer["failed"]) == (2, [])
        assert not Session.objects.using(MAIN).exists()

    def test_an_import_in_the_future_counts_as_now(self, home, now):
        CollectedSession.objects.update(noted_at=NOW + 2 * YEAR)
        now.ms += 40 * DAY
        ahead = Session.objects.using(MAIN).get(last_activity_at=NOW + YEAR)
        assert ahead.id not in [
            session.id
            for session, _needed in session_selection.find_old_sessions("main", MAIN, session_selection.days_ago(30))
        ]
        assert holdings.read_noted_times("main", [ahead.id]) == {ahead.id: NOW + 2 * YEAR}

    def test_statistics_say_how_many(self, home, now, as_admin):
        before = TranscriptEvent.objects.using(MAIN).order_by("seq").values_list("created_at", flat=True)
        sentence = "Times in the future: 1 session, 1 record. They count as now; a clock was wrong."
        assert sentence in as_admin.get(reverse("overview:overview")).text
        totals = as_admin.get("/api/v1/overview").json()["totals"]
        assert (totals["future_session_count"], totals["future_record_count"]) == (1, 1)
        answer = run(home)
        assert answer["agents"]["main"]["future_record_count"] == 1
        assert "1 record with a time in the future" in report.in_words(answer)
        assert NOW + YEAR in list(before), "stored times stay as they are"
        now.ms += 2 * YEAR
        assert "Times in the future" not in as_admin.get(reverse("overview:overview")).text


class TestOwnModels:
    def test_calls_of_the_future_use_nothing_of_today(self, ada, now):
        for at in (NOW + YEAR, NOW + DAY, NOW, NOW - DAY):
            GateCallFactory(created_at=at, reserved_tokens=10)
        assert RUNNER.allowance.used_tokens("agent_ada") == 10
        assert GateCall.objects.using("agent_ada").count() == 4

    def test_a_failed_run_of_tomorrow_is_no_pause(self, now):
        JobFactory(kind="gate_new_turns", state="failed", created_at=NOW + DAY, finished_at=NOW + DAY)
        assert not auto_run._is_pausing("gate_new_turns")
        JobFactory(kind="gate_new_turns", state="failed", created_at=NOW + DAY + 1, finished_at=NOW - 1)
        assert auto_run._is_pausing("gate_new_turns")

    def test_a_gate_that_was_switched_on_in_the_future_is_on_since_now(self, ada, now):
        now.ms += YEAR
        switches.turn_on(RUNNER, ada, by="root")
        now.ms -= YEAR
        switches.correct_future_times(RUNNER)
        assert switches.read_agent_switches(RUNNER, "ada")[""].since == NOW
        assert switches.read_agent_switches(RUNNER, "ada")[""].by == "root"


def test_a_rollback_that_began_in_the_future_is_broken_off(ada, now):
    values = {"group_id": "g", "file_name": "USER.md", "path": "x", "by": "root"}
    fields = {field.name for field in RollbackIntent._meta.concrete_fields}
    values = {name: value for name, value in values.items() if name in fields}
    RollbackIntent.objects.using("agent_ada").create(id="i1", created_at=NOW + YEAR, **values)
    RollbackIntent.objects.using("agent_ada").create(id="i2", created_at=NOW - 1, **values)
    assert [row.id for row in checks.find_open_intents("agent_ada")] == ["i1"]


@pytest.mark.parametrize(("age_s", "is_alive"), [(60, True), (600, False), (-86_400, False)])
def test_a_source_of_tomorrow_is_no_sign_of_life(tmp_path, now, age_s, is_alive):
    source = type("Source", (), {"file": tmp_path / "a.jsonl", "name": "a.jsonl"})
    source.file.touch()
    written = (NOW // 1000) - age_s
    os.utime(source.file, (written, written))
    assert bool(gateway.find_signs_of_life(tmp_path, [source])) is is_alive
