"""The rate limits of the API."""

import os
import urllib.request
from urllib.error import HTTPError

import pytest

from people.api_auth import limits
from tests.openclaw_web.test_api import bearer
from tests.processes import Home

AGENTS = "/api/v1/agents"
WRONG = {"Authorization": "Bearer oc_0123abcd_wrong"}
MAKE_A_TOKEN = """
from people.accounts import services as accounts, tokens
user = accounts.create_user("somebody", "viewer", None, by="root")
print(tokens.make_token(user, name="test", role="viewer")[1])
"""


@pytest.fixture(autouse=True)
def full_buckets():
    limits.buckets.clear()
    yield
    limits.buckets.clear()


@pytest.mark.django_db
class TestPerson:
    def test_it_works(self, as_admin, settings):
        settings.API_PER_MINUTE = 3
        answers = [as_admin.get(AGENTS) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert [answer["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0"]
        assert answers[0]["RateLimit-Limit"] == "3"
        assert 0 < int(answers[3]["Retry-After"]) <= 20
        assert answers[3].json()["code"] == "too_many_requests"

    def test_all_tokens_of_a_person_count_together(self, client, reviewer, settings):
        settings.API_PER_MINUTE = 2
        tokens = [bearer(reviewer), bearer(reviewer), bearer(reviewer)]
        assert [client.get(AGENTS, headers=token).status_code for token in tokens] == [200, 200, 429]

    def test_somebody_else_is_not_stopped(self, client, reviewer, stranger, settings):
        settings.API_PER_MINUTE = 1
        assert [client.get(AGENTS, headers=bearer(reviewer)).status_code for _ in range(2)] == [200, 429]
        assert client.get(AGENTS, headers=bearer(stranger)).status_code == 200

    def test_no_limit(self, as_admin, settings):
        settings.API_PER_MINUTE = 0
        assert "RateLimit-Limit" not in as_admin.get(AGENTS)

    def test_pages_are_not_counted(self, as_admin, settings):
        settings.API_PER_MINUTE = 1
        assert {as_admin.get("/operations/jobs/").status_code for _ in range(3)} == {200}

    def test_what_is_left_is_said(self, as_admin, settings):
        settings.API_PER_MINUTE = 10
        assert as_admin.get("/api/v1/me").json()["limits"] == {"limit": 10, "remaining": 9}


@pytest.mark.django_db
class TestWrongTokens:
    def test_too_many_are_told_to_wait(self, client, settings):
        settings.API_FAILURES_PER_MINUTE = 2
        assert [client.get(AGENTS, headers=WRONG).status_code for _ in range(3)] == [401, 401, 429]

    def test_a_right_one_is_let_in_all_the_same(self, client, reviewer, settings):
        settings.API_FAILURES_PER_MINUTE = 1
        for _ in range(3):
            client.get(AGENTS, headers=WRONG)
        assert client.get(AGENTS, headers=bearer(reviewer)).status_code == 200

    def test_no_token_is_no_wrong_one(self, client, settings):
        settings.API_FAILURES_PER_MINUTE = 1
        assert {client.get(AGENTS).status_code for _ in range(3)} == {401}


class TestBuckets:
    def test_they_fill_again(self, monkeypatch):
        moment = 1_000.0
        monkeypatch.setattr(limits.time, "monotonic", lambda: moment)
        assert [limits.buckets.take("x", 60).is_used_up for _ in range(61)] == [False] * 60 + [True]
        moment += 1
        assert [limits.buckets.take("x", 60).is_used_up for _ in range(2)] == [False, True]
        moment += 60
        assert limits.buckets.take("x", 60).remaining == 59

    def test_a_forked_process_takes_from_the_same_bucket(self):
        for _ in range(3):
            child = os.fork()
            if not child:
                limits.buckets.take("x", 10)
                os._exit(0)
            os.waitpid(child, 0)
        assert limits.buckets.take("x", 10).remaining == 6

    def test_more_keys_than_places(self):
        for number in range(limits.SLOTS * 2):
            assert not limits.buckets.take(f"key {number}", 10).is_used_up


def test_all_processes_of_a_server_count_together(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    home.env["OPENCLAW_WEB_API_PER_MINUTE"] = "40"
    try:
        token = home.python(MAKE_A_TOKEN)
        address = home.serve().address()
        answers = [read_status(f"{address}{AGENTS}", token) for _ in range(60)]
    finally:
        home.close()
    # With a bucket for each of the two processes, all 60 would pass. On a slow machine the bucket refills a little.
    assert answers[:40] == [200] * 40
    assert 429 in answers


def read_status(url, token):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status
    except HTTPError as failed:
        return failed.code
