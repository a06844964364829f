"""The API's answers about sessions, records, turns and rejected lines."""

import orjson
import pytest

from ledger.session import api
from tests.factories import EventFactory, SessionFactory, TurnFactory

ADA = "/api/v1/agents/ada"
pytestmark = pytest.mark.django_db


def walk(client, path, **query):
    """Every item of a list, page after page."""
    items = []
    while True:
        answer = client.get(path, query).json()
        items += answer["items"]
        if answer["next"] is None:
            return items
        query["after"] = answer["next"]


def ids(items, name="id"):
    return [item[name] for item in items]


class TestEvents:
    @pytest.fixture
    def session(self, client):
        session = SessionFactory(id="s")
        for seq in range(5):
            EventFactory(session=session, seq=seq, is_active=seq != 3, parent_id=f"r{seq - 1}" if seq else None)
        return session

    def test_it_works(self, client, session):
        items = client.get(f"{ADA}/sessions/s/events").json()["items"]
        assert ids(items, "seq") == [0, 1, 2, 4]
        assert ids(items, "record_id") == ["r0", "r1", "r2", "r4"]
        assert items[1]["parent_id"] == "r0"
        assert items[0]["payload"] is None

    def test_every_branch(self, client, session):
        assert ids(walk(client, f"{ADA}/sessions/s/events", branch="all", limit=2), "seq") == [0, 1, 2, 3, 4]

    def test_payloads_are_given_when_asked_for(self, client, session):
        EventFactory(session=session, seq=9, trim_json='{"capped":[["message.content",9000]]}')
        item = client.get(f"{ADA}/sessions/s/events", {"include_payload": "true"}).json()["items"][-1]
        assert item["payload"]["message"]["content"] == "Hello"
        assert item["payload_bytes"] == len(orjson.dumps(item["payload"]))
        assert item["trimmed"] == {"capped": [["message.content", 9000]]}

    def test_a_page_of_big_payloads_ends_early(self, client, session):
        big = orjson.dumps({"type": "message", "text": "ü" * 350_000}).decode()
        for seq in range(10, 16):
            EventFactory(session=session, seq=seq, event_json=big)
        response = client.get(f"{ADA}/sessions/s/events", {"include_payload": "true"})
        assert len(response.content) < api.BUDGET_BYTES + 100_000
        assert response.json()["next"]
        items = walk(client, f"{ADA}/sessions/s/events", include_payload="true")
        assert ids(items, "seq") == [0, 1, 2, 4, *range(10, 16)]

    def test_a_payload_bigger_than_an_answer_has_only_its_size(self, client, session):
        EventFactory(session=session, seq=10, event_json=orjson.dumps({"text": "x" * api.BUDGET_BYTES}).decode())
        item = walk(client, f"{ADA}/sessions/s/events", include_payload="true")[-1]
        assert item["payload"] is None
        assert item["payload_bytes"] > api.BUDGET_BYTES

    def test_the_number_of_queries_does_not_grow(self, client, django_assert_num_queries):
        session = SessionFactory(id="long")
        client.get(f"{ADA}/sessions/long/events")  # the audit log has its entry from here on
        for rows in (1, 30):
            EventFactory.create_batch(rows, session=session)
            with django_assert_num_queries(2, using="agent_ada"), django_assert_num_queries(4):
                client.get(f"{ADA}/sessions/long/events", {"include_payload": "true"})


class TestTurns:
    def test_it_works(self, client):
        session = SessionFactory(id="s")
        for number in (1, 2, 3):
            TurnFactory(session=session, turn_number=number, is_active=number != 2)
        items = client.get(f"{ADA}/sessions/s/turns").json()["items"]
        assert ids(items, "turn_number") == [1, 3]
        assert items[0]["user_message_content"] == "Please check the nightly import."
        assert ids(walk(client, f"{ADA}/sessions/s/turns", branch="all", limit=1), "turn_number") == [1, 2, 3]

    def test_a_page_of_long_turns_ends_early(self, client):
        session = SessionFactory(id="s")
        TurnFactory.create_batch(3, session=session, agent_message_content="x" * (api.BUDGET_BYTES - 1000))
        assert len(client.get(f"{ADA}/sessions/s/turns").json()["items"]) == 1
        assert len(walk(client, f"{ADA}/sessions/s/turns")) == 3
