"""Problems that follow from another one fold under it, and no others do."""

import re
from html import unescape

import pytest
from django.conf import settings

from agents.models import AgentDatabase, CollectorSource
from openclaw_web import clock
from overview.models import AgentSummary
from problems import kinds, services
from problems.models import Problem
from tests.factories import AgentFactory, CronJobFactory, CronRunFactory, UserFactory
from tests.suite.browsers import BACKEND

from .check_results import check

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("proven")]
HOUR_MS = 3_600_000
ROOT, OTHER = "/srv/one", "/srv/two"


def plant_home(root, *agents, alive_hours=20):
    now = clock.now_ms()
    for name in agents:
        AgentFactory(agent_id=name)
        claim = {"kind": CollectorSource.Kind.AGENT, "root": root, "path": name, "agent_id": name}
        CollectorSource.objects.create(source_key=f"{root}-{name}", **claim)
        AgentDatabase.objects.create(agent_id=name, path=name, schema_version=1, last_seen_at=now)
        last = {"last_activity_at": now - alive_hours * HOUR_MS, "last_collected_at": now}
        AgentSummary.objects.update_or_create(agent_id=name, defaults=last)


def plant_overdue(agent, *hours):
    for number, late in enumerate(hours):
        CronJobFactory(agent_id=agent, name=f"Task {number}", next_run_at=clock.now_ms() - late * HOUR_MS)


def plant_failing(agent, *errors):
    for number, error in enumerate(errors):
        job = CronJobFactory(agent_id=agent, name=f"Task {number}")
        CronRunFactory(agent_id=agent, job_id=job.id, ts=clock.now_ms() - HOUR_MS, status="error", error=error)


def plant_row(name, facts, agent="", hours=1):
    moment = clock.now_ms() - hours * HOUR_MS
    columns = {"severity": kinds.find(name).severity, "since_at": moment, "opened_at": moment, "last_seen_at": moment}
    return Problem.objects.create(id=f"{name}-{agent}", kind=name, agent_id=agent, detail=facts, **columns)


def read_rows(client, query=""):
    """Return the sentences of the rows of System, each with those folded under it."""
    rows = re.findall(r'<tr id="problem-[^"]*">(.*?)</td>', client.get(f"/operations/{query}").text, re.S)
    return {
        clean(row.split("<details")[0]): [clean(item) for item in re.findall(r"<li[^>]*>(.*?)</li>", row, re.S)]
        for row in rows
    }


def clean(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).removeprefix("Error:").split()).removeprefix("Error: ")


def test_five_overdue_tasks_of_a_stopped_openclaw_are_one_problem(as_admin):
    plant_home(ROOT, "ada")
    plant_home(OTHER, "bob")
    plant_overdue("ada", 6, 5, 4, 3, 2)
    plant_overdue("bob", 5)  # of another home, which may run
    check()
    rows = read_rows(as_admin)
    stopped = [folded for sentence, folded in rows.items() if f"{ROOT} seems to have stopped: 5 scheduled" in sentence]
    assert len(rows) == 2 and [len(folded) for folded in stopped] == [5]
    assert all(" bob " not in sentence for sentence in stopped[0])
    page = as_admin.get("/").text
    assert "5 problems follow from this" in page and page.count("needs__words") == 2
    assert ">2</b>" in as_admin.get("/operations/needs/").text
    api = as_admin.get("/api/v1/problems").json()["items"]
    everything = as_admin.get("/api/v1/problems?segment=all").json()["items"]
    cause = next(row for row in api if row["kind"] == "openclaw_stopped")
    assert len(api) == 2 and len(everything) == 7
    assert sum(row["cause_id"] == cause["id"] for row in everything) == 5
    assert len(read_rows(as_admin, "?kind=task_overdue")) == 6
    services.mute(cause["id"], by="root", reason="Known.")
    assert len(read_rows(as_admin)) == 6


