"""Sequences of appends, redactions and retention runs in two scopes, compared with a model.

No answer holds a row of another scope, and no text that was redacted comes back.
"""

from dataclasses import dataclass, field

import orjson
import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from episodes.chain import verification
from tests.factories import T0

pytestmark = pytest.mark.django_db
DB, URL = "agent_ada", "/api/v1/agents/ada/episodes"
MANY = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])  # each is undone
SCOPES = ("north", "south")
SESSIONS = ("s1", "s2")
TYPES = ("conversation.user", "ops.decision")
LIMITS = (1, 2, 3, 50)

EVENTS = st.fixed_dictionaries(
    {
        "event_id": st.sampled_from([f"e{number}" for number in range(8)]),
        "ts_ms": st.integers(T0, T0 + 3),
        "scope": st.sampled_from([*SCOPES, "North", " SOUTH/"]),
        "session_id": st.sampled_from(SESSIONS),
        "type": st.sampled_from(TYPES),
        "text": st.sampled_from("abc"),
    }
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), EVENTS),
        st.tuples(st.just("batch"), st.lists(EVENTS, min_size=1, max_size=4)),
        st.tuples(st.just("redact"), st.sampled_from(SCOPES), st.sampled_from([f"e{n}" for n in range(8)]), st.none()),
        st.tuples(st.just("redact"), st.sampled_from(SCOPES), st.none(), st.sampled_from(SESSIONS)),
        st.tuples(st.just("gc"), st.sampled_from(SCOPES)),
    ),
    min_size=1,
    max_size=12,
)
# Queries as somebody may combine them, cursors of other answers included.
QUERIES = st.fixed_dictionaries(
    {"limit": st.sampled_from(LIMITS)},
    optional={
        "sessionId": st.sampled_from(SESSIONS),
        "types": st.sampled_from([*TYPES, ",".join(TYPES)]),
        "fromTs": st.integers(T0, T0 + 3),
        "agentId": st.just("actor"),
        "q": st.sampled_from(["secret", "secret-a", "n", "REDACTED"]),
        "format": st.sampled_from(["json", "jsonl"]),
        "includePayload": st.booleans(),
    },
)


@dataclass
class Model:
    """The ledger as a dictionary of bodies by event id, with the ids of redacted events."""

    events: dict = field(default_factory=dict)
    redacted: set = field(default_factory=set)

    def list_ids(self, scope):
        return {name for name, event in self.events.items() if event["scope"] == scope}

    def is_known(self, body, events):
        known = events.get(body["event_id"])
        texts = () if body["event_id"] in self.redacted else ("summary",)
        names = ("ts_ms", "scope", "session_id", "type", *texts)
        return known is not None and all(known[name] == body[name] for name in names)

    def append(self, bodies):
        """Append all bodies or none; return the expected status."""
        events, is_new = dict(self.events), False
        for body in bodies:
            if body["event_id"] not in events:
                events[body["event_id"]], is_new = body, True
            elif not self.is_known(body, events):
                return 409
        self.events = events
        return 201 if is_new else 200

    def redact(self, scope, event_id, session_id):
        """Redact events; return how many were not redacted before."""
        ids = {
            name for name in self.list_ids(scope) if name == event_id or self.events[name]["session_id"] == session_id
        }
        new = ids - self.redacted
        self.redacted |= ids
        return len(new)

    def remove_old(self, scope):
        """Remove the messages of users; return how many there were."""
        old = {name for name in self.list_ids(scope) if self.events[name]["type"] == TYPES[0]}
        self.events = {name: event for name, event in self.events.items() if name not in old}
        self.redacted -= old
        return len(old)


def build_body(event):
    text = f"secret-{event['text']} of {event['event_id']}"
    values = {name: value for name, value in event.items() if name != "text"}
    return values | {"agent_id": "actor", "summary": text, "payload": {"n": text}, "refs": [text]}


def send(client, path, body):
    return client.post(URL + path, orjson.dumps(body), content_type="application/json")


def normalise(body):
    return body | {"scope": body["scope"].strip(" /").lower()}


