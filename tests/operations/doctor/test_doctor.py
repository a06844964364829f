"""The page of the doctor: its last check, the runs, and the buttons."""

from pathlib import Path

import orjson
import pytest
from django.core.management import call_command

from collecting.models import MigrationRun, MigrationSource
from jobs.models import JobRun
from openclaw_web import clock
from operations.doctor import ignored_sessions, report
from people.models.bookkeeping import AuditEntry

pytestmark = pytest.mark.django_db
PAGE = "/operations/doctor/"
HOSTILE = "<script>alert(1)</script>\u202e"


def create_check(**more):
    source = {"root": "/oc", "problem": "", "layout": "files", "bytes": 10, "bytes_to_read": 10, "notes": []}
    agent = {"agent": "ada", "home_name": "ada", "layout": "files", "versions": ["transcript 3"], "records": 7}
    agent |= {"sources": {"new": 3, "changed": 0, "unchanged": 1, "left": 2}, "rejected": 1}
    agent |= {"bytes": 1_000, "bytes_to_read": 9}
    result = report.EMPTY_PLAN | {"verb": "look", "message": "3 sources to read.", "source": source, "agents": [agent]}
    result |= {"findings": 3, "run": None} | more
    return JobRun.objects.create(
        id="01M802QPCKD3RD2B1CZH9PSDC7",
        kind="doctor_look",
        state="finished",
        result_json=orjson.dumps(result).decode(),
        created_at=clock.now_ms(),
        finished_at=clock.now_ms(),
    )


def create_run(number=1, **more):
    facts = {"id": f"{number:026}", "started_at": number, "status": "completed", "message": "5 sources imported."}
    return MigrationRun.objects.create(**facts | more)


def test_it_works(as_admin):
    create_check()
    run = create_run()
    text = as_admin.get(PAGE).content.decode()
    assert "3 sources to read." in text and "notice--warn" in text and "transcript 3" in text
    assert run.id in text and "5 sources imported." in text and f"{PAGE}{run.id}/undo/" in text


def test_the_home_of_a_look_and_of_each_run_is_named(as_admin, settings):
    settings.STATE_DIR = Path("/oc")
    create_check()
    create_run(1, root="/oc")
    create_run(2, root="/elsewhere/openclaw")
    text = as_admin.get(PAGE).content.decode()
    assert "<code>/oc</code>" in text and "usual one" not in text
    assert ">/elsewhere/openclaw</td>" in text
    settings.STATE_DIR = Path("/mine")
    assert "Not the usual folder" in as_admin.get(PAGE).content.decode()


def test_empty_and_a_clean_look_whose_lists_are_cut(as_admin):
    text = as_admin.get(PAGE).text
    assert "Not checked yet" in text and "No runs yet" in text
    source = {"path": "a", "state": "new", "bytes": 1, "why": "", "problem": ""}
    create_check(findings=0, message="All well.", sources=[source] * 60, source_count=1_234)
    text = as_admin.get(PAGE).text
    assert "notice--ok" in text and "Sources: first 50 of 1,234; the command's JSON output lists more" in text


LOSS = {"agent": "ada", "session_id": "s1", "kind": "user", "noted": 10, "held": 7, "missing": 3, "different": 0}
COMPARED = {"how": "counts", "at": 1_795_000_000_000, "sessions": 2, "records": 20, "sources": 0, "kept": 0}
COMPARED |= {"not_counted": 4, "unreadable": []}


def build_losses(**more):
    return {"losses": [LOSS | {"in_sources": None, "where": ""} | more], "loss_count": 1, "lost_records": 3}


def test_it_says_when_and_with_what_the_store_was_compared(as_admin):
    job = create_check(compared=COMPARED, findings=0)
    text = as_admin.get(PAGE).content.decode()
    assert "counted by session and kind" in text and "not compared with the sources" in text
    assert "not counted yet: 4" in text and "the content of every record" not in text
    deep = orjson.loads(job.result_json) | {"compared": COMPARED | {"how": "records", "kept": 5}}
    JobRun.objects.update(result_json=orjson.dumps(deep).decode())
    text = as_admin.get(PAGE).content.decode()
    assert "the content of every record was compared" in text and "no source contains them any more: 5" in text


WHERE = {None: "Not searched yet", 3: "restores the records", 1: "1 in its source"}


@pytest.mark.parametrize(("in_sources", "where"), WHERE.items())
def test_what_is_lost_is_a_table_with_where_it_can_be_had(as_admin, in_sources, where):
    create_check(compared=COMPARED, **build_losses(in_sources=in_sources))
    text = as_admin.get(PAGE).content.decode()
    assert "Lost records: 3" in text and "/agents/ada/sessions/s1/" in text and where in text


