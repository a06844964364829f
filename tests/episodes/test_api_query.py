"""Episodes over the API: query, search, replay and scopes."""

from urllib.parse import quote

import orjson
import pytest

from episodes import retention
from episodes.append import append as append_events
from episodes.events import build_event
from openclaw_web.clock import DAY_MS
from people.models import AuditEntry
from tests.episodes.api_requests import fill_ledger, get, list_ids, make_event, post, post_batch
from tests.factories import T0

pytestmark = pytest.mark.django_db


@pytest.fixture
def events(ada, as_operator):
    """A browser of an operator, with ten events."""
    return fill_ledger(as_operator)


class TestQuery:
    @pytest.mark.parametrize("path", ["", "/replay/s1", "/policy"])
    @pytest.mark.parametrize("query", [{}, {"scope": ""}, {"scope": "  "}, {"scope": "//"}])
    def test_a_scope_is_required(self, events, path, query):
        answer = get(events, path, **query)
        assert answer.status_code in (400, 422)
        assert "scope" in answer.json()["detail"]

    def test_the_order_is_that_of_time(self, events):
        post(events, **make_event(11, ts_ms=T0 + 5))
        post(events, **make_event(10, ts_ms=T0 + 4))
        assert list_ids(get(events, scope="kitchen")) == [
            *("e1", "e2", "e3", "e4", "e10", "e5", "e11", "e6", "e7", "e8", "e9")
        ]

    def test_an_item_has_no_payload_by_default(self, events):
        item = get(events, scope="kitchen", limit=1).json()["items"][0]
        assert item == {
            "id": 1, "event_id": "e1", "ts_ms": T0 + 1, "scope": "kitchen", "session_id": "s1", "agent_id": "actor1",
            "type": "conversation.assistant", "summary": "Summary 1", "refs": {"memory_ids": [1]}, "redacted": False,
            "schema_version": "openclaw-mem.episodic.v0", "created_at": item["created_at"],
        }  # fmt: skip
        assert get(events, scope="kitchen", includePayload="true").json()["items"][0]["payload"] == {"n": 1}

    @pytest.mark.parametrize(
        ("query", "numbers"),
        [
            ({}, range(1, 10)),
            ({"sessionId": "s1"}, (1, 4, 7)),
            ({"session_id": "s1", "types": "ops.decision"}, ()),
            ({"session_id": "s1", "types": "conversation.assistant", "agent_id": "actor1"}, (1, 7)),
            ({"agentId": "actor0"}, (2, 4, 6, 8)),
            ({"fromTs": T0 + 3, "toTs": T0 + 5}, (3, 4, 5)),
            ({"from_ts": T0 + 3, "types": ["ops.decision", "conversation.user"]}, (3, 5, 6, 8, 9)),
            ({"types": "ops.decision, conversation.user", "agent_id": "actor0"}, (2, 6, 8)),
            ({"types": "ops.alert"}, ()),
            ({"session_id": "s0", "to_ts": T0 + 6}, (3, 6)),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("limit", [1, 2, 50])
    def test_filters_narrow_and_pages_join(self, events, query, numbers, limit):
        ids, after, before = [], {}, None
        while True:
            page = get(events, scope="kitchen", limit=limit, **query, **after).json()
            assert len(page["items"]) <= limit
            assert (page["limit"], page["is_cut"]) == (limit, page["next"] is not None)
            ids += [item["event_id"] for item in page["items"]]
            before = page["previous"] or before
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        assert ids == [f"e{number}" for number in numbers]
        if before and limit == 1:
            assert list_ids(get(events, scope="kitchen", limit=1, **query, before=before)) == ids[-2:-1]

    @pytest.mark.parametrize(
        "query",
        [
            {"limit": 501},
            {"limit": 0},
            {"types": "nonsense"},
            {"from_ts": T0 + 2, "to_ts": T0 + 1},
            {"from_ts": -1},
            {"colour": "red"},
            {"after": "nonsense"},
            {"after": "WyJhIiwxXQ"},
            {"format": "xml"},
        ],
    )
    def test_what_cannot_be_asked_is_refused(self, events, query):
        answer = get(events, scope="kitchen", **query)
        assert answer.status_code in (400, 409, 422)
        assert " " in answer.json()["detail"]

    def test_a_search_is_newest_first_within_its_scope(self, events):
        assert list_ids(get(events, scope="kitchen", q="summary", limit=3)) == ["e9", "e8", "e7"]
        assert list_ids(get(events, scope="kitchen", q="Summary 4")) == ["e4"]
        assert list_ids(get(events, scope="kitchen", q='"n":5')) == ["e5"]
        assert list_ids(get(events, scope="kitchen", q="memory_ids", types="ops.decision")) == ["e8", "e5", "e2"]
        assert list_ids(get(events, scope="garden", q="summary")) == ["other"]
        assert list_ids(get(events, scope="kitchen", q="%")) == []

    def test_a_search_finds_parts_of_words_of_every_script(self, ada, as_operator):
        post(as_operator, **make_event(summary="今天我们买面包和牛奶吧"))
        for words in ("面包", "包", "我们 牛奶"):
            assert list_ids(get(as_operator, scope="kitchen", q=words)) == ["e1"]

    def test_a_search_that_takes_long_says_how_far_it_looked(self, ada, as_operator, monkeypatch):
        monkeypatch.setattr("episodes.queries.SEARCH_MS", 1)
        events = [
            build_event(type="ops.alert", scope="big", session_id="s", agent_id="a", summary="noise", ts_ms=T0 + number)
            for number in range(12_000)
        ]
        append_events(ada.db, events)
        page = get(as_operator, scope="big", q="needle").json()
        assert (page["items"], page["is_cut"]) == ([], True)
        assert T0 < page["searched_back_to"] <= T0 + 7_000
        while page["next"]:
            page = get(as_operator, scope="big", q="needle", after=page["next"]).json()
        assert page["searched_back_to"] is None

    def test_payloads_of_an_answer_come_to_4_mb(self, ada, as_operator):
        texts = {"summary": "s" * 1_000, "payload": "x" * 8_190, "refs": ["r" * 4_000]}
        for first in (0, 250):
            post_batch(as_operator, *(make_event(number, **texts) for number in range(first, first + 250)))
        answer = get(as_operator, scope="kitchen", include_payload=True, limit=500)
        page = answer.json()
        assert 4_000_000 < len(answer.content) < 4_500_000
        assert (page["is_cut"], len(page["items"]) < 500) == (True, True)
        rest = get(as_operator, scope="kitchen", include_payload=True, limit=500, after=page["next"])
        assert len(page["items"]) + len(rest.json()["items"]) == 500
        assert not get(as_operator, scope="kitchen", limit=500).json()["is_cut"]

    def test_json_lines_are_the_whole_list(self, events):
        answer = get(events, scope="kitchen", format="jsonl")
        lines = [orjson.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
        assert [line["event_id"] for line in lines] == [f"e{number}" for number in range(1, 10)]
        answer = get(events, scope="kitchen", format="jsonl", limit=2, types="ops.decision,conversation.user")
        assert len(b"".join(answer.streaming_content).splitlines()) == 2

    def test_a_cursor_of_another_scope_shows_nothing_of_it(self, events):
        cursor = get(events, scope="kitchen", limit=3).json()["next"]
        assert list_ids(get(events, scope="garden", after=cursor)) == []

    def test_events_of_another_agent_stay_there(self, events, bob):
        assert events.get("/api/v1/agents/bob/episodes", {"scope": "kitchen"}).json()["items"] == []
        assert events.get("/api/v1/agents/nobody/episodes", {"scope": "kitchen"}).status_code == 404

    def test_reading_is_for_everybody_and_noted(self, events, as_stranger):
        assert get(as_stranger, scope="Kitchen", include_payload=True).status_code == 200
        entry = AuditEntry.objects.get(actor="stranger", action="read")
        assert (entry.object_type, entry.object_id, entry.agent_id) == ("episode", "kitchen", "ada")


class TestReplay:
    def test_a_session_within_a_scope_in_order(self, events):
        answer = get(events, "/replay/s0", scope="kitchen", limit=2)
        assert list_ids(answer) == ["e3", "e6"]
        assert (answer.json()["is_cut"], answer.json()["gaps"]) == (True, [])
        assert list_ids(get(events, "/replay/s0", scope="kitchen", after=answer.json()["next"])) == ["e9"]
        assert list_ids(get(events, "/replay/s1", scope="garden")) == ["other"]
        assert get(events, "/replay/none", scope="kitchen").json()["items"] == []

    @pytest.mark.parametrize("session", ["agent:main/thread/7", "a/", "../x", "50%/2F?"])
    def test_a_session_id_may_hold_slashes(self, ada, as_operator, session):
        assert post(as_operator, **make_event(1, session_id=session)).status_code == 201
        assert list_ids(get(as_operator, f"/replay/{quote(session, safe='')}", scope="kitchen")) == ["e1"]

    def test_payloads_are_shown_on_request(self, events):
        page = get(events, "/replay/s1", scope="kitchen", include_payload="1").json()
        assert [item["payload"] for item in page["items"]] == [{"n": 1}, {"n": 4}, {"n": 7}]

    def test_gaps_are_shown(self, events, ada):
        retention.run(ada, "kitchen", {"conversation.assistant": 1}, now_ms=T0 + DAY_MS + 5, by="root")
        page = get(events, "/replay/s1", scope="kitchen").json()
        assert [item["event_id"] for item in page["items"]] == ["e7"]
        assert page["gaps"] == [{"type": "conversation.assistant", "removed_count": 2, "before_ms": T0 + 5}]
        assert get(events, "/replay/s1", scope="garden").json()["gaps"] == []


class TestScopes:
    def test_scopes_are_counted_by_type(self, events):
        kinds = {"conversation.assistant": 3, "conversation.user": 3, "ops.decision": 3}
        garden = {"scope": "garden", "event_count": 1, "count_by_type": {"conversation.user": 1}}
        kitchen = {"scope": "kitchen", "event_count": 9, "count_by_type": kinds}
        assert get(events, "/scopes").json() == {"items": [garden, kitchen], "next": None, "previous": None}
        page = get(events, "/scopes", limit=1).json()
        assert page["items"] == [garden]
        assert get(events, "/scopes", limit=1, after=page["next"]).json()["items"] == [kitchen]
