"""Samples follow verdicts at once, or by a job where they are many."""

import json

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from datasets.finding_values import checks, sample_privacy, verdicts
from datasets.models import DatasetSample, FindingValue
from findings.detection import PATTERNS
from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web.detectors import detect
from people.configuration import setting_values as configuration
from tests.datasets.finding_values.finding_rows import KEY, MAIL, MAIL_HASH, find, states

pytestmark = pytest.mark.django_db


@pytest.fixture
def samples(ada, bob):
    """Three samples of two agents: two with an address, one with a key."""
    for number, (agent, session, value) in enumerate([(ada, "s", MAIL), (bob, "t", MAIL), (ada, "u", KEY)]):
        find(agent, session, 1, f"Take {value}", value, "key" if value == KEY else "email", rule=find_rule(value))
        DatasetSample.objects.create(
            id=f"n{number}", sample_type="annotated_turn", agent_id=agent.agent_id, session_id=session, turn_number=1,
            created_at=number, content=json.dumps({"userMessage": f"Take {value}", "agentReply": "Yes"}),
        )  # fmt: skip
    assert sample_privacy.refresh_all() == 3
    sample_privacy.run_check({}, None)
    assert read_flags() == [True, True, True]


def find_rule(value):
    return detect.find_spans(f"Take {value}")[0].rule


def read_flags():
    assert set(DatasetSample.objects.values_list("privacy_checked", flat=True)) == {True}
    rows = DatasetSample.objects.order_by("id").values_list("contains_pii", "pii_redacted_content")
    assert all(contains == (text is not None) for contains, text in rows)
    return [contains for contains, _text in rows]


def decide(scope="value", verdict="dismissed"):
    subject = {"rule": find_rule(MAIL)} if scope == "rule" else {"value_hash": MAIL_HASH}
    return verdicts.decide(verdict, scope=scope, by="ann", **subject)


@pytest.mark.parametrize("scope", ["value", "rule"])
def test_samples_of_all_agents_follow_a_verdict_and_its_undoing(samples, scope):
    row = decide(scope)
    assert read_flags() == [False, False, True]
    verdicts.take_back(row.id, by="ann")
    assert read_flags() == [True, True, True]
    assert not JobRun.objects.exists()


@pytest.mark.parametrize("scope", ["value", "rule"])
def test_a_job_applies_a_verdict_to_many(samples, ada, bob, monkeypatch, scope):
    monkeypatch.setattr(sample_privacy, "MOST_SAMPLES", 1)
    row = decide(scope)
    assert read_flags() == [True, True, True]
    assert (states(ada, kind="email"), states(bob)) == (["dismissed"], ["dismissed"])  # no place waits for the job
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == ("dismissed" if scope == "value" else "open")
    job = JobRun.objects.get()
    assert (job.kind, job.params, job.started_by) == ("finding_verdict", {"verdict": row.id}, "ann")
    assert list(checks.find_outdated_samples("default")) == []  # the job is under way
    assert run_queued().state == "finished"
    assert read_flags() == [False, False, True]
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "dismissed"
    verdicts.take_back(row.id, by="ann")
    run_queued()
    assert read_flags() == [True, True, True]
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "open"
    assert MAIL not in repr(list(JobRun.objects.values_list()))


def test_a_verdict_on_a_rule_with_many_values_waits_for_the_job(samples, monkeypatch):
    monkeypatch.setattr(sample_privacy, "MOST_VALUES", 0)
    decide("rule")
    assert JobRun.objects.get().kind == "finding_verdict"


def run_queued():
    job = JobRun.objects.filter(state="queued").get()
    return jobs.run_now(job.kind, job.params, by=job.started_by)


def test_a_verdict_writes_nothing_into_files_of_agents(ada, samples):
    for number in range(2, 10):
        find(ada, "s", number, f"Take {MAIL}", MAIL, rule=find_rule(MAIL))
    with CaptureQueriesContext(connections[ada.db]) as queries:
        decide()
    assert not [query["sql"] for query in queries if not query["sql"].startswith("SELECT")]
    assert states(ada, kind="email") == ["dismissed"] * 9


def test_samples_are_searched_again_by_other_rules(samples):
    assert not sample_privacy.is_check_needed()
    configuration.put(PATTERNS, [r"Y[e]s"])
    assert sample_privacy.is_check_needed()
    assert jobs.run_now("sample_privacy", {}, by="root").state == "finished"
    assert not sample_privacy.is_check_needed()
    texts = DatasetSample.objects.values_list("pii_redacted_content", flat=True)
    assert all("[CUSTOM_1]" in text for text in texts)


def test_the_doctor_compares_samples_with_the_findings(samples):
    check = next(check for check in checks.CHECKS if check.name == "sample_privacy")
    assert check.rows("default", is_deep=True).count == 0
    DatasetSample.objects.filter(id="n1").update(contains_pii=False, pii_redacted_content=None)
    assert check.rows("default", is_deep=False).first == ["n1"]
    assert check.repair(None) == 3
    assert check.rows("default", is_deep=True).count == 0
    assert read_flags() == [True, True, True]
