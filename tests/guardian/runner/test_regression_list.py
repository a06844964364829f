"""The page of regression sets: versions, starting a test, and its results."""

import pytest

from gate.models import RegressionSet
from guardian.models import GuardianTest
from jobs import services as jobs
from jobs.models import JobRun
from people.models.bookkeeping import AuditEntry
from tests.llm_endpoint import says

from .proposal_rows import DB, text_of
from .test_regressions import behaves, judged  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db
PAGE = "/agents/ada/writes/regressions/"
FORM = {"new_model": "other", "new_prompt": "Guard."}


def test_a_test_from_the_page(judged, endpoint, as_operator):  # noqa: F811
    assert "No version yet." in text_of(as_operator.get(PAGE))
    stored = as_operator.post(f"{PAGE}store/", {"part": "guardian"}, follow=True)
    assert "The verdicts in force are version 1." in text_of(stored)
    assert "Sends the facts of version 1 (10)" in text_of(stored)
    endpoint.then(says(behaves(w4="refuse")))
    as_operator.post(f"{PAGE}start/", FORM)
    job = JobRun.objects.get(kind="guardian")
    jobs.run_now("guardian", job.params, by="otto")
    page = text_of(as_operator.get(PAGE))
    assert "<dt>Broken</dt> <dd> 1" in page
    assert "/agents/ada/writes/w4/" in page
    assert GuardianTest.objects.using(DB).get().prompt == "Guard."
    assert RegressionSet.objects.using(DB).get().number == 1
    assert AuditEntry.objects.filter(action__in=("regression_set_stored", "guardian_started")).count() == 2


def test_what_is_missing_is_said(ada, as_operator):
    refused = as_operator.post(f"{PAGE}store/", {"part": "guardian"}, follow=True)
    assert "There are no verdicts to test with." in text_of(refused)


def test_without_an_endpoint_a_test_is_refused(judged, as_operator):  # noqa: F811
    as_operator.post(f"{PAGE}store/", {"part": "guardian"})
    answer = as_operator.post(f"{PAGE}start/", FORM, follow=True)
    assert "No endpoint for language models is configured." in text_of(answer)
    assert not GuardianTest.objects.using(DB).exists()
    assert as_operator.post(f"{PAGE}start/", {"new_model": ""}).status_code == 422


def test_a_viewer_starts_nothing(judged, as_stranger):  # noqa: F811
    page = text_of(as_stranger.get(PAGE))
    assert "Store verdicts" not in page
    assert as_stranger.post(f"{PAGE}start/", FORM).status_code == 403
    assert as_stranger.post(f"{PAGE}store/").status_code == 403
