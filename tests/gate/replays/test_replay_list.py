"""The list of replays."""

import pytest

from .replay_rows import LIST, NEW, create_decisions, replays, rows, run_replay, text_of

pytestmark = pytest.mark.django_db


def test_an_empty_list_says_how_to_begin(ada, as_stranger, as_operator):
    page = text_of(as_stranger.get(LIST))
    assert "No replays yet" in page
    assert f'href="{NEW}"' not in page
    assert f'href="{NEW}"' in text_of(as_operator.get(LIST))


def test_a_replay_whose_job_is_gone_has_stopped(ada, endpoint, as_stranger):
    create_decisions(1)
    replay_row, _job = run_replay(ada)
    replays().update(state="running", job_id="gone")
    rows().update(outcome="waiting", decision=None, is_same=None)
    assert "Stopped" in text_of(as_stranger.get(f"{LIST}{replay_row.id}/"))
    assert "Stopped" in text_of(as_stranger.get(LIST))
