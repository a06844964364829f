"""Notices about the jobs a person started, on their next pages.

A notice stays until its outcome was shown.
"""

import re

import pytest
from django.urls import reverse

from datasets.models import DatasetExport
from jobs import notices
from jobs.models import JobRun
from openclaw_web import clock
from tests.datasets.exports.export_helpers import FORM_FIELDS
from tests.factories import SampleFactory

pytestmark = pytest.mark.django_db
POLLED = {"HX-Request": "true"}
JOBS = "/operations/jobs/"
NOTICE = re.compile(r'<div id="job-notice-(\w+)" class="notice notice--(\w+)"(.*?)>(.*?)</div>', re.DOTALL)


def find_notices(text):
    """Return each notice about a job: its tone, its words, and whether it polls."""
    matches = NOTICE.findall(text)
    return [
        (tone, " ".join(re.sub(r"<[^>]+>", " ", body).split()), "hx-get" in tag) for _id, tone, tag, body in matches
    ]


def import_now(client):
    answer = client.post(reverse("collecting:collect_start"))
    job = JobRun.objects.get()
    assert answer["Location"] == job.get_absolute_url()
    return job


def end_job(job, state, message):
    JobRun.objects.filter(id=job.id).update(state=state, message=message, finished_at=clock.now_ms())


def poll(client, job, state):
    return client.get(f"{job.get_absolute_url()}notice/?state={state}", headers=POLLED)


def test_it_follows_a_job_to_its_end_and_is_gone_then(as_admin):
    job = import_now(as_admin)
    assert find_notices(as_admin.get("/samples/").text) == [("info", "Import Queued View job", True)]
    JobRun.objects.update(state="running", message="Reading main")
    assert find_notices(as_admin.get(JOBS).text) == [("info", "Import Running View job", True)]
    end_job(job, "finished", "12 new records. 3 lines were rejected.")
    assert find_notices(as_admin.get(JOBS).text) == [("ok", "Import Finished 12 new records. View result", False)]
    assert find_notices(as_admin.get(JOBS).text) == []


@pytest.mark.parametrize(
    ("state", "message", "expected"),
    [
        ("refused", "There is no folder at /x. Name it.", ("bad", "Refused There is no folder at /x.")),
        ("failed", "It broke on v1.2.json", ("bad", "Failed It broke on v1.2.json")),
        ("cancelled", "Canceled by mei.", ("warn", "Canceled Canceled by mei.")),
        ("finished", "", ("ok", "Finished")),
    ],
)
def test_the_outcome_has_its_tone_its_first_sentence_and_a_link(as_admin, state, message, expected):
    job = import_now(as_admin)
    end_job(job, state, message)
    text = as_admin.get(JOBS).text
    (tone, words, is_polled), *others = find_notices(text)
    assert (tone, words.removeprefix("Import ").rsplit(" View", 1)[0], is_polled, others) == (*expected, False, [])
    assert ('role="alert"' in NOTICE.search(text)[3]) == (tone == "bad")
    made = reverse("overview:agent_list") if state == "finished" else job.get_absolute_url()
    assert f'<a href="{made}">' in NOTICE.search(text)[4]


def test_the_page_of_the_job_has_no_notice_of_it(as_admin):
    job = import_now(as_admin)
    assert find_notices(as_admin.get(job.get_absolute_url()).text) == []
    end_job(job, "refused", "There is no such folder.")
    page = as_admin.get(job.get_absolute_url()).text
    assert find_notices(page) == [] and "started" not in page.split('id="messages"')[1].split("</div>")[0]
    assert find_notices(as_admin.get(JOBS).text) == [], "its own page has said so"


def test_it_asks_for_itself_until_the_job_has_ended(as_admin):
    job = import_now(as_admin)
    as_admin.get(JOBS)
    same = poll(as_admin, job, "queued")
    assert (same.status_code, same.text) == (204, "")
    JobRun.objects.update(state="running")
    changed = poll(as_admin, job, "queued")
    assert changed.status_code == 200 and "?state=running" in changed.text and "<html" not in changed.text
    end_job(job, "failed", "It broke.")
    last = poll(as_admin, job, "running")
    assert last.status_code == 286
    assert find_notices(last.text) == [("bad", "Import Failed It broke. View job", False)]
    assert find_notices(as_admin.get(JOBS).text) == [], "it was said"


