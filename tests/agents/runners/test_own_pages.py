"""The pages, API and commands of runners with a switch: plans, runs and refusals.

They are the same for each runner.
"""

import orjson
import pytest

from jobs.models import JobRun
from people.configuration import setting_values as configuration
from tests.suite.commands import reflection

from .test_runners import CASES

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("workspace")]
# (page, API, command, noun) of each runner.
OWN = {
    "gate": ("/agents/ada/gate/own/", "/api/v1/agents/ada/gate", "gate", "turn"),
    "guardian": ("/agents/ada/writes/own/", "/api/v1/agents/ada/guardian", "guardian", "fact"),
}


@pytest.fixture(params=OWN)
def own(request):
    return (CASES[request.param], *OWN[request.param])


def text_of(answer):
    return " ".join(answer.content.decode().split())


def post(client, address, body):
    return client.post(address, body, content_type="application/json")


def run_command(verb, *words):
    return reflection(verb, "run", *words)


def test_an_empty_page_says_what_is_missing(ada, as_stranger, own):
    _case, page, api, _verb, _thing = own
    text = text_of(as_stranger.get(page))
    assert "No endpoint for language models is configured" in text and "No runs yet" in text
    assert "Preview" not in text and "Turn on" not in text
    assert as_stranger.get(f"{api}/own").json()["problem"].startswith("No endpoint")


def test_an_operator_sees_host_tokens_and_cost_before_the_button(ada, endpoint, as_operator, as_stranger, own):
    case, page, api, _verb, thing = own
    case.make(3)
    configuration.put("llm.prices", ["small: 1 10"])
    text = text_of(as_operator.get(f"{page}?limit=2&session="))
    assert f"<p>2 {thing}s</p>" in text and f"Send 2 {thing}s" in text
    assert endpoint.url.split("/")[2] in text and "Estimated cost</dt><dd>$0.0" in text
    assert "Estimated" not in text_of(as_stranger.get(f"{page}?limit=2"))
    plan = as_operator.get(f"{api}/run?limit=2").json()
    assert (plan[f"{thing}s"], plan["problem"]) == (2, "") and plan["cost_usd"] > 0
    assert not endpoint.requests and not JobRun.objects.exists()


def test_sending_starts_a_job(ada, endpoint, as_operator, own):
    case, page, api, _verb, _thing = own
    case.make(3)
    answer = as_operator.post(f"{page}run/", {"limit": "2", "session": "s1"}, follow=True)
    assert answer.redirect_chain[0][0] == page
    job = JobRun.objects.get()
    assert (job.kind, job.started_by, job.state) == (case.runner.kind, "otto", "queued")
    assert '"limit":2' in job.params_json
    assert "Wait until that run has ended" in text_of(as_operator.post(f"{page}run/", {"limit": "2"}, follow=True))
    refused = post(as_operator, f"{api}/run", {"limit": 1})
    assert (refused.status_code, "is running" in refused.json()["detail"]) == (409, True)
    assert JobRun.objects.count() == 1


def test_what_was_typed_wrongly_is_said_at_its_field(ada, endpoint, as_operator, own):
    _case, page, api, _verb, _thing = own
    for query, words in (("limit=0", "greater than or equal to 1"), ("limit=5&session=nobody", "no session nobody")):
        answer = as_operator.get(f"{page}?{query}")
        assert (answer.status_code, words in text_of(answer)) == (422, True)
    assert as_operator.post(f"{page}run/", {"limit": "x"}).status_code == 422
    assert as_operator.get(f"{api}/run?session=nobody").status_code == 404
    assert post(as_operator, f"{api}/run", {"limit": 0}).status_code == 422
    refused = as_operator.post(f"{page}run/", {"limit": "5", "session": "nobody"}, follow=True)
    assert refused.status_code == 200  # the refusal is on the page of the job


def test_nothing_is_started_while_it_is_off(ada, endpoint, as_operator, own):
    case, page, api, verb, thing = own
    configuration.put(case.runner.enabled, False)
    case.make(1)
    answer, words = post(as_operator, f"{api}/run", {"limit": 1}), f"{case.runner.enabled} is off"
    assert (answer.status_code, words in answer.json()["detail"]) == (409, True)
    text = text_of(as_operator.get(f"{page}?limit=5"))
    assert f"<p>1 {thing}</p>" in text and f"Send 1 {thing}" not in text
    status, out, _error = run_command(verb)
    assert (status, words in out) == (3, True)
    status, _out, error = run_command(verb, "--yes")
    assert (status, words in error) == (3, True)


def test_a_command_without_yes_sends_nothing(ada, endpoint, own):
    case, _page, _api, verb, thing = own
    case.make(2)
    configuration.put("llm.prices", ["small: 1 10"])
    status, out, _error = run_command(verb, "--limit", "1")
    lines = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line)
    assert (status, lines[f"{thing}s".capitalize()].strip()) == (3, "1")
    assert lines["Model"].strip() == "small" and lines["Estimated cost"].strip().startswith("$0.0")
    assert lines["Endpoint"].strip() == endpoint.url.split("/")[2] and "Repeat the command with --yes" in out
    status, out, _error = run_command(verb, "--dry-run", "--json")
    assert (status, orjson.loads(out)["plan"][f"{thing}s"]) == (0, 2)
    assert not endpoint.requests and not JobRun.objects.exists()


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--limit", "0"), 2, "--limit must be 1 or more."),
        (("--since", "yesterday"), 2, "is not an ISO 8601 time"),
        (("--yes", "--dry-run"), 2, "not allowed with"),
        (("--session", "nobody"), 3, "no session nobody"),
    ],
)
def test_what_a_command_cannot_mean_is_refused(ada, endpoint, own, words, status, sentence):
    returned, _out, error = run_command(own[3], *words)
    assert (returned, sentence in error) == (status, True)
