"""The form that exports sessions: a download of a short one, a job for all others; and the command's refusals."""

import orjson
import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from jobs import services as jobs
from jobs.models import JobRun
from people.models.bookkeeping import AuditEntry
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session
from tests.operations.traces.sessions import KEY, export

pytestmark = pytest.mark.django_db
PAGE, CREATE = "/agents/ada/traces/", "/agents/ada/traces/create/"


@pytest.fixture(autouse=True)
def home(own_home, ada, bob):
    store_session(user("question"), assistant("answer"))
    store_session(user("other"), assistant("answer"), session_id="s2")
    return own_home


def test_it_works(as_reviewer):
    page = as_reviewer.get(PAGE, {"session": "s1", "to": "html"}).text
    assert "Export sessions" in page and 'value="html" selected' in page and "include_pii" not in page
    assert f"{PAGE}?session=s1" in as_reviewer.get("/agents/ada/sessions/s1/").text
    assert f"{PAGE}?origin=cron" in as_reviewer.get("/agents/ada/sessions/?origin=unknown").text.replace(
        "unknown", "cron"
    )


def test_a_short_session_is_a_download(as_reviewer, home):
    answer = as_reviewer.post(CREATE, {"format": "atif", "session": "s1"})
    assert answer["Content-Disposition"] == 'attachment; filename="ada_s1.json"'
    assert len(orjson.loads(b"".join(answer.streaming_content))["steps"]) == 2
    answer.close()
    assert not JobRun.objects.filter(kind="trace").exists()
    assert not list((home / "state").glob("trace-*"))
    assert AuditEntry.objects.get(action="exported", object_type="trace").detail["session"] == "s1"


def test_a_session_with_a_key_is_not_sent(as_reviewer):
    store_session(user(KEY), assistant("answer"), session_id="s3")
    answer = as_reviewer.post(CREATE, {"format": "atif", "session": "s3"})
    assert answer.status_code == 409 and "keys or passwords that nobody has judged" in answer.text


@pytest.mark.parametrize(
    "form", [{"format": "odd"}, {"format": "atif", "segment": "odd"}, {"format": "atif", "filter": "x:y"}]
)
def test_odd_forms_are_refused(as_reviewer, form):
    answer = as_reviewer.post(CREATE, form)
    assert answer.status_code in (409, 422) and "Export sessions" in answer.text


def test_only_admins_include_what_is_flagged(as_reviewer):
    for name in ("include_flagged", "include_pii"):
        answer = as_reviewer.post(CREATE, {"format": "atif", name: "on"})
        assert answer.status_code == 403 and "Only admins" in answer.text


def test_unknown_sessions_are_not_there(as_reviewer):
    assert as_reviewer.get(PAGE, {"session": "s9"}).status_code == 404
    assert as_reviewer.get("/traces/", {"session": "s1"}).status_code == 404


def test_a_list_is_a_job_with_a_zip(as_reviewer):
    answer = as_reviewer.post("/traces/create/", {"format": "hf-sessions", "filter": "q:question", "segment": "all"})
    address = answer["Location"]
    assert "being written" in as_reviewer.get(address).text
    jobs.run_started(JobRun.objects.get(kind="trace"))
    assert "Download" in as_reviewer.get(address).text


def test_the_command_refuses_what_is_taken(tmp_path):
    (tmp_path / "here.json").write_text("mine")
    for to, more in (("here.json", ("--session", "s1")), (".", ()), ("no/where.json", ("--session", "s1"))):
        with pytest.raises(CommandError):
            export(tmp_path / to, "atif", *more)
    with pytest.raises(CommandError):
        export(tmp_path / "a.json", "atif", "--session", "s1", agent="")
    with pytest.raises(CommandError):
        export(tmp_path / "a.json", "atif", "--session", "s9")
    assert [path.name for path in tmp_path.iterdir()] == ["here.json"]
    assert reverse("operations:trace_export", args=["ada"]) == PAGE