def test_after_a_run_only_what_is_still_lost_is_there(as_admin):
    again = {"agents": ["ada"], "sessions": 2, "records": 9, "compared": COMPARED}
    command = "openclaw-web backup restore /b.tar.zst --replace"
    backup = {"path": "/b.tar.zst", "command": command, "agents": ["ada"], "records": 3}
    run = report.EMPTY_RUN | build_losses(where="/b.tar.zst") | {"id": "x", "read_again": again, "backups": [backup]}
    create_check(run=run, compared=COMPARED, losses=[LOSS] * 5, loss_count=5, lost_records=12)
    text = as_admin.get(PAGE).content.decode()
    assert "Lost records: 3" in text and "Backup /b.tar.zst" in text and command in text
    assert "lost records restored: 9" in text and "notice--warn" in text


def test_importing_again_asks_for_an_agent_that_is_there(as_admin, ada, settings):
    answer = as_admin.post(f"{PAGE}again/", {"agent": "nobody"})
    assert answer.status_code == 422 and "no agent with this name" in answer.content.decode()
    answer = as_admin.post(f"{PAGE}again/", {"session": "s1"})
    assert answer.status_code == 422 and "Enter the agent" in answer.content.decode()
    assert JobRun.objects.count() == 0
    source = {"source": str(settings.STATE_DIR), "again": True}
    for sent, params in (
        ({}, {}),
        ({"agent": "ada"}, {"agent": "ada"}),
        ({"agent": "ada", "session": "s1"}, {"agent": "ada", "session": ["s1"]}),
    ):
        as_admin.post(f"{PAGE}again/", sent)
        assert orjson.loads(JobRun.objects.latest("id").params_json) == source | params


@pytest.mark.parametrize("count", [1, 60])
def test_queries(as_admin, count, django_assert_max_num_queries):
    store = [build_report_line(number) for number in range(count)]
    create_check(
        store=store, compared=COMPARED, losses=build_losses()["losses"] * count, loss_count=count, lost_records=count
    )
    for number in range(count):
        ignore_session(create_run(number, status="undone"), session_id=f"s{number}")
    as_admin.get(PAGE)
    with django_assert_max_num_queries(19):
        text = as_admin.get(PAGE).text
    assert ("More sessions are excluded" in text) == (count > 50)


def build_report_line(number, **more):
    line = {"check": "x", "level": "finding", "path": "", "agent": "", "is_repairable": True}
    return line | {"sentence": f"Line {number}"} | more


def test_hostile_words_are_text(as_admin):
    rejected = [{"file": HOSTILE, "offset": 1, "reason": "not_json", "detail": HOSTILE}]
    skipped = [{"path": HOSTILE, "table": HOSTILE, "why": "secret"}]
    create_check(
        rejected=rejected,
        rejected_count=1,
        skipped=skipped,
        skipped_count=1,
        store=[build_report_line(1, sentence=HOSTILE)],
    )
    looked_at = JobRun.objects.get()
    hostile = orjson.loads(looked_at.result_json) | build_losses(session_id=HOSTILE, kind=HOSTILE, where=HOSTILE)
    JobRun.objects.update(result_json=orjson.dumps(hostile).decode())
    create_run(message=HOSTILE, made_by=HOSTILE)
    text = as_admin.get(PAGE).content.decode()
    assert "<script>alert" not in text and "&lt;script&gt;" in text and "\u202e" not in text


def test_an_operator_may_look_and_no_more(as_operator):
    ignore_session(create_run(status="undone"), session_id=HOSTILE)
    create_run(2)
    text = as_operator.get(PAGE).text
    assert "Check now" in text and "Excluded sessions" in text and "<script>alert" not in text
    for action in ("Import and repair", "undo/", "compare/", "again/", "unignore"):
        assert action not in text


def test_the_buttons_start_jobs_and_leave_entries(as_admin, settings):
    run = create_run()
    source = {"source": str(settings.STATE_DIR)}
    for address, sent, kind, params in (
        ("look/", {}, "doctor_look", source),
        ("fix/", {"sources": "keep"}, "doctor", source | {"by": "root"}),
        (f"{run.id}/undo/", {}, "doctor_undo", {"run": run.id, "by": "root"}),
    ):
        answer = as_admin.post(PAGE + address, sent)
        job = JobRun.objects.get(kind=kind)
        assert answer["Location"] == job.get_absolute_url()
        assert orjson.loads(job.params_json) == params
        entry = AuditEntry.objects.get(action=f"{kind}_started")
        assert (entry.actor, entry.object_id) == ("root", job.id)
        assert as_admin.get(job.get_absolute_url()).status_code == 200
    assert "A check or repair is running" in as_admin.get(PAGE).content.decode()


