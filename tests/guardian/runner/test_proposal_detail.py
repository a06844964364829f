"""The page of a proposal: its change, approving it, declining it."""

import orjson
import pytest

from guardian.runner import job as running
from jobs.models import JobRun
from jobs.progress import Progress
from tests.guardian.write_rows import create_write

from .proposal_rows import API, DB, JSON, NEW, PAGE, audits, create_proposal, read, refuse, runs, text_of

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def test_a_proposal_on_its_page_is_approved(ada, workspace, endpoint, as_operator, settings):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    assert "Likes tea." in text_of(as_operator.get(f"{PAGE}proposals/"))
    address = f"{PAGE}proposals/{proposal_run.id}/"
    settings.WORKSPACE_WRITES = False
    assert "apply the patch" in text_of(as_operator.get(address))
    patch = as_operator.get(f"{address}patch/")
    assert b"\n+- Likes tea.\n" in patch.content and "USER.md.patch" in patch["Content-Disposition"]
    settings.WORKSPACE_WRITES = True
    page = as_operator.get(address)
    assert "Approve and write" in text_of(page) and "read" in text_of(page)
    seen = page.context["proposal"].preview.seen if page.context else None
    seen = seen or as_operator.get(f"{API}/proposals/{proposal_run.id}").json()["seen"]
    done = as_operator.post(f"{address}approve/", {"seen": seen}, follow=True)
    assert "The proposal was written." in text_of(done)
    assert (workspace / "USER.md").read_text() == NEW
    assert "does not wait any more" in text_of(as_operator.post(f"{address}approve/", {"seen": seen}, follow=True))
    assert "Likes tea." in text_of(as_operator.get(f"{PAGE}proposals/?all"))
    assert as_operator.get(f"{address}patch/").status_code == 404
    assert as_operator.get(f"{PAGE}proposals/nothing/").status_code == 404
    assert as_operator.post(f"{PAGE}proposals/nothing/approve/", {"seen": ""}).status_code == 404


def test_a_proposal_is_declined(ada, workspace, endpoint, as_operator):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    as_operator.post(f"{PAGE}proposals/{proposal_run.id}/decline/", {"reason": "No."})
    assert (audits()[0].status, audits()[0].reason) == ("refused", "No.")
    page = text_of(as_operator.get(f"{PAGE}proposals/{proposal_run.id}/"))
    assert "Declined" in page and "Likes tea." in page and "Download patch" in page
    assert "+- Likes tea." in as_operator.get(f"{API}/proposals/{proposal_run.id}").json()["diff"]


@pytest.mark.parametrize("reason, why", [("x" * 2_001, "at most 2000"), (" ", "Say why"), ("a\0b", "Null")])
def test_a_reason_that_cannot_be_kept_is_refused(ada, workspace, endpoint, as_operator, reason, why):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    answer = as_operator.post(f"{PAGE}proposals/{proposal_run.id}/decline/", {"reason": reason})
    assert (answer.status_code, why in text_of(answer), audits()) == (422, True, [])
    assert as_operator.post(f"{API}/proposals/{proposal_run.id}/decline", {"reason": reason}, **JSON).status_code in (
        409,
        422,
    )
    assert runs()[0].state == "proposed"


def test_what_the_file_holds_by_now_is_not_written(ada, workspace, endpoint, as_operator):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    (workspace / "USER.md").write_text(NEW)
    seen = as_operator.get(f"{API}/proposals/{proposal_run.id}").json()["seen"]
    done = as_operator.post(f"{PAGE}proposals/{proposal_run.id}/approve/", {"seen": seen}, follow=True)
    assert "Nothing was written: the file holds it already." in text_of(done)
    assert "The proposal was written." not in text_of(done)


def test_a_proposal_tells_what_is_behind_it_and_what_its_columns_are(ada, workspace, endpoint, as_operator):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    page = text_of(as_operator.get(f"{PAGE}proposals/{proposal_run.id}/"))
    assert "I like tea." in page and "/sessions/s0/?turn=1" in page and "/gate/d0/" in page
    assert "The file now" in page and "After approval" in page and "Reason for declining" in page


def test_a_file_that_holds_the_lines_already_needs_no_approval(ada, workspace, endpoint, as_operator):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    (workspace / "USER.md").write_text(NEW)
    page = text_of(as_operator.get(f"{PAGE}proposals/{proposal_run.id}/"))
    assert "The file already contains these lines. Confirm that you applied them, or decline" in page
    assert "Approve and write" not in page and "Decline proposal" in page and "No changes." not in page


def test_a_patch_that_was_applied_by_hand_is_confirmed(ada, workspace, endpoint, as_operator, as_stranger, settings):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    settings.WORKSPACE_WRITES = False
    address = f"{PAGE}proposals/{proposal_run.id}/"
    page = text_of(as_operator.get(address))
    assert "I applied the patch" in page and "Approve and write" not in page and "Decline proposal" in page
    assert as_stranger.post(f"{address}approve/", {"applied": "1"}).status_code == 403
    refused = text_of(as_operator.post(f"{address}approve/", {"applied": "1"}, follow=True))
    assert "USER.md does not contain these lines yet. Apply the patch, then confirm again." in refused
    (workspace / "USER.md").write_text(NEW)
    done = text_of(as_operator.post(f"{address}approve/", {"applied": "1"}, follow=True))
    assert "The proposal is closed: the patch was applied by hand." in done
    assert (runs()[0].state, audits()[0].status) == ("skipped", "skipped") and "applied by hand" in audits()[0].reason
    assert "does not wait any more" in text_of(as_operator.post(f"{address}approve/", {"applied": "1"}, follow=True))


def test_what_the_model_refused_is_called_so(ada, workspace, endpoint, as_operator):
    proposal_run = create_proposal(ada, read(), refuse(), endpoint=endpoint)
    assert "Refused fact for USER.md" in text_of(as_operator.get(f"{PAGE}proposals/{proposal_run.id}/"))
    assert "lines added" not in text_of(as_operator.get(f"{PAGE}proposals/?all"))


def test_a_page_of_a_fact_waits_for_its_job(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    address = as_operator.post(f"{PAGE}retry/w1/", {"fact": "Likes tea.", "file": "USER.md"})["Location"]
    waiting = text_of(as_operator.get(address))
    assert 'hx-trigger="job-ended from:body"' in waiting and "Waiting for the model." in waiting
    assert ">Refresh<" in waiting and f'href="{address}"' in waiting
    [queued] = JobRun.objects.all()
    running.run(orjson.loads(queued.params_json), Progress())
    JobRun.objects.update(state="finished", finished_at=queued.created_at)
    last = as_operator.get(f"{queued.get_absolute_url()}notice/?state=queued", headers=HTMX)
    assert (last.status_code, "job-ended" in last["HX-Trigger"]) == (286, True)
    part = text_of(as_operator.get(address, headers=HTMX))
    assert "Approve and write" in part and "<html" not in part and "job-ended" not in part
