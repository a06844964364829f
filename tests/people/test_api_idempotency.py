"""A write that is sent again is done once: `Idempotency-Key`."""

import json
import os
import signal
import sqlite3
import threading
import urllib.request
from contextlib import closing
from http.client import HTTPException
from urllib.error import HTTPError

import pytest

from openclaw_web import clock
from people.api_auth import idempotency
from people.models import ApiToken
from people.models.bookkeeping import IdempotencyKey
from tests import faults
from tests.factories import SampleFactory
from tests.openclaw_web.test_api import bearer
from tests.processes import Home, wait_for

EXPORTS = "/api/v1/exports"
LABEL = "/api/v1/samples/one/label"
COLLECT = "/api/v1/operations/collect"
WANTED = {"name": "first", "format": "alpaca"}
ME = "/api/v1/me"

MAKE_A_SAMPLE = """
from agents.models import Agent
from people.accounts import services as accounts, tokens
from people.models import User
from tests.factories import SampleFactory
user = accounts.create_user("labeller", "labeller", None, by="root")
SampleFactory(id="one")
print(tokens.make_token(user, name="test", role="labeller")[1])
"""


@pytest.fixture
def sample(db):
    return SampleFactory(id="one")


def post(client, path, body, key=None, **headers):
    if key is not None:
        headers["Idempotency-Key"] = key
    return client.post(path, body, "application/json", headers=headers)


@pytest.mark.django_db
def test_what_an_admins_token_was_answered_is_not_for_a_lower_one(client, admin):
    """The key is the person's; the answer is the role's."""
    path, body = "/api/v1/operations/settings/memoryGate.windowSize", {"value": 7}
    answers = [post(client, path, body, "k1", **bearer(admin, role)) for role in ("admin", "viewer", "admin")]
    assert [answer.status_code for answer in answers] == [200, 403, 200]
    assert answers[2]["Idempotency-Replayed"] == "true"


@pytest.mark.django_db
class TestOnce:
    def test_it_works(self, as_admin, sample):
        first = post(as_admin, LABEL, {"status": "approved"}, "k1")
        again = post(as_admin, LABEL, {"status": "approved"}, "k1")
        assert (first.status_code, again.status_code) == (200, 200)
        assert first.content == again.content
        assert "Idempotency-Replayed" not in first
        assert again["Idempotency-Replayed"] == "true"
        assert sample.labels.count() == 1

    def test_a_refusal_is_kept_too(self, as_admin, sample):
        body = {"status": "approved", "output": " "}
        first, again = (post(as_admin, LABEL, body, "k1") for _ in range(2))
        assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (409, 409, "true")

    def test_another_body_is_refused(self, as_admin, sample):
        post(as_admin, LABEL, {"status": "approved"}, "k1")
        response = post(as_admin, LABEL, {"status": "rejected"}, "k1")
        assert (response.status_code, response.json()["errors"][0]["loc"]) == (422, ["header", "Idempotency-Key"])
        assert sample.labels.count() == 1

    def test_another_address_is_refused(self, as_admin, sample):
        SampleFactory(id="two")
        post(as_admin, LABEL, {"status": "approved"}, "k1")
        assert post(as_admin, LABEL.replace("one", "two"), {"status": "approved"}, "k1").status_code == 422

    def test_another_person_has_keys_of_their_own(self, client, as_admin, sample, reviewer):
        post(as_admin, LABEL, {"status": "approved"}, "k1")
        client.logout()
        response = post(client, LABEL, {"status": "approved"}, "k1", **bearer(reviewer))
        assert "Idempotency-Replayed" not in response
        assert sample.labels.count() == 2

    @pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "é", "tab\t"])
    def test_a_key_that_is_none(self, as_admin, sample, key):
        assert post(as_admin, LABEL, {"status": "approved"}, key).status_code == 422
        assert not sample.labels.exists()

    def test_a_day_later_it_is_forgotten(self, as_admin, sample, monkeypatch):
        post(as_admin, LABEL, {"status": "approved"}, "k1")
        later = clock.now_ms() + idempotency.KEEP_MS + 1
        monkeypatch.setattr(clock, "now_ms", lambda: later)
        assert "Idempotency-Replayed" not in post(as_admin, LABEL, {"status": "approved"}, "k1")
        assert IdempotencyKey.objects.count() == 1

    def test_old_keys_are_cleaned_up_a_few_at_a_time(self, as_admin, admin, sample):
        rows = [
            IdempotencyKey(user=admin, key=f"old-{n}", fingerprint="", claim="", leased_until=0, created_at=n)
            for n in range(idempotency.CLEANED + 5)
        ]
        IdempotencyKey.objects.bulk_create(rows)
        post(as_admin, LABEL, {"status": "approved"}, "new")
        assert IdempotencyKey.objects.count() == 5 + 1

    def test_a_secret_is_not_kept(self, as_admin):
        body = {"name": "x", "role": "viewer"}
        first, again = (post(as_admin, "/api/v1/operations/tokens", body, "k1") for _ in range(2))
        assert first.json()["token"].startswith("oc_")
        assert (again.status_code, again.json()["code"]) == (409, "done_before")
        assert ApiToken.objects.count() == 1
        assert IdempotencyKey.objects.get().body_zstd is None

    def test_what_was_not_allowed_may_be_tried_again(self, client, stranger, sample):
        headers = bearer(stranger)
        assert post(client, LABEL, {"status": "approved"}, "k1", **headers).status_code == 403
        stranger.role = "admin"
        stranger.save()
        assert post(client, LABEL, {"status": "approved"}, "k1", **bearer(stranger)).status_code == 200

    def test_an_error_of_ours_may_be_tried_again(self, as_admin):
        def broken():
            raise RuntimeError

        as_admin.raise_request_exception = False
        with faults.before_statement("default", lambda sql: "job_runs" in sql, broken):
            assert post(as_admin, COLLECT, {}, "k1").status_code == 500
        assert post(as_admin, COLLECT, {}, "k1").status_code == 202

    def test_while_the_first_is_under_way(self, as_admin, admin, sample, monkeypatch):
        idempotency.begin(admin, "k1", find_fingerprint(as_admin, {"status": "approved"}))
        response = post(as_admin, LABEL, {"status": "approved"}, "k1")
        assert (response.status_code, response.json()["code"]) == (409, "in_progress")
        assert int(response["Retry-After"]) >= 1
        # The holder of the key died: after the lease, the next request takes it over.
        later = clock.now_ms() + idempotency.LEASE_MS
        monkeypatch.setattr(clock, "now_ms", lambda: later)
        assert post(as_admin, LABEL, {"status": "approved"}, "k1").status_code == 200

    def test_whoever_lost_the_key_keeps_no_answer(self, admin, monkeypatch):
        slow = idempotency.begin(admin, "k1", "same")
        later = clock.now_ms() + idempotency.LEASE_MS
        monkeypatch.setattr(clock, "now_ms", lambda: later)
        quick = idempotency.begin(admin, "k1", "same")
        idempotency.end(quick, idempotency.Answer(200, "text/plain", b"quick"))
        idempotency.end(slow, idempotency.Answer(200, "text/plain", b"slow"))
        idempotency.give_up(slow)
        assert idempotency.begin(admin, "k1", "same").body == b"quick"