def test_other_messages_wait_for_the_next_page(as_admin):
    job = import_now(as_admin)
    as_admin.post("/samples/bulk/label/", {})  # the refusal stands on the next page
    end_job(job, "finished", "")
    poll(as_admin, job, "queued")
    page = as_admin.get(JOBS).text
    assert find_notices(page) == [] and "Nothing was changed. Choose again." in page


def test_it_does_not_wait_for_ever(as_admin):
    job = import_now(as_admin)
    JobRun.objects.update(created_at=clock.now_ms() - notices.LONGEST_MS - 1)
    assert find_notices(as_admin.get(JOBS).text) == [("info", "Import Queued View job", False)]
    assert poll(as_admin, job, "queued").status_code == 286
    JobRun.objects.all().delete()
    gone = poll(as_admin, job, "queued")
    assert (gone.status_code, gone.text) == (286, "")
    assert find_notices(as_admin.get(JOBS).text) == []


def test_others_are_told_nothing(as_admin, as_stranger):
    job = import_now(as_admin)
    assert find_notices(as_stranger.get("/samples/").text) == []
    as_stranger.cookies["messages"] = as_admin.cookies["messages"].value  # the message itself, with its id
    assert find_notices(as_stranger.get("/samples/").text) == []
    answer = poll(as_stranger, job, "finished")
    assert (answer.status_code, answer.text) == (286, "")


def test_in_a_browser_its_address_leads_to_the_job(as_admin):
    job = import_now(as_admin)
    assert as_admin.get(f"{job.get_absolute_url()}notice/")["Location"] == job.get_absolute_url()
    assert as_admin.get(f"{JOBS}nothing/notice/")["Location"] == JOBS


def test_what_a_job_says_does_nothing(as_admin):
    job = import_now(as_admin)
    end_job(job, "failed", "<script>alert(1)</script>\u202e.")
    text = as_admin.get(JOBS).text
    assert "<script>alert" not in text and "\u202e" not in text


def test_an_export_says_it_on_its_own_page(as_reviewer):
    SampleFactory(annotation_status="approved")
    as_reviewer.post("/exports/create/", FORM_FIELDS)
    export, job = DatasetExport.objects.get(), JobRun.objects.get()
    assert find_notices(as_reviewer.get(export.get_absolute_url()).text) == []
    assert find_notices(as_reviewer.get("/samples/").text) == [("info", "Export Queued View job", True)]
    end_job(job, "failed", "It broke.")
    last = as_reviewer.get(export.get_absolute_url(), headers=POLLED)
    assert last.status_code == 286
    assert find_notices(as_reviewer.get("/samples/").text) == []


STARTS = {
    "collecting:collect_start": {},
    "operations:backup_create": {},
    "operations:doctor_look": {},
    "operations:doctor_compare": {},
    "operations:doctor_again": {},
    "operations:doctor_fix": {"sources": "keep"},
    "operations:retention_count": {"days": "365"},
    "operations:retention_remove": {"days": "365"},
    "operations:retention_archive": {"days": "365"},
    "operations:artifact_store_clear": {"older_than": "0"},
}


@pytest.mark.parametrize("route", STARTS)
def test_every_kind_is_followed(as_admin, route):
    answer = as_admin.post(reverse(route), STARTS[route])
    job = JobRun.objects.get()
    assert answer["Location"] == job.get_absolute_url()
    end_job(job, "refused", "Not now.")
    (tone, words, is_polled), *others = find_notices(as_admin.get(JOBS).text)
    assert tone == "bad" and words.endswith("Refused Not now. View job") and not is_polled and not others


def test_without_jobs_nothing_is_asked(as_admin, django_assert_num_queries):
    as_admin.get(JOBS)
    with django_assert_num_queries(7):
        as_admin.get(JOBS)
    import_now(as_admin)
    with django_assert_num_queries(8):  # one more query, for its notices
        as_admin.get(JOBS)
