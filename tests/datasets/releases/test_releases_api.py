"""The API of datasets and releases."""

import shlex

import pytest

from datasets.releases.differences import MOST_COMPARED
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import run_jobs

pytestmark = pytest.mark.django_db


def test_the_api_has_what_the_pages_have(as_reviewer, samples):
    answer = as_reviewer.post(
        "/api/v1/datasets", {"name": "api", "options": {"train_split": 0.5}}, content_type="application/json"
    )
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    answer = as_reviewer.post(
        f"/api/v1/datasets/{dataset['id']}/versions", {"notes": "n"}, content_type="application/json"
    )
    assert answer.status_code == 202, answer.text
    run_jobs()
    base = f"/api/v1/datasets/{dataset['id']}/versions/1"
    version = as_reviewer.get(base).json()
    assert (version["number"], version["member_count"], version["notes"]) == (1, 20, "n")
    first = as_reviewer.get(f"{base}/members", {"limit": 15}).json()
    rest = as_reviewer.get(f"{base}/members", {"limit": 15, "after": first["next"]}).json()
    assert len(first["items"]) + len(rest["items"]) == 20 and rest["next"] is None
    tested = as_reviewer.get(f"{base}/members", {"side": "test"}).json()["items"]
    assert len(tested) == version["counts"]["sides"]["test"]
    assert as_reviewer.get(f"{base}/difference").status_code == 409
    as_reviewer.post(f"/api/v1/datasets/{dataset['id']}/versions", {}, content_type="application/json")
    run_jobs()
    difference = as_reviewer.get(f"/api/v1/datasets/{dataset['id']}/versions/2/difference").json()
    assert (difference["same"], difference["moved"]["count"], difference["before"]) == (20, 0, 1)
    address = f"/api/v1/datasets/{dataset['id']}/versions/2/difference"
    assert as_reviewer.get(address, {"other": 2}).status_code == 409  # a release has no difference from itself
    job = as_reviewer.post(f"{base}/verify", content_type="application/json").json()
    run_jobs()
    assert as_reviewer.get(f"/api/v1/operations/jobs/{job['id']}").json()["state"] == "finished"
    uses = as_reviewer.get("/api/v1/samples/x3-1/uses").json()
    assert [release["number"] for release in uses["releases"]] == [2, 1]
    assert [item["name"] for item in as_reviewer.get("/api/v1/datasets").json()["items"]] == ["api"]
    assert as_reviewer.get("/api/v1/datasets/none").status_code == 404


def test_releases_that_are_too_large_are_compared_in_a_terminal(as_reviewer, samples):
    dataset = make_dataset("it's support")
    for _ in range(3):
        make_release(dataset)
    address = f"/api/v1/datasets/{dataset.id}/versions"
    assert as_reviewer.get(f"{address}/3/difference", {"other": 1}).json()["same"] == 20
    dataset.versions.update(member_count=MOST_COMPARED)
    for number, other in ((3, 1), (1, 3)):
        answer = as_reviewer.get(f"{address}/{number}/difference", {"other": other})
        assert answer.status_code == 409
        command = answer.json()["detail"].rpartition(": ")[2]
        assert shlex.split(command) == [
            *("openclaw-web", "reflection", "dataset", "diff", "it's support"),
            *("--from", "1", "--to", "3"),
        ]
    assert as_reviewer.get(f"{address}/3/difference").json()["same"] == 20  # it was stored with the release