def find_fingerprint(client, body):
    """Returns the fingerprint of a request, read from the same request with another key."""
    post(client, LABEL, body, "probe")
    return IdempotencyKey.objects.get(key="probe").fingerprint


class Site:
    """A real server with one sample and a user who may label."""

    def __init__(self, home):
        self.home, self.token = home, home.python(MAKE_A_SAMPLE)
        self.start()

    def start(self):
        self.server = self.home.serve()
        self.address = self.server.address()

    def label(self, key):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Idempotency-Key": key}
        body = json.dumps({"status": "approved"}).encode()
        request = urllib.request.Request(f"{self.address}{LABEL}", body, headers)
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, response.headers.get("Idempotency-Replayed"), response.read()
        except HTTPError as failed:
            return failed.code, None, failed.read()

    def fail_to_label(self, key):
        with pytest.raises((OSError, HTTPException)):
            self.label(key)

    def count(self, table):
        return self.home.count(f"SELECT COUNT(*) FROM {table}")


@pytest.fixture
def site(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    yield Site(home)
    home.close()


def test_sixteen_at_the_same_time_are_one(site):
    answers, start = [], threading.Barrier(16)

    def label():
        start.wait()
        while True:
            answer = site.label("the-key")
            answers.append(answer)
            if answer[0] != 409:
                return

    threads = [threading.Thread(target=label) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    good = [answer for answer in answers if answer[0] == 200]
    assert len(good) == 16
    assert {status for status, _, _ in answers} <= {200, 409}
    assert len({body for _, _, body in good}) == 1
    assert [replayed for _, replayed, _ in good].count(None) == 1
    assert site.count("sample_labels") == 1


def test_a_server_killed_on_the_way_leaves_a_key_that_can_be_used_again(site):
    """The key is claimed in the database before the work is done.

    The request waits for the write lock when the server dies.
    """
    database = site.home.path / "state" / "openclaw.sqlite"
    with site.home.locked():
        thread = threading.Thread(target=site.fail_to_label, args=["the-key"])
        thread.start()
        wait_for(lambda: len(site.server.descendants()) >= 3)
        for pid in [site.server.pid, *site.server.descendants()]:
            os.kill(pid, signal.SIGKILL)
        thread.join()
    with closing(sqlite3.connect(database)) as db:
        # A server that dies a moment later leaves a key that is claimed and not answered.
        user = db.execute("SELECT user_id FROM api_tokens").fetchone()[0]
        row = (user, "held", "x", "dead", clock.now_ms() + 1_000, "", clock.now_ms())
        db.execute(
            "INSERT INTO idempotency_keys (user_id, key, fingerprint, claim, leased_until, content_type, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        db.commit()
    site.server.end()
    site.start()
    assert site.label("the-key")[0] == 200
    assert site.label("the-key")[1] == "true"
    assert site.label("held")[0] == 422  # another request holds it; the same request would be let in after the lease
    assert site.count("sample_labels") == 1
