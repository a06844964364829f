"""Retries of a write, on its page and in the API."""

import pytest

from agents.runners import launch
from guardian.models import GuardianRun
from guardian.runner import fact_handler, job
from guardian.runner.llm.config import RUNNER
from jobs import execution as jobs_running
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from tests.guardian.write_rows import create_write

from .proposal_rows import API, DB, HELD, JSON, PAGE, audits, runs, text_of, writes

pytestmark = pytest.mark.django_db


def retry_write(as_operator, **body):
    return as_operator.post(f"{API}/writes/w1/retry", body, **JSON)


def test_a_write_is_asked_for_again(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md", decision_id="d9")
    answer = retry_write(as_operator, fact="Likes green tea.")
    assert answer.status_code == 202
    [retry_run] = runs()
    assert (retry_run.id, retry_run.state, retry_run.retry_of, retry_run.candidate_fact) == (
        answer.json()["proposal_id"], "queued", "w1", "Likes green tea.",
    )  # fmt: skip
    endpoint.then(*writes(HELD + "- Likes green tea.\n"))
    job.run({"agent": "ada", "run": retry_run.id, "before_at": retry_run.created_at}, Progress())
    retry_run = GuardianRun.objects.using(DB).get()
    assert (retry_run.state, retry_run.decision_id) == ("proposed", "d9")
    seen = as_operator.get(f"{API}/proposals/{retry_run.id}").json()["seen"]
    as_operator.post(f"{API}/proposals/{retry_run.id}/approve", {"seen": seen}, **JSON)
    assert audits()[-1].retry_of == "w1"


def test_retrying_on_its_page(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    address = f"{PAGE}retry/w1/"
    assert f'href="{address}"' in text_of(as_operator.get("/agents/ada/writes/w1/"))
    assert "Likes tea." in text_of(as_operator.get(address))
    answer = as_operator.post(address, {"fact": "x", "file": "TOOLS.md"})
    assert answer.status_code == 302 and answer["Location"] == f"{PAGE}proposals/{runs()[0].id}/"
    assert as_operator.post(address, {"fact": "", "file": "TOOLS.md"}).status_code == 422
    assert as_operator.get(answer["Location"]).status_code == 200
    assert as_operator.get(f"{PAGE}retry/nothing/").status_code == 404


def test_a_fact_is_kept_with_the_line_ends_of_others(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    as_operator.post(f"{PAGE}retry/w1/", {"fact": "one\r\ntwo", "file": "USER.md"})
    assert runs()[0].candidate_fact == "one\ntwo"
    assert retry_write(as_operator, fact="a\0b").status_code == 422


def test_while_a_run_is_under_way_nothing_is_queued(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    assert retry_write(as_operator).status_code == 202
    again = retry_write(as_operator, fact="Other.")
    assert (again.status_code, "is running" in again.json()["detail"], len(runs())) == (409, True, 1)
    assert "is running" in text_of(as_operator.post(f"{PAGE}retry/w1/", {"fact": "x", "file": "USER.md"}))


def test_a_job_that_is_cancelled_leaves_nothing_queued(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    retry_write(as_operator)
    jobs.cancel(JobRun.objects.get(), by="otto")
    assert (runs()[0].state, runs()[0].reason) == ("stopped", "The job ended before the model was asked.")
    assert retry_write(as_operator).status_code == 202


def test_a_job_that_finds_another_at_work_leaves_nothing_queued(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    retry_write(as_operator)
    with launch.exclusive_run(RUNNER, "ada"):
        assert jobs_running.run_next().state == "refused"
        with pytest.raises(Refused, match="is running"):
            job.run_retry_here(ada, fact_handler.build_retry(ada, "w1", fact=None, file=None, by="otto"), by="otto")
    [retry_run] = runs()
    assert (retry_run.state, "is running" in retry_run.reason) == ("stopped", True)


def test_what_is_queued_without_a_job_ends_with_the_next_run(ada, workspace, endpoint, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    retry_write(as_operator, fact="One.")
    JobRun.objects.all().delete()
    retry_write(as_operator, fact="Two.")
    jobs_running.run_next()
    assert [(retry_run.candidate_fact, retry_run.state) for retry_run in runs()] == [
        ("One.", "stopped"),
        ("Two.", "proposed"),
    ]


def test_without_an_endpoint_its_page_says_so_beside_the_button(ada, workspace, as_operator):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    write = text_of(as_operator.get("/agents/ada/writes/w1/"))
    assert "Retry this write" in write and f'href="{PAGE}retry/w1/"' not in write and "No endpoint for" in write
    page = text_of(as_operator.get(f"{PAGE}retry/w1/"))
    assert 'type="submit" disabled aria-describedby="problem"' in page and page.count("No endpoint for language") == 1


def test_what_cannot_be_retried(ada, workspace, as_operator, settings):
    create_write(DB, 1, None, b"x\n", target_file="USER.md")
    answer = retry_write(as_operator)
    assert (answer.status_code, "No endpoint" in answer.json()["detail"]) == (409, True)
    assert retry_write(as_operator, file="AGENTS.md").status_code == 422
    assert as_operator.post(f"{API}/writes/nothing/retry", {}, **JSON).status_code == 404
    configuration.put("collector.optedOutSenders", ["mallory"])
    assert "opted out" in retry_write(as_operator).json()["detail"]
    assert runs() == []
