"""Requests about episodes of the agent ada."""

import orjson

from tests.factories import T0

URL = "/api/v1/agents/ada/episodes"


def make_event(number=1, **more):
    return {
        "event_id": f"e{number}",
        "ts_ms": T0 + number,
        "scope": "kitchen",
        "session_id": "s1",
        "agent_id": "lyria",
        "type": "conversation.user",
        "summary": f"Summary {number}",
        "payload": {"n": number},
        "refs": {"memory_ids": [number]},
    } | more


def post(client, path="", **body):
    return client.post(URL + path, orjson.dumps(body), content_type="application/json")


def post_batch(client, *events):
    return post(client, "/batch", events=list(events))


def get(client, path="", **query):
    return client.get(URL + path, query)


def list_ids(answer):
    return [item["event_id"] for item in answer.json()["items"]]


def fill_ledger(client):
    """Append nine events of the scope kitchen in three sessions, and one of garden."""
    kinds = ("conversation.user", "conversation.assistant", "ops.decision")
    batch = [
        make_event(number, session_id=f"s{number % 3}", type=kinds[number % 3], agent_id=f"actor{number % 2}")
        for number in range(1, 10)
    ]
    answer = post_batch(client, *batch, make_event(0, scope="garden", event_id="other"))
    assert answer.status_code == 201
    return client
