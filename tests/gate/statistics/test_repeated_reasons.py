"""Reasons that a gate gave repeatedly."""

import pytest

from gate.statistics import repeated_reasons

from .statistics_rows import PAGE, make_report, midnight, store_decisions, store_reports

pytestmark = pytest.mark.django_db
API = "/api/v1/agents/ada/gate/statistics"


def read_groups(client, query=""):
    answer = client.get(API + query).json()
    return [(group["decision"], group["reason"], group["count"]) for group in answer["reasons"]]


def test_equal_reasons_are_one_group(as_stranger, ada):
    texts = ("Small talk.", "small  talk", "SMALL\ntalk!", "Likes tea", "Line 12 is wrong.", "Line 3,000 is wrong.")
    store_reports(*(make_report(reason=reason, created_at=midnight() + n) for n, reason in enumerate(texts)))
    store_reports(make_report("UPDATE_USER", reason="Small talk."))
    assert read_groups(as_stranger) == [("NO_WRITE", "SMALL\ntalk!", 3), ("NO_WRITE", "Line 3,000 is wrong.", 2)]
    text = as_stranger.get(PAGE).text
    assert "Based on all 7 decisions." in text
    assert "Line 3,000 is wrong." in text and "Likes tea" not in text


def test_only_the_newest_are_looked_at(as_stranger, ada, monkeypatch):
    monkeypatch.setattr(repeated_reasons, "NEWEST", 500)
    monkeypatch.setattr(repeated_reasons, "PIECE", 250)
    store_decisions("NO_WRITE", 300, 3, reason="Old.")
    store_decisions("NO_WRITE", 400, 1, reason="New.")
    assert read_groups(as_stranger) == [("NO_WRITE", "New.", 400), ("NO_WRITE", "Old.", 100)]
    assert "Based on the latest 500 decisions." in as_stranger.get(PAGE).text


def test_as_many_as_are_looked_at_are_all(as_stranger, ada):
    store_decisions("NO_WRITE", repeated_reasons.NEWEST, 1)
    assert f"Based on all {repeated_reasons.NEWEST} decisions." in as_stranger.get(PAGE).text
    assert "Based on the latest" not in as_stranger.get(PAGE).text


def test_what_takes_too_long_is_left(as_stranger, ada, monkeypatch):
    monkeypatch.setattr(repeated_reasons, "BUDGET_MS", 0)
    store_decisions("NO_WRITE", 5_000, 1)
    assert as_stranger.get(PAGE).status_code == 200


@pytest.mark.parametrize(
    ("given_reasons", "words"),
    [
        (["The user likes tea."], "The user likes tea"),
        (["Line 12 of the log is wrong", "Line 7 of the log is wrong"], "of the log is wrong"),
        (["用户喜欢茶。"], "用户喜欢茶"),
        (["42"], ""),
        (["word " * 60], ("word " * 20).strip()),
    ],
)
def test_what_is_searched_for_is_in_all_of_them(given_reasons, words):
    assert repeated_reasons.find_common_words(given_reasons) == words


def test_narrowed_as_the_page_is(as_stranger, ada):
    store_decisions("NO_WRITE", 2, 1, reason="A")
    store_decisions("NO_WRITE", 2, 1, reason="B", llm_model="gate-2")
    assert read_groups(as_stranger, "?model=gate-2") == [("NO_WRITE", "B", 2)]
