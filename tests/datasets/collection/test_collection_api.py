"""The API of collecting."""

import pytest

from tests.datasets.collection.collecting import EASY, post_json, run_jobs, store_written

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(own_home, ada):
    store_written()


def test_the_api_answers_as_the_pages(as_admin):
    started = post_json(as_admin, "/collection/runs", {"agent": "ada"})
    assert started.status_code == 202
    run_jobs()
    run = as_admin.get(f"/api/v1/collection/runs/{started.json()['run']}").json()
    assert (run["turns"], run["candidates"], run["samples"], run["reasons"]) == (3, 3, 1, {"no_criterion": 2})
    turns = as_admin.get(f"/api/v1/collection/runs/{run['id']}/turns?outcome=sample").json()["items"]
    assert [(row["turn_id"], row["answers"]["wasWritten"]) for row in turns] == [("s1:u2", "yes")]
    assert as_admin.get("/api/v1/collection/runs").json()["items"] == [run]
    counted = post_json(as_admin, "/collection/what-if", {"changes": EASY}).json()
    assert (counted["before"]["approve"], counted["after"]["approve"], counted["changed"]) == (0, 1, 1)
    saved = post_json(as_admin, "/collection/strategies", {"changes": EASY})
    assert (saved.status_code, saved.json()["version"]) == (201, 2)
    listed = as_admin.get("/api/v1/collection/strategies").json()["items"]
    assert [row["version"] for row in listed] == [2, 1]
    assert post_json(as_admin, "/collection/runs", {"type": "neither"}).status_code == 422
    assert post_json(as_admin, "/collection/strategies", {"changes": {"turns": 3}}).status_code == 409