@pytest.mark.parametrize(
    ("alive_hours", "late"), [(1, (5, 4)), (4, (5, 3)), (20, (5,))], ids=["alive since", "one before", "only one"]
)
def test_tasks_that_are_late_for_another_reason_stay_apart(as_admin, alive_hours, late):
    plant_home(ROOT, "ada", alive_hours=alive_hours)
    plant_overdue("ada", *late)
    check()
    assert len(read_rows(as_admin)) == len(late) and not Problem.objects.filter(kind="openclaw_stopped").exists()


def test_a_stopped_openclaw_that_runs_again_has_no_problem(as_admin):
    plant_home(ROOT, "ada")
    plant_overdue("ada", 5, 4)
    check()
    AgentSummary.objects.update(last_activity_at=clock.now_ms())
    check()
    assert Problem.objects.get(kind="openclaw_stopped").state == "closed" and len(read_rows(as_admin)) == 2


def test_tasks_that_fail_for_the_model_are_one_problem(as_admin):
    plant_home(ROOT, "ada", "bob")
    plant_failing("ada", "FailoverError: connect ECONNREFUSED 127.0.0.1:11434", "LLM request failed: 503", "no file x")
    plant_failing("bob", "429 rate limit")
    check()
    rows = read_rows(as_admin)
    assert sorted(map(len, rows.values())) == [0, 3]


# The cause with its facts; the others with agent, hours and facts; how many of them fold.
FOLDED = {
    "a full disk": (
        ("disk", "", 2, {"folder": "/home"}),
        [
            ("import_failed", "", 1, {"source": "/srv/one", "message": "The disk is full."}),
            ("task_failed", "", 1, {"kind": "backup", "job": "j", "message": ""}),
            ("findings_behind", "ada", 1, {"count": 3}),
            ("findings_behind", "bob", 40, {"count": 3}),  # it began before
            ("gate_blind", "ada", 1, {"unseen": 3, "count": 10}),
        ],
        3,
    ),
    "the model of this site": (
        ("own_model_down", "", 3, {"model": "m", "host": "h", "count": 2}),
        [
            ("gate_calls", "ada", 2, {"in_a_row": 5}),
            ("gate_calls", "bob", 2, {"in_a_row": 0, "failed": 3, "count": 12}),  # of the plugin's model
            ("guardian_calls", "ada", 2, {"failed": 9, "count": 12}),
            ("task_failed", "", 1, {"kind": "gate_new_turns", "job": "j", "message": ""}),
        ],
        3,
    ),
    "agents that it names": (
        ("openclaw_stopped", "", 3, {"folder": ROOT, "count": 2, "agents": ["ada"]}),
        [
            ("task_overdue", "ada", 2, {"task": "t", "name": "T", "late_ms": 1}),
            ("task_overdue", "bob", 2, {"task": "t", "name": "T", "late_ms": 1}),
        ],
        1,
    ),
}


@pytest.mark.parametrize("case", FOLDED)
def test_what_folds(as_admin, case):
    cause, others, count = FOLDED[case]
    rows = [plant_row(kind, facts, agent, hours) for kind, agent, hours, facts in [cause, *others]]
    assert sorted(map(len, read_rows(as_admin).values())) == [0] * (len(others) - count) + [count]
    services.close(rows[0].id, by="root")
    assert len(read_rows(as_admin)) == len(others)


def test_nobody_loses_a_problem_to_a_cause_that_they_may_not_see(client):
    client.force_login(UserFactory(role="viewer"), backend=BACKEND)
    plant_row("disk", {"folder": "/home"}, hours=2)
    plant_row("findings_behind", {"count": 3}, "ada")
    assert "3 texts of ada" in client.get("/").text


def test_no_kinds_cause_each_other():
    causes = {name: kind.causes for name, kind in kinds.all_kinds().items()}
    for name in causes:
        later = set(causes[name])
        while more := {other for known in later for other in causes[known]} - later:
            later |= more
        assert name not in later and later <= set(settings.PROBLEM_KINDS)
