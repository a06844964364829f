"""Proposals as a page and in the API."""

import pytest

from .proposal_rows import API, HELD, JSON, PAGE, audits, create_proposal, text_of

pytestmark = pytest.mark.django_db


def test_proposals_in_the_api(ada, workspace, endpoint, as_operator):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    [row] = as_operator.get(f"{API}/proposals").json()["items"]
    assert (row["id"], row["state"], row["lines_added"]) == (proposal_run.id, "proposed", 1)
    detail = as_operator.get(f"{API}/proposals/{proposal_run.id}").json()
    assert "+- Likes tea." in detail["diff"] and [step["tool"] for step in detail["steps"]] == ["read", "write"]
    wrong = as_operator.post(f"{API}/proposals/{proposal_run.id}/approve", {"seen": "x"}, **JSON)
    assert wrong.status_code == 409 and (workspace / "USER.md").read_text() == HELD
    done = as_operator.post(f"{API}/proposals/{proposal_run.id}/approve", {"seen": detail["seen"]}, **JSON)
    assert done.json() == {"audit_id": audits()[0].id, "is_written": True, "meanwhile": []}
    assert as_operator.get(f"{API}/proposals").json()["items"] == []
    assert as_operator.get(f"{API}/proposals?waiting=false").json()["items"][0]["state"] == "written"
    assert as_operator.post(f"{API}/proposals/{proposal_run.id}/decline", {"reason": "x"}, **JSON).status_code == 409
    assert as_operator.get(f"{API}/proposals/nothing").status_code == 404


def test_the_page_counts_what_waits(ada, workspace, endpoint, as_operator):
    assert "No proposals to review" in text_of(as_operator.get(f"{PAGE}proposals/"))
    proposal_run = create_proposal(ada, endpoint=endpoint)
    assert proposal_run.id in text_of(as_operator.get(f"{PAGE}proposals/"))
    assert f'href="{PAGE}proposals/"' in text_of(as_operator.get(PAGE))


def test_the_review_page_leads_to_what_waits(ada, workspace, endpoint, as_operator):
    assert "proposed write" not in text_of(as_operator.get("/review/"))
    create_proposal(ada, endpoint=endpoint)
    page = text_of(as_operator.get("/review/"))
    assert "1 proposed write waits for ada." in page and f'href="{PAGE}proposals/"' in page
