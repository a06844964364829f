"""Lists of the API: pages in both directions, JSON lines, ETags, and spec spellings."""

import http.client
import json
import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

import orjson
import pytest
from django.db import DatabaseError
from django.db.models.expressions import RawSQL

from openclaw_web.api import api
from openclaw_web.endpoints import streams
from tests.factories import EventFactory, RejectedFactory, SampleFactory, SessionFactory
from tests.openclaw_web.test_api import bearer, operations
from tests.processes import Home

SESSIONS = "/api/v1/agents/ada/sessions"
EVENTS = "/api/v1/agents/ada/events"
NO_TEXT = "CAST(X'FF' AS TEXT)"  # at which a query fails
pytestmark = pytest.mark.django_db
NDJSON = {"Accept": "application/x-ndjson"}
MAKE_ROWS = """
from agents import databases, services
from people.accounts import services as accounts, tokens
from tests.factories import EventFactory, SessionFactory
user = accounts.create_user("somebody", "viewer", None, by="root")
services.register("ada")
session = SessionFactory(id="s", db=databases.get_alias("ada"))
EventFactory.create_batch(700, session=session, db=databases.get_alias("ada"))
print(tokens.make_token(user, name="test", role="viewer")[1])
"""


def lines(response):
    return [orjson.loads(line) for line in response.getvalue().splitlines()]


def lists():
    return [
        path for method, path, operation in operations() if any(p["name"] == "format" for p in operation["parameters"])
    ]


def test_every_list_takes_and_gives_both_cursors():
    schemas = api.get_openapi_schema()["components"]["schemas"]
    for _, path, operation in operations():
        names = {parameter["name"] for parameter in operation["parameters"]}
        if {"after", "limit"} <= names and path != "/api/v1/search":  # which only goes on
            page = operation["responses"][200]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert "before" in names, path
            assert {"items", "next", "previous"} <= schemas[page]["properties"].keys(), path


class TestJsonLines:
    @pytest.mark.parametrize("query", [{"format": "jsonl"}, {}])
    def test_it_works(self, as_admin, ada, query):
        assert lines(as_admin.get(SESSIONS, {"format": "jsonl"})) == []
        SessionFactory.create_batch(3)
        rows = as_admin.get(SESSIONS).json()["items"]
        response = as_admin.get(SESSIONS, query, headers={} if query else NDJSON)
        assert response["Content-Type"] == "application/x-ndjson; charset=utf-8"
        assert lines(response) == rows

    def test_limit_is_how_many_in_all(self, as_admin, ada):
        SessionFactory.create_batch(230)
        assert len(lines(as_admin.get(SESSIONS, {"format": "jsonl", "limit": 1}))) == 1
        assert len(lines(as_admin.get(SESSIONS, {"format": "jsonl", "limit": 215}))) == 215
        assert len(lines(as_admin.get(SESSIONS, {"format": "jsonl", "limit": 100_000}))) == 230

    def test_filters_and_cursors_hold(self, as_admin, ada):
        SessionFactory.create_batch(3, channel_id="irc")
        SessionFactory.create_batch(3)
        query = {"channel": "irc", "limit": 1}
        page = as_admin.get(SESSIONS, query).json()
        rest = lines(as_admin.get(SESSIONS, {"channel": "irc", "after": page["next"], "format": "jsonl"}))
        assert len(rest) == 2

    @pytest.mark.parametrize(
        "query", [{"limit": "0"}, {"limit": "x"}, {"limit": "9" * 30}, {"after": "x"}, {"sort": "x"}]
    )
    def test_what_does_not_fit_is_said_before_it_begins(self, as_admin, ada, query):
        response = as_admin.get(SESSIONS, {"format": "jsonl", **query})
        assert response.status_code in (409, 422)
        assert response["Content-Type"] == "application/json"

    def test_another_format(self, as_admin, ada):
        response = as_admin.get(SESSIONS, {"format": "xml"})
        assert (response.status_code, response.json()["errors"][0]["loc"]) == (422, ["query", "format"])

    def test_who_asks_is_asked_once(self, client, stranger, ada, django_assert_max_num_queries):
        SessionFactory.create_batch(450)
        headers = bearer(stranger)
        with django_assert_max_num_queries(7):  # of the global file: the token, its use, the agent for each page
            response = client.get(SESSIONS, {"format": "jsonl"}, headers=headers)
            assert len({row["id"] for row in lines(response)}) == 450

    def test_every_list_has_it(self, as_admin, ada):
        for path in lists():
            response = as_admin.get(path.replace("{agent}", "ada"), {"format": "jsonl"})
            assert response.status_code in (200, 404, 422), path
            if response.status_code == 200:
                assert response["Content-Type"].startswith(streams.TYPE), path
            response.close()

    def test_a_failure_in_the_middle_is_no_end(self, as_admin, ada, monkeypatch):
        session = SessionFactory()
        EventFactory.create_batch(600, session=session)
        session.events.filter(seq=session.events.order_by("seq").first().seq).update(event_json=RawSQL(NO_TEXT, ()))
        response = as_admin.get(EVENTS, {"format": "jsonl", "include_payload": "true"})
        with pytest.raises(DatabaseError):
            response.getvalue()


