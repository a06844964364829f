"""Failures with an answer of their own: API and pages give the same sentence and status."""

import orjson
import pytest
from django.contrib.auth import get_user_model

from agents.databases import LostAgentFile, OldAgentFile, UnknownAgent
from artifacts.content_download import FlaggedArtifact
from artifacts.errors import DamagedArtifact, MissingContent, NoSuchArtifact
from artifacts.handles import NotAHandle
from ledger.transcripts.contexts import NoSuchTurn
from openclaw_web.api import api
from openclaw_web.endpoints.error_responses import CODES
from openclaw_web.errors import Outdated, Refused, UserFacingError
from openclaw_web.pages.downloads import TooManyDownloads
from openclaw_web.pages.files import NoSuchRange
from openclaw_web.pages.middleware import FailurePageMiddleware

SENTENCE = "Do that first."
ANSWERS = [
    (Refused(SENTENCE), 409, "refused", {}),
    (DamagedArtifact(SENTENCE), 409, "refused", {}),
    (Outdated(SENTENCE), 412, "changed_meanwhile", {}),
    (NoSuchArtifact(SENTENCE), 404, "not_found", {}),
    (NotAHandle(SENTENCE), 404, "not_found", {}),
    (NoSuchTurn(SENTENCE), 404, "not_found", {}),
    (MissingContent(SENTENCE), 410, "gone", {}),
    (FlaggedArtifact(SENTENCE), 403, "not_allowed", {}),
    (TooManyDownloads(SENTENCE), 503, "too_many_downloads", {"Retry-After": "5"}),
    (OldAgentFile(SENTENCE), 503, "not_now", {}),
    (LostAgentFile("ada", 3), 503, "not_now", {}),
]


def answer_from_api(request, failure):
    return api.on_exception(request, failure)


def answer_from_pages(request, failure):
    request.user = get_user_model()(role="viewer")
    return FailurePageMiddleware(None).process_exception(request, failure)


@pytest.mark.parametrize(("failure", "status", "code", "headers"), ANSWERS, ids=lambda failure: type(failure).__name__)
def test_the_api_and_pages_answer_as_the_failure_says(rf, failure, status, code, headers):
    response = answer_from_api(rf.get("/api/v1/x"), failure)
    reasons = {"reasons": []} if status == 409 else {}
    assert response.status_code == status
    assert orjson.loads(response.content) == {"detail": failure.sentence, "code": code, **reasons}
    page = answer_from_pages(rf.get("/x/"), failure)
    assert page.status_code == status and f"<h1>{failure.sentence}</h1>" in page.text
    assert all(headers.items() <= dict(answer.items()).items() for answer in (response, page))


def test_rows_in_the_way_are_named(rf):
    rows = [{"id": "1", "reason": "it is in use"}]
    assert (
        orjson.loads(answer_from_api(rf.get("/api/v1/x"), Refused(SENTENCE, reasons=rows)).content)["reasons"] == rows
    )
    assert "it is in use" in answer_from_pages(rf.get("/x/"), Refused(SENTENCE, reasons=rows)).content.decode()


def test_an_agent_without_a_file_is_not_there(rf):
    response = answer_from_api(rf.get("/api/v1/x"), UnknownAgent("ada"))
    expected = {"detail": "There is no agent ada.", "code": "not_found"}
    assert (response.status_code, orjson.loads(response.content)) == (404, expected)
    assert str(UnknownAgent("ada")) == "ada"


@pytest.mark.parametrize("answer", [answer_from_api, answer_from_pages])
def test_a_part_that_is_not_in_a_file(rf, answer):
    response = answer(rf.get("/api/v1/x"), NoSuchRange(900))
    assert (response.status_code, response["Content-Range"]) == (416, "bytes */900")
    assert "The file has 900 bytes" in response.content.decode()


def test_whatever_else_fails_is_a_bug(rf):
    assert answer_from_pages(rf.get("/x/"), ValueError("a secret")) is None


def test_every_status_has_a_word():
    assert all(kind.status in CODES for kind in find_subclasses(UserFacingError))


def find_subclasses(kind):
    """Yields every subclass of a failure, in all apps."""
    for child in kind.__subclasses__():
        yield child
        yield from find_subclasses(child)
