"""A job that exports sessions, its page, its files and the API."""

import io
import zipfile

import pytest
from django.test import Client

from jobs import services as jobs
from jobs.kinds import DAY_MS
from jobs.models import JobRun
from operations.traces import job as trace_job
from people.models.bookkeeping import AuditEntry
from tests.conftest import BACKEND
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session
from tests.operations.traces.sessions import KEY

pytestmark = pytest.mark.django_db
API = "/api/v1/traces"


@pytest.fixture(autouse=True)
def home(own_home, ada, bob):
    store_session(user("question 1"), assistant("answer"))
    store_session(user("question 2"), assistant("answer"), session_id="s2")
    store_session(user(KEY), assistant("answer"), session_id="s3")
    return own_home


def create(browser, **body):
    """Start an export by the API, run its job, and return the address of the export."""
    answer = browser.post(API, {"format": "atif"} | body, content_type="application/json")
    assert answer.status_code == 202, answer.text
    assert jobs.run_started(JobRun.objects.get(kind="trace", state="queued")).state == "finished"
    return f"{API}/{answer.json()['trace_id']}"


def read(answer):
    data = b"".join(answer.streaming_content)
    answer.close()
    return data


def test_it_works(as_reviewer):
    address = create(as_reviewer, filter="question", agent="ada")
    facts = as_reviewer.get(address).json()
    assert (facts["receipt"]["sessions"], facts["job"]["state"]) == (2, "finished")
    answer = as_reviewer.get(f"{address}/file")
    length = int(answer["Content-Length"])
    data = read(answer)
    names = sorted(name.partition("/")[2] for name in zipfile.ZipFile(io.BytesIO(data)).namelist())
    assert names == ["ada_s1.json", "ada_s2.json", "receipt.json"] and length == len(data)
    page = as_reviewer.get(address.removeprefix("/api/v1") + "/").text
    assert "Download" in page and "2 sessions exported." in JobRun.objects.get().message
    assert AuditEntry.objects.filter(action="downloaded", object_type="trace").exists()


def test_what_was_left_out_is_named(as_reviewer):
    page = as_reviewer.get(create(as_reviewer).removeprefix("/api/v1") + "/").text
    assert "With keys or passwords that nobody has judged" in page and "/agents/ada/sessions/s3/" in page


def test_files_with_personal_data_are_for_admins(as_admin, reviewer):
    labeller = Client()
    labeller.force_login(reviewer, backend=BACKEND)
    answer = labeller.post(API, {"format": "atif", "include_pii": True}, content_type="application/json")
    assert answer.status_code == 403
    address = create(as_admin, include_flagged=True, agent="ada", session="s3")
    assert labeller.get(f"{address}/file").status_code == 403
    assert KEY.encode() not in read(as_admin.get(f"{address}/file"))
    assert AuditEntry.objects.filter(action="download_refused", object_type="trace").exists()


def test_a_job_that_was_killed_writes_its_files_again(as_reviewer, home):
    address = create(as_reviewer)
    trace_id = address.rpartition("/")[2]
    params = JobRun.objects.get().params
    before = trace_job.read_receipt(trace_id)
    assert trace_job.run(params, None)["sessions"] == before["sessions"]


def test_old_files_are_removed(as_reviewer, later):
    address = create(as_reviewer)
    later(seconds=8 * DAY_MS / 1000)
    trace_job.remove_old()
    assert as_reviewer.get(f"{address}/file").status_code == 404
    assert "not there any more" in as_reviewer.get(address.removeprefix("/api/v1") + "/").text


@pytest.mark.parametrize("name", ["nothing", "..", "01KBCXYZ0000000000000000ZZ"])
def test_other_ids_lead_nowhere(as_reviewer, name):
    assert as_reviewer.get(f"{API}/{name}").status_code == 404
    assert as_reviewer.get(f"/traces/{name}/file").status_code == 404