def test_what_is_asked_reaches_the_job(as_admin):
    as_admin.post(f"{PAGE}fix/", {"sources": "archive", "include_deleted": "on"})
    params = orjson.loads(JobRun.objects.get(kind="doctor").params_json)
    assert (params["sources"], params["include_deleted"], "force" in params) == ("archive", True, False)
    assert as_admin.post(f"{PAGE}fix/", {"sources": "burn"}).status_code == 422


@pytest.mark.parametrize("status", ["running", "failed", "undone"])
def test_only_what_was_done_can_be_undone(as_admin, status):
    run = create_run(status=status)
    assert as_admin.post(f"{PAGE}{run.id}/undo/").status_code == 404


def test_migrations_are_those_of_the_models():
    call_command("makemigrations", check=True, verbosity=0)


def ignore_session(run, session_id="4f1c9b1e-3f4b-4b7e-9a51-7f2f5b0f7c11", agent_id="ada"):
    ignored_sessions.ignore_sessions(run, agent_id, {session_id})


class TestWhatIsLeftOut:
    def test_it_is_listed_and_let_in_again(self, as_admin):
        run = create_run(status="undone")
        ignore_session(run)
        text = as_admin.get(PAGE).content.decode()
        assert "Excluded sessions" in text and 'value="ada/4f1c9b1e-3f4b-4b7e-9a51-7f2f5b0f7c11"' in text
        assert f'name="what" value="{run.id}"' in text
        for target in ("ada/4f1c9b1e-3f4b-4b7e-9a51-7f2f5b0f7c11", run.id):
            answer = as_admin.post(f"{PAGE}unignore/", {"what": target})
            job = JobRun.objects.order_by("-id").first()
            assert answer["Location"] == job.get_absolute_url()
            assert orjson.loads(job.params_json) == {"what": target, "by": "root"}
        for target in ("", "x" * 501, "a\0b"):
            assert as_admin.post(f"{PAGE}unignore/", {"what": target}).status_code == 422


def test_a_look_that_failed_is_told(as_admin):
    create_check()
    JobRun.objects.create(
        id="01M802QPCKD3RD2B1CZH9PSDC8", kind="doctor", state="refused", created_at=clock.now_ms() + 1,
        finished_at=clock.now_ms() + 1, message="OpenClaw seems to be running.",
    )  # fmt: skip
    text = as_admin.get(PAGE).content.decode()
    assert "OpenClaw seems to be running." in text and "3 sources to read." in text


def test_more_runs_than_a_page_holds(as_admin):
    for number in range(1, 26):
        create_run(number)
    first = as_admin.get(PAGE)
    assert f"{25:026}" in first.content.decode() and f"{5:026}" not in first.content.decode()
    following = as_admin.get(PAGE, {"after": first.context["page"].next}).content.decode()
    assert f"{5:026}" in following and f"{25:026}" not in following
    assert as_admin.get(PAGE, {"after": "\u202e"}).status_code < 500


def test_a_run_tells_what_it_did(as_admin):
    did = report.EMPTY_RUN | {"id": "r", "backup": {"path": f"/backups/{HOSTILE}"}, "removed": ["a", "b"]}
    did |= {"repairs": [{"check": "sums", "agent": "", "is_done": True, "sentence": "The sums were made again."}]}
    did["warnings"] = [{"path": HOSTILE, "reason": "The source is missing."}]
    did["stayed"] = [{"path": "x", "reason": "Too new."}]
    create_check(run=did, verb="fix", store=[build_report_line(1), build_report_line(2, is_repairable=False)])
    text = as_admin.get(PAGE).content.decode()
    did = ("moved or removed: 2", "The sums were made again.", "The source is missing.", "Too new.")
    assert not [words for words in ("/backups/", *did) if words not in text]
    assert "Line 2" in text and "Line 1" not in text and "Import and repair does it" not in text
    assert "<script>alert" not in text and "notice--warn" in text


def test_a_run_whose_files_are_gone_is_undone_when_that_is_said(as_admin):
    run = create_run(root="/oc")
    assert "Undo without source files" not in as_admin.get(PAGE).content.decode()
    source = {"migration_kind": "transcript", "source_path": "x", "target_table": "transcript_events", "root": "/oc"}
    MigrationSource.objects.create(source_key="k", last_run=run, status="imported", removed_source=True, **source)
    text = as_admin.get(PAGE).content.decode()
    assert "Undo without source files" in text and 'name="force" value="on"' in text
    as_admin.post(f"{PAGE}{run.id}/undo/", {"force": "on"})
    params = orjson.loads(JobRun.objects.get(kind="doctor_undo").params_json)
    assert params == {"run": run.id, "by": "root", "force": True}