def take_step(client, model, step):
    """Send a step, and compare its answer with what the model says of it."""
    name, *values = step
    if name == "append":
        body = build_body(values[0])
        assert send(client, "", body).status_code == model.append([normalise(body)])
    elif name == "batch":
        bodies = [build_body(event) for event in values[0]]
        assert send(client, "/batch", {"events": bodies}).status_code == model.append(list(map(normalise, bodies)))
    elif name == "redact":
        body = dict(zip(("scope", "event_id", "session_id"), values, strict=True))
        preview, answer = (send(client, "/redact", body | {"dry_run": is_dry}).json() for is_dry in (True, False))
        assert preview["redacted_count"] == answer["redacted_count"] == model.redact(*values)
    else:
        body = {"scope": values[0], "policy": {TYPES[0]: 1}}
        preview, answer = (send(client, "/gc", body | {"dry_run": is_dry}).json() for is_dry in (True, False))
        assert preview["deleted_total"] == answer["deleted_total"] == model.remove_old(values[0])


def read_items(answer):
    assert answer.status_code == 200, answer.content
    if answer.streaming:
        return [orjson.loads(line) for line in b"".join(answer.streaming_content).splitlines()], []
    page = answer.json()
    return page["items"], [page["next"], page["previous"]]


def check_items(model, scope, items):
    own = [item for item in items if item["session_id"] != "episodes-retention"]
    assert {item["scope"] for item in items} <= {scope}
    assert {item["event_id"] for item in own} <= model.list_ids(scope)
    for item in own:
        is_redacted = item["event_id"] in model.redacted
        assert item["redacted"] == is_redacted
        assert ("secret" in orjson.dumps(item).decode()) == (not is_redacted)


def list_all(client, path, query):
    """Every item of a list, page after page."""
    items, after = [], {}
    while True:
        page = client.get(URL + path, query | after).json()
        items += page["items"]
        if page["next"] is None:
            return items
        after = {"after": page["next"]}


@MANY
@given(steps=STEPS, queries=st.lists(QUERIES, min_size=1, max_size=4), limit=st.sampled_from(LIMITS))
def test_every_answer_is_of_its_scope_and_without_redacted_texts(ada, as_admin, steps, queries, limit):
    with transaction.atomic(using=DB):
        model = Model()
        for step in steps:
            take_step(as_admin, model, step)
        cursors = [None]
        for query in queries:
            for scope in SCOPES:
                place = {"after": cursors[-1]} if cursors[-1] else {}
                items, more = read_items(as_admin.get(URL, query | place | {"scope": scope}))
                check_items(model, scope, items)
                cursors += more
        for scope in SCOPES:
            items = list_all(as_admin, "", {"scope": scope, "limit": limit})
            check_items(model, scope, items)
            places = [(item["ts_ms"], item["id"]) for item in items]
            assert places == sorted(set(places))
            assert {item["event_id"] for item in items} >= model.list_ids(scope)
            for session in SESSIONS:
                replay = list_all(
                    as_admin, f"/replay/{session}", {"scope": scope, "limit": limit, "include_payload": 1}
                )
                check_items(model, scope, replay)
                own = {name for name in model.list_ids(scope) if model.events[name]["session_id"] == session}
                assert {item["event_id"] for item in replay} == own
        assert verification.verify(DB).faults == []
        transaction.set_rollback(True, using=DB)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@MANY
@given(
    event=st.fixed_dictionaries(
        {
            "scope": st.text(max_size=210),
            "session_id": st.text(max_size=510),
            "agent_id": st.text(max_size=510),
            "type": st.sampled_from(TYPES) | st.text(max_size=20),
            "summary": st.text(max_size=1_010),
            "payload": JSON,
            "refs": JSON,
        },
        optional={"event_id": st.text(max_size=140), "ts_ms": st.integers() | st.none()},
    )
)
def test_any_event_is_stored_as_it_is_or_refused_with_a_sentence(ada, as_admin, event):
    with transaction.atomic(using=DB):
        try:
            data = orjson.dumps(event | {"allow_tool_output": True})
        except TypeError:  # an integer that JSON of 64 bits does not hold
            data = b'{"ts_ms": 123456789012345678901234567890}'
        answer = as_admin.post(URL, data, content_type="application/json")
        if answer.status_code == 201:
            scope = orjson.loads(as_admin.get(f"{URL}/scopes").content)["items"][0]["scope"]
            (item,) = as_admin.get(URL, {"scope": event["scope"], "include_payload": True}).json()["items"]
            assert item["scope"] == scope
            assert item["summary"] == event["summary"].strip()
            assert (item["payload"], item["refs"]) == (event["payload"], event["refs"])
            assert verification.verify(DB).faults == []
        else:
            assert answer.status_code in (400, 422)
            assert answer.json()["detail"]
            assert as_admin.get(f"{URL}/scopes").json()["items"] == []
        transaction.set_rollback(True, using=DB)
