"""Samples scored by a model: the page, the verb, the API, and what is never sent."""

import json
import re

import pytest

from datasets.models import DatasetSample, ScoreCall
from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web.llm import client
from people.configuration import setting_values as configuration
from tests.datasets.conversations import agent, store_session, user
from tests.llm_endpoint import Endpoint, fails, says
from tests.suite import commands

pytestmark = pytest.mark.django_db
PAGE = "/agents/ada/samples/scores/"
API = "/api/v1/agents/ada/samples/scores"
SCORE = '{"score": %s, "reason": "It answers the question."}'


@pytest.fixture
def endpoint(settings, db, monkeypatch):
    """An endpoint that gives a good score unless a test changes that; attempts follow without a pause."""
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.0)
    configuration.put("sampleScoring.enabled", True)
    configuration.put("llm.model", "small")
    with Endpoint(says(SCORE % 0.9, prompt_tokens=300, completion_tokens=33)) as endpoint:
        settings.LLM_API_URL, settings.LLM_API_KEY = endpoint.url, "sk-test"
        yield endpoint


@pytest.fixture
def samples(as_admin, ada):
    """Two samples of one session, the older first."""
    first = [user("u1", "Where is Oslo?", sender="7"), agent("a1", "In Norway.")]
    store_session([*first, user("u2", "And Rome?", sender="42"), agent("a2", "In Italy.")])
    as_admin.post("/agents/ada/sessions/s1/samples/", {"all": "1"})
    return list(DatasetSample.objects.order_by("turn_number"))


def score(*words):
    return commands.reflection("dataset", "score", *words)


def test_a_run_stores_a_score_for_each_sample_once(endpoint, samples):
    endpoint.then(
        says(lambda request: SCORE % 0.9 if "Rome" in request.words else "```json\n" + SCORE % 0.25 + "\n```")
    )
    assert score("--yes")[:2] == (0, "2 samples scored.\n")
    scores = {call.sample_id: call.score for call in ScoreCall.objects.all()}
    assert scores == {samples[1].id: 0.9, samples[0].id: 0.25}
    (request,) = (request for request in endpoint.requests if "Rome" in request.words)
    assert json.loads(request.words) == {
        "recentMessages": [
            {"role": "user", "message": "Where is Oslo?"},
            {"role": "agent", "message": "In Norway."},
        ],
        "userMessage": "And Rome?",
        "agentReply": "In Italy.",
    }
    assert score("--yes")[1] == "0 samples scored.\n" and len(endpoint.requests) == 2
    assert set(DatasetSample.objects.values_list("annotation_status", flat=True)) == {"pending"}  # approves nothing


def test_nothing_is_sent_without_yes_or_while_it_is_off(endpoint, samples):
    status, out, _error = score()
    assert (status, re.search(r"Samples +2\n", out) is None) == (3, False)
    configuration.put("sampleScoring.enabled", False)
    status, _out, error = score("--yes")
    assert (status, "sampleScoring.enabled is off" in error, endpoint.requests) == (3, True, [])


def test_words_of_people_who_opted_out_are_not_sent(endpoint, samples):
    configuration.put("collector.optedOutSenders", ["7"])
    assert score("--yes")[1] == "1 sample scored. 1 sample was withheld.\n"
    (request,) = endpoint.requests
    assert b"Oslo" not in request.body and b"Norway" not in request.body and b"Rome" in request.body


@pytest.mark.parametrize(
    "text", ["good", '{"score": 2}', '{"score": true}', '{"score": "0.5"}', "[1]", '{"score": NaN}', ""]
)
def test_an_answer_that_is_no_score_is_none(endpoint, samples, text):
    endpoint.then(says(text))
    assert score("--limit", "1", "--yes")[0] != 0
    assert set(ScoreCall.objects.values_list("score", flat=True)) == {None}


def test_calls_without_an_answer_and_the_limit_of_a_day(endpoint, samples):
    endpoint.then(fails(401))
    assert score("--limit", "1", "--yes")[0] == 3
    assert ScoreCall.objects.get().outcome == "failed"
    configuration.put("sampleScoring.tokensPerDay", 1_000)
    status, _out, error = score("--yes")
    assert (status, "The limit of 1,000 tokens a day is reached" in error) == (3, True)


def test_the_page_plans_and_starts_a_run(as_operator, endpoint, samples):
    page = as_operator.get(PAGE, {"limit": "100"}).text
    assert "Scores by a model for ada" in page and "Send 2 samples" in page
    answer = as_operator.post(f"{PAGE}run/", {"limit": "1"}, follow=True)
    assert answer.status_code == 200
    job = JobRun.objects.get(kind="sample_scores")
    jobs.run_now(job.kind, job.params, by="otto")
    assert ScoreCall.objects.count() == 1
    assert "1 sample scored." in as_operator.get(PAGE).text


def test_the_score_stands_beside_its_sample_and_its_verdicts(as_admin, endpoint, samples):
    score("--yes")
    jobs.run_now("signals", {}, by="otto")
    page = as_admin.get(f"/samples/{samples[0].id}/").text
    assert "Model small: 0.90" in page and "It answers the question." in page
    as_admin.post(f"/samples/{samples[0].id}/label/", {"status": "approved"})
    report = as_admin.get("/api/v1/datasets/quality/report").json()
    assert report["model"] == {"verdicts": 1, "area": None}
    assert "AUC of the model" in as_admin.get("/datasets/statistics/quality/").text


def test_the_api_plans_and_starts_a_run(as_operator, endpoint, samples):
    assert as_operator.get(API).json()["samples"] == 2
    answer = as_operator.post(API, {"limit": 2}, content_type="application/json")
    assert (answer.status_code, answer.json()["kind"]) == (202, "sample_scores")
