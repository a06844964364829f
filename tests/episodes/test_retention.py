"""Retention removes old events, and leaves every head that was given out comparable."""

import pytest

from agents import databases, services
from episodes import jobs, problems, redaction, retention, scope_statistics
from episodes.append import append
from episodes.chain import heads, verification
from episodes.events import Limits, build_event
from episodes.models import EpisodeGap, EpisodeRun, EpisodicEvent
from episodes.redaction import Redaction
from jobs import services as job_runs
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.clock import DAY_MS

pytestmark = pytest.mark.django_db
ALLOWED = Limits(allows_tool_output=True)


@pytest.fixture
def main(real_files):
    return services.register("main")


def add(agent, *ages, scope="alpha", event_type="tool.call", prefix="e", **more):
    """Append an event for each age in days."""
    now, count = clock.now_ms(), EpisodicEvent.objects.using(agent.db).count()
    values = {"type": event_type, "scope": scope, "session_id": "s", "agent_id": "a", "summary": "done"} | more
    events = [
        build_event(**values, event_id=f"{prefix}{count + number}", ts_ms=now - age * DAY_MS, limits=ALLOWED)
        for number, age in enumerate(ages)
    ]
    append(agent.db, events)


def list_gaps(agent):
    return list(EpisodeGap.objects.using(agent.db).order_by("first_id").values_list("first_id", "last_id", "count"))


def verify(agent, *expected):
    return verification.verify(agent.db, [(str(head), head) for head in expected])


def test_the_first_event_and_all_of_a_type_can_be_removed(main):
    add(main, 40, 40, 1)
    result = retention.run(main, "alpha", by="otto")
    assert result.deleted_by_type["tool.call"] == result.deleted_total == 2
    assert list_gaps(main) == [(1, 2, 2)]
    assert verify(main).is_unchanged
    (event,) = EpisodicEvent.objects.using(main.db).filter(session_id="episodes-retention")
    assert event.payload["removed_count"] == 2 and event.payload["removed_type"] == "tool.call"
    assert set(event.payload) == {"run", "removed_type", "removed_count", "before_ms", "gap_count", "gaps_sha256"}
    assert not EpisodeRun.objects.using(main.db).filter(is_open=True).exists()


def test_neighbouring_gaps_become_one(main):
    add(main, 40, 70, 40, 1)
    policy = {"tool.call": 60}
    retention.run(main, "alpha", policy, by="otto")
    assert list_gaps(main) == [(2, 2, 1)]
    retention.run(main, "alpha", by="otto")
    assert list_gaps(main) == [(1, 3, 3)]
    assert verify(main).is_unchanged


def test_gaps_end_at_heads_that_were_given_out_and_the_heads_stay_comparable(main):
    add(main, 40, 40)
    first = heads.give_out(main.db, "a file")
    add(main, 40, 40)
    second = heads.give_out(main.db, "the screen")
    add(main, 40)
    retention.run(main, "alpha", by="otto")
    assert list_gaps(main) == [(1, 2, 2), (3, 4, 2), (5, 5, 1)]
    assert EpisodicEvent.objects.using(main.db).exclude(session_id="episodes-retention").count() == 0
    result = verify(main, first, second, heads.EMPTY)
    assert result.is_unchanged and [entry["unchanged"] for entry in result.heads] == [True] * 3
    forged = heads.Head(4, bytes(32))
    assert not verify(main, forged).is_unchanged


def test_scopes_have_policies_of_their_own_and_other_scopes_are_not_touched(main):
    add(main, 40)
    add(main, 40, scope="beta")
    retention.set_policy(main, "alpha", {"tool.call": None}, by="otto")
    for scope in ("alpha", "beta"):
        retention.run(main, scope, by="otto")
    scopes = EpisodicEvent.objects.using(main.db).filter(type="tool.call").values_list("scope", flat=True)
    assert list(scopes) == ["alpha"]


def test_a_preview_removes_nothing(main):
    add(main, 40, 40, 1)
    assert retention.plan(main, "alpha").deleted_total == 2
    assert EpisodicEvent.objects.using(main.db).count() == 3 and not list_gaps(main)


def test_removed_and_redacted_words_are_in_no_byte_of_the_files(main):
    add(main, 40, summary="saffron-removed", payload={"text": "saffron-payload " * 400}, refs=["saffron-refs"])
    add(main, 1, 1, 1, summary="saffron-redacted", payload={"text": "saffron-payload " * 400}, refs=["saffron-refs"])
    folder = databases.get_path("main").parent
    assert any(b"saffron" in file.read_bytes() for file in folder.iterdir())
    retention.run(main, "alpha", by="otto")
    assert redaction.redact(main, Redaction.parse("alpha", session_id="s"), by="otto") == 3
    assert redaction.redact(main, Redaction.parse("alpha", session_id="s"), by="otto") == 0
    assert [file.name for file in folder.rglob("*") if file.is_file() and b"saffron" in file.read_bytes()] == []
    home = folder.parents[2]
    assert [file.name for file in home.rglob("*") if file.is_file() and b"saffron" in file.read_bytes()] == []
    assert verify(main).is_unchanged


def test_the_job_removes_old_events_of_every_scope_and_counts_by_type(main):
    add(main, 40, 1)
    add(main, 100, 100, scope="beta", event_type="conversation.user")
    result = jobs.remove_expired({}, Progress())
    assert result["deleted_by_type"] == {"conversation.user": 2, "tool.call": 1}
    assert [(part["agent"], part["scope"]) for part in result["scopes"]] == [("main", "alpha"), ("main", "beta")]
    assert jobs.remove_expired({"agent": "main", "scope": "beta"}, Progress())["deleted_total"] == 0


def test_the_job_compares_the_ledger_with_heads_that_were_kept(main):
    add(main, 1, 1)
    head = heads.give_out(main.db, "a file")
    add(main, 1)
    run = job_runs.run_now("episodes_verify", {"agent": "main", "heads": [["mine", str(head)]]}, by="otto")
    assert run.state == "finished", run.message
    assert run.result["unchanged"] and run.result["events"] == 3 and run.result["head"].startswith("3:")
    assert [entry["name"].partition(",")[0] for entry in run.result["heads"]] == ["mine"]
    wrong = job_runs.run_now("episodes_verify", {"agent": "main", "heads": [["mine", f"2:{'0' * 64}"]]}, by="otto")
    assert not wrong.result["unchanged"] and "Heads that differ: 1" in wrong.result["message"]
    (finding,) = problems.check_ledgers()
    assert (finding.agent_id, finding.facts) == ("main", {"job": wrong.id, "count": 1})
    job_runs.run_now("episodes_verify", {"agent": "main", "heads": []}, by="otto")
    assert list(problems.check_ledgers()) == []


def test_every_type_has_days_and_a_place_in_the_chart():
    assert set(retention.DEFAULT_DAYS) == set(EpisodicEvent.Type.values)
    charted = {name for _label, _tone, names in scope_statistics.SERIES for name in names}
    assert charted == set(EpisodicEvent.Type.values)
