"""The API of review queues."""

import pytest

from datasets.models import DatasetSample, QueueItem, ReviewQueue

pytestmark = pytest.mark.django_db


def post(client, path, body):
    return client.post(f"/api/v1/review/queues{path}", body, content_type="application/json")


def test_it_works(people, samples):
    body = {
        "name": "Replies",
        "reviewers": 2,
        "adjudicators": ["dee"],
        "questions": ["scale: Help"],
        "text": "Be fair.",
    }
    assert post(people["ann"], "", body).status_code == 403
    created = post(people["olga"], "", body)
    queue = created.json()
    assert created.status_code == 201 and (queue["reviewers"], queue["state"]) == (2, "open")
    assert post(people["olga"], "", body).status_code == 409
    [listed] = people["ann"].get("/api/v1/review/queues").json()["queues"]
    assert (listed["name"], listed["waiting"]) == ("Replies", 3)
    place = f"/{queue['id']}"
    for name, status in (("ann", "approved"), ("bea", "rejected")):
        following = people[name].get(f"/api/v1/review/queues{place}/next").json()
        assert (following["sample"]["id"], following["sample"]["labels"], following["reason"]) == ("s1", [], "new")
        assert (following["text"], following["questions"][0]["name"]) == ("Be fair.", "Help")
        verdict = {"sample_id": "s1", "status": status, "guideline": 1, "answers": {"Help": "5"}}
        judged = post(people[name], f"{place}/verdict", verdict).json()
        assert (judged["judged"]["annotation_status"], judged["sample"]["id"]) == (status, "s2")
    assert people["bea"].get(f"/api/v1/review/queues{place}/conflicts").status_code == 403
    [conflict] = people["dee"].get(f"/api/v1/review/queues{place}/conflicts").json()["conflicts"]
    assert [row["status"] for row in conflict["verdicts"]] == ["approved", "rejected"]
    assert "labelled_by" not in conflict["verdicts"][0]
    chosen = {"sample_id": "s1", "chosen": conflict["verdicts"][1]["id"]}
    assert post(people["dee"], f"{place}/adjudicate", {**chosen, "verdict": {"status": "approved"}}).status_code == 422
    assert post(people["dee"], f"{place}/adjudicate", chosen).json()["status"] == "rejected"
    assert DatasetSample.objects.get(id="s1").annotation_status == "rejected"
    assert QueueItem.objects.get(sample_id="s1").state == "adjudicated"
    report = people["olga"].get(f"/api/v1/review/queues{place}/agreement").json()
    assert [report["groups"][0][name] for name in ("n", "week", "pair")] == [1, None, None]
    group = report["groups"][0]
    assert (group["n"], group["week"], group["pair"]) == (1, None, None)
    assert people["ann"].get(f"/api/v1/review/queues{place}/agreement").status_code == 403


def test_what_is_not_there_or_not_valid(people, queue):
    assert people["ann"].get("/api/v1/review/queues/none/next").status_code == 404
    place = f"/{queue.id}/verdict"
    for body, status in (
        ({"sample_id": "none", "status": "approved"}, 409),
        ({"sample_id": "s1", "status": "approved", "guideline": 7}, 409),
        ({"sample_id": "s1", "status": "approved", "answers": {"Why?": "x"}}, 409),
        ({"sample_id": "s1", "status": "perfect"}, 422),
    ):
        assert post(people["ann"], place, body).status_code == status
    assert not QueueItem.objects.exclude(state="open").exists()


def test_a_claim_is_renewed_and_released_by_those_who_may_judge(people, queue):
    address = f"/api/v1/review/claims/s1{{}}?review_queue={queue.id}"
    ReviewQueue.objects.update(assigned_json='["ann","bea","cem"]')
    assert people["dee"].post(address.format(""), {}, content_type="application/json").status_code == 403
    for name, status in (("ann", 200), ("bea", 200), ("cem", 409)):
        assert people[name].post(address.format(""), {}, content_type="application/json").status_code == status
    released = people["ann"].post(address.format("/release"), {}, content_type="application/json")
    assert released.json() == {"released": True}
    assert people["cem"].post(address.format(""), {}, content_type="application/json").status_code == 200