def test_a_stream_that_fails_breaks_the_connection_off(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    try:
        token = home.python(MAKE_ROWS)
        with closing(sqlite3.connect(home.path / "agents" / "ada" / "agent" / "openclaw-agent.sqlite")) as db:
            last = "(SELECT MAX(seq) FROM transcript_events)"
            db.execute(f"UPDATE transcript_events SET event_json = {NO_TEXT} WHERE seq = {last}")
            db.commit()
        connection = http.client.HTTPConnection(urlsplit(home.serve().address()).netloc)
        query = "format=jsonl&include_payload=true&sort=time"
        connection.request("GET", f"{EVENTS}?{query}", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        assert response.status == 200
        with pytest.raises(http.client.IncompleteRead) as broken:
            response.read()
        assert broken.value.partial.count(b"\n") == 500
        connection.close()
    finally:
        home.close()


class TestEtags:
    def test_it_works(self, as_admin, ada):
        first = as_admin.get(SESSIONS)
        again = as_admin.get(SESSIONS, headers={"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert all(again[name] == first[name] for name in ("ETag", "Cache-Control", "Vary"))
        SessionFactory()
        assert as_admin.get(SESSIONS, headers={"If-None-Match": first["ETag"]}).status_code == 200

    @pytest.mark.parametrize("header", ["*", "W/{}", '"other", {}'])
    def test_other_ways_to_name_it(self, as_admin, ada, header):
        mark = as_admin.get(SESSIONS)["ETag"]
        assert as_admin.get(SESSIONS, headers={"If-None-Match": header.format(mark)}).status_code == 304

    @pytest.mark.parametrize("header", ['"other"', "junk", '"', "", "W/"])
    def test_what_names_it_not(self, as_admin, ada, header):
        assert as_admin.get(SESSIONS, headers={"If-None-Match": header}).status_code == 200

    def test_a_verdict_on_an_old_version(self, as_admin):
        SampleFactory(id="one")
        seen = as_admin.get("/api/v1/samples/one")["ETag"]
        first = label(as_admin, seen)
        assert (first.status_code, first["ETag"] != seen) == (200, True)
        late = label(as_admin, seen)
        assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
        assert label(as_admin, first["ETag"]).status_code == 200
        assert label(as_admin, "*").status_code == 200
        assert as_admin.get("/api/v1/samples/one", headers={"If-None-Match": seen}).status_code == 200


def label(client, seen):
    body = {"status": "approved"}
    return client.post("/api/v1/samples/one/label", body, "application/json", headers={"If-Match": seen})


class TestSpellings:
    def test_a_query_as_the_spec_writes_it(self, as_admin, ada):
        session = SessionFactory(id="sess-001")
        for seq, kind in ((1, "user"), (2, "assistant"), (3, "assistant")):
            EventFactory(session=session, seq=seq, kind=kind, created_at=seq * 1_000)
        EventFactory(kind="assistant", created_at=2_000)
        spec = {"sessionId": "sess-001", "fromTs": 1_500, "toTs": 3_000, "types": "user,assistant"}
        spec["includePayload"] = "true"
        ours = {"session_id": "sess-001", "from_ts": 1_500, "to_ts": 3_000, "types": ["user", "assistant"]}
        rows = as_admin.get(EVENTS, spec).json()["items"]
        assert [row["seq"] for row in rows] == [2] and rows[0]["payload"] is not None
        assert rows == as_admin.get(EVENTS, ours | {"include_payload": "true"}).json()["items"]

    def test_lists_that_filter_by_session(self, as_admin, ada):
        for path in ("/api/v1/samples", "/api/v1/agents/ada/turns", "/api/v1/agents/ada/rejected"):
            assert as_admin.get(path, {"sessionId": "s"}).json()["items"] == []
        RejectedFactory(session_id="s")
        RejectedFactory(session_id="t")
        assert len(as_admin.get("/api/v1/agents/ada/rejected", {"sessionId": "s"}).json()["items"]) == 1

    def test_our_own_spelling_wins(self, as_admin, ada):
        SessionFactory(id="a")
        EventFactory(session__id="b")
        assert as_admin.get(EVENTS, {"sessionId": "a", "session_id": "b"}).json()["items"]
        assert as_admin.get(EVENTS, {"session_id": "a", "session": "b"}).json()["items"]

    def test_a_body(self, as_admin, ada):
        SampleFactory(quality_score=0.5)
        body = {"name": "x", "format": "alpaca", "onlyApproved": False, "trainSplit": 0.5, "minQuality": 0.25}
        made = as_admin.post("/api/v1/exports", json.dumps(body), "application/json").json()
        options = made["options"]
        assert (options["only_approved"], options["train_split"], options["min_quality"]) == (False, 0.5, 0.25)

    def test_types_are_checked_under_either_name(self, as_admin, ada):
        assert as_admin.get(EVENTS, {"fromTs": "x"}).status_code == 422
