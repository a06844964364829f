"""Retention of a scope on its page: policy, preview, start of a run."""

import pytest

from agents import services
from episodes import retention
from episodes.models import EpisodePolicy, EpisodicEvent
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.clock import DAY_MS
from tests.episodes.ledger_events import store_event
from tests.ledger.transcript_records import get_text

PAGE = "/agents/ada/episodes/retention/"
pytestmark = pytest.mark.django_db


def build_form(**changes):
    days = {name: "" if count is None else count for name, count in retention.DEFAULT_DAYS.items()}
    return days | changes


def test_only_what_differs_is_stored(as_admin, ada):
    assert as_admin.post(f"{PAGE}set/?scope=alpha", build_form(**{"tool.call": 5, "ops.alert": ""})).status_code == 302
    rows = EpisodePolicy.objects.using(ada.db).values_list("scope", "type", "days", "changed_by")
    assert sorted(rows) == [("alpha", "ops.alert", None, "root"), ("alpha", "tool.call", 5, "root")]
    assert retention.read_policy(ada.db, "beta") == retention.DEFAULT_DAYS


@pytest.mark.parametrize("days", ["0", "-1", "36501", "x"])
def test_days_that_cannot_be_are_refused(as_admin, ada, days):
    assert as_admin.post(f"{PAGE}set/?scope=alpha", build_form(**{"tool.call": days})).status_code == 422
    assert not EpisodePolicy.objects.using(ada.db).exists()


def test_a_preview_counts_and_removes_nothing(as_stranger, ada):
    store_event(event_id="old", type="tool.call", ts_ms=clock.now_ms() - 31 * DAY_MS)
    store_event(event_id="new", type="tool.call", ts_ms=clock.now_ms() - 29 * DAY_MS)
    page = get_text(as_stranger.get(f"{PAGE}?scope=global&preview=1"))
    assert "A run now would remove 1 event<" in page and "Remove events permanently" not in page
    assert "A run now" not in get_text(as_stranger.get(f"{PAGE}?scope=global"))
    assert EpisodicEvent.objects.using(ada.db).count() == 2


def test_a_run_is_a_job_and_its_traces_are_shown(as_admin, real_files):
    agent, page = services.register("main"), PAGE.replace("ada", "main")
    assert as_admin.post(f"{page}run/?scope=global")["Location"] == f"{page}?scope=global"
    assert JobRun.objects.get(kind="episodes_retention").params == {"agent": "main", "scope": "global"}
    store_event(db=agent.db, type="tool.call", ts_ms=clock.now_ms() - 31 * DAY_MS)
    retention.run(agent, "global", by="root")
    assert "Retention removed 1 event of type tool.call" in get_text(as_admin.get(f"{page}?scope=global"))
