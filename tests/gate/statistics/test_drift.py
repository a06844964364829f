"""A decision whose share changed is reported: on the page, in the API, to operators."""

import re

import pytest

from people.configuration import setting_values as configuration

from .statistics_rows import PAGE, store_decisions

pytestmark = pytest.mark.django_db
API = "/api/v1/agents/ada/gate/statistics"


def read_drift(client):
    return [(drift["decision"], drift["points"]) for drift in client.get(API).json()["drift"]]


@pytest.fixture
def steady(ada):
    """Four weeks in which every tenth decision of a hundred wrote."""
    store_decisions("NO_WRITE", 90, 20)
    store_decisions("UPDATE_USER", 10, 20)


@pytest.mark.parametrize(
    ("wrote", "reported"),
    [
        (10, []),
        (14, []),
        (15, [("NO_WRITE", -5.0), ("UPDATE_USER", 5.0)]),
        (5, [("NO_WRITE", 5.0), ("UPDATE_USER", -5.0)]),
    ],
)
def test_five_points_are_reported(as_stranger, steady, wrote, reported):
    store_decisions("NO_WRITE", 100 - wrote, 3)
    store_decisions("UPDATE_USER", wrote, 3)
    assert read_drift(as_stranger) == reported


@pytest.mark.parametrize(("now", "is_reported"), [(49, False), (50, True)])
def test_both_sides_need_fifty_decisions(as_stranger, steady, now, is_reported):
    store_decisions("UPDATE_SOUL", now, 3)
    assert bool(read_drift(as_stranger)) == is_reported


def test_today_and_what_is_older_than_five_weeks_do_not_count(as_stranger, steady):
    store_decisions("NO_WRITE", 90, 7)
    store_decisions("UPDATE_USER", 10, 1)
    store_decisions("UPDATE_SOUL", 200, 0)
    store_decisions("UPDATE_SOUL", 200, 36)
    assert read_drift(as_stranger) == []  # 100 decisions in the last seven full days


def test_settings_say_how_much_and_how_many(as_stranger, steady):
    store_decisions("NO_WRITE", 12, 3)
    store_decisions("UPDATE_USER", 8, 3)
    configuration.put("memoryGate.driftDecisions", 20)
    assert read_drift(as_stranger) == [("NO_WRITE", -30.0), ("UPDATE_USER", 30.0)]
    configuration.put("memoryGate.driftPoints", 31)
    assert read_drift(as_stranger) == []


def test_the_page_says_both_shares(as_stranger, steady):
    store_decisions("UPDATE_USER", 100, 3)
    text = " ".join(re.sub(r"<[^>]+>", "", as_stranger.get(PAGE).text).split())
    assert "UPDATE_USER rose from 10.0% (100 decisions, four weeks before) to 100.0% (100, last 7 days)." in text
    assert "NO_WRITE fell from 90.0% (100 decisions, four weeks before) to 0.0% (100, last 7 days)." in text


def test_of_one_model_alone(as_stranger, steady):
    store_decisions("UPDATE_USER", 100, 3, llm_model="gate-2")
    assert len(as_stranger.get(API).json()["drift"]) == 2
    assert as_stranger.get(f"{API}?model=gate-2").json()["drift"] == []
