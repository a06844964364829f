"""A decision whose share changed is reported: on the page, in the API, to operators."""

import re

import pytest

from people.configuration import setting_values as configuration

from .decided import PAGE, decide

pytestmark = pytest.mark.django_db
API = "/api/v1/agents/ada/gate/statistics"


def drifts(client):
    return [(one["decision"], one["points"]) for one in client.get(API).json()["drift"]]


@pytest.fixture
def steady(ada):
    """Four weeks in which every tenth decision of a hundred wrote."""
    decide("NO_WRITE", 90, 20)
    decide("UPDATE_USER", 10, 20)


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
    decide("NO_WRITE", 100 - wrote, 3)
    decide("UPDATE_USER", wrote, 3)
    assert drifts(as_stranger) == reported


@pytest.mark.parametrize(("now", "is_reported"), [(49, False), (50, True)])
def test_both_sides_need_fifty_decisions(as_stranger, steady, now, is_reported):
    decide("UPDATE_SOUL", now, 3)
    assert bool(drifts(as_stranger)) == is_reported


def test_today_and_what_is_older_than_five_weeks_do_not_count(as_stranger, steady):
    decide("NO_WRITE", 90, 7)
    decide("UPDATE_USER", 10, 1)
    decide("UPDATE_SOUL", 200, 0)
    decide("UPDATE_SOUL", 200, 36)
    assert drifts(as_stranger) == []  # 100 decisions in the last seven full days


def test_settings_say_how_much_and_how_many(as_stranger, steady):
    decide("NO_WRITE", 12, 3)
    decide("UPDATE_USER", 8, 3)
    configuration.put("memoryGate.driftDecisions", 20)
    assert drifts(as_stranger) == [("NO_WRITE", -30.0), ("UPDATE_USER", 30.0)]
    configuration.put("memoryGate.driftPoints", 31)
    assert drifts(as_stranger) == []


def test_the_page_says_both_shares(as_stranger, steady):
    decide("UPDATE_USER", 100, 3)
    text = " ".join(re.sub(r"<[^>]+>", "", as_stranger.get(PAGE).text).split())
    assert "UPDATE_USER rose from 10.0% (100 decisions, four weeks before) to 100.0% (100, last 7 days)." in text
    assert "NO_WRITE fell from 90.0% (100 decisions, four weeks before) to 0.0% (100, last 7 days)." in text


def test_of_one_model_alone(as_stranger, steady):
    decide("UPDATE_USER", 100, 3, llm_model="gate-2")
    assert len(as_stranger.get(API).json()["drift"]) == 2
    assert as_stranger.get(f"{API}?model=gate-2").json()["drift"] == []
