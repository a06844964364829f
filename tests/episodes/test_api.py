"""Episodes over the API: append, redaction, retention and proof."""

import time

import pytest

from episodes import retention
from episodes.models import EpisodeHead, EpisodicEvent
from people.models import AuditEntry
from tests.episodes.api_requests import URL, fill_ledger, get, list_ids, make_event, post, post_batch
from tests.factories import T0

pytestmark = pytest.mark.django_db


def rows():
    return EpisodicEvent.objects.using("agent_ada")


@pytest.fixture
def events(ada, as_operator):
    """A browser of an operator, with ten events."""
    return fill_ledger(as_operator)


class TestAppend:
    def test_an_event_is_stored_once(self, ada, as_operator):
        answer = post(as_operator, **make_event(scope="The Kitchen"))
        assert (answer.status_code, answer.json()) == (201, {"event_id": "e1", "is_new": True})
        row = rows().get()
        assert (row.scope, row.ts_ms, row.payload, row.refs) == ("the-kitchen", T0 + 1, {"n": 1}, {"memory_ids": [1]})
        again = post(as_operator, **make_event(scope="The Kitchen"))
        assert (again.status_code, again.json()) == (200, {"event_id": "e1", "is_new": False})
        assert rows().count() == 1

    def test_id_and_time_are_given_to_an_event_without(self, ada, as_operator):
        answer = post(as_operator, **make_event(event_id=None, ts_ms=None))
        row = rows().get()
        assert answer.json() == {"event_id": row.event_id, "is_new": True}
        assert len(row.event_id) == 36
        assert abs(row.ts_ms - time.time() * 1000) < 60_000

    def test_names_of_the_spec_are_understood(self, ada, as_operator):
        event = {"eventId": "e1", "tsMs": T0, "scope": "a", "sessionId": "s", "agentId": "x", "type": "ops.alert"}
        assert post(as_operator, **event, summary="S").status_code == 201
        assert post_batch(as_operator, event | {"summary": "S"}).json() == {"new": [], "known": ["e1"]}

    def test_another_event_with_the_same_id_is_refused(self, ada, as_operator):
        post(as_operator, **make_event())
        for other in ({"summary": "Else"}, {"scope": "garden"}, {"ts_ms": T0}, {"payload": None}):
            assert post(as_operator, **make_event(**other)).status_code == 409
        assert rows().get().summary == "Summary 1"

    @pytest.mark.parametrize(
        ("wrong", "name"),
        [
            ({"scope": ""}, "scope"),
            ({"scope": "///"}, "scope"),
            ({"scope": "\u202e"}, "scope"),
            ({"scope": None}, "scope"),
            ({"scope": "x" * 300}, "scope"),
            ({"event_id": "'; DROP TABLE episodic_events; --"}, "event_id"),
            ({"event_id": "\u202eabc"}, "event_id"),
            ({"event_id": "x" * 129}, "event_id"),
            ({"session_id": " "}, "session_id"),
            ({"session_id": "a\0b"}, "session_id"),
            ({"agent_id": 7}, "agent_id"),
            ({"type": "<script>"}, "type"),
            ({"type": "ops.Alert"}, "type"),
            ({"summary": ""}, "summary"),
            ({"summary": " \n"}, "summary"),
            ({"summary": "x" * 1_001}, "summary"),
            ({"summary": "a\0b"}, "summary"),
            ({"ts_ms": 0}, "ts_ms"),
            ({"ts_ms": "1771642800000"}, "ts_ms"),
            ({"ts_ms": 253_402_300_800_000}, "ts_ms"),
            ({"ts_ms": True}, "ts_ms"),
            ({"payload": "x" * 8_191}, "payload"),
            ({"refs": ["x" * 4_096]}, "refs"),
            ({"summary": "Key sk-Xq9zR4mLw8Kd7TbY3cVn5sPj"}, "summary"),
            ({"summary": "Ring 13812345678 at once"}, "allow_tool_output"),
            ({"type": "tool.call"}, "allow_tool_output"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_what_cannot_be_is_refused_with_a_sentence(self, ada, as_operator, wrong, name):
        answer = post(as_operator, **make_event(**wrong))
        assert answer.status_code in (400, 422)
        assert name in answer.json()["detail"]
        assert "--" not in answer.json()["detail"]
        assert not rows().exists()

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b'{"scope": "\\ud800"}', 400),
            (b'{"summary": "\xff"}', 400),
            (b"[" * 100_000, 400),
            (b'{"payload": ' + b"[" * 200 + b"]" * 200 + b"}", 422),
            (b"x" * 10_000_000, 413),
            (b'{"payload": NaN}', 400),
            (b"[]", 400),
        ],
    )
    def test_bodies_that_are_no_events_are_refused(self, ada, as_operator, body, status):
        answer = as_operator.post(URL, body, content_type="application/json")
        assert answer.status_code == status
        assert answer.json()["detail"].endswith(".")
        assert not rows().exists()

    def test_deep_payloads_are_refused(self, ada, as_operator):
        payload = []
        for _level in range(100):
            payload = [payload]
        answer = post(as_operator, **make_event(payload=payload))
        assert (answer.status_code, "deeper" in answer.json()["detail"]) == (400, True)
        assert not rows().exists()

    def test_texts_of_every_kind_come_back_as_they_were(self, ada, as_operator):
        text = "'; DROP TABLE x; -- <script>alert(1)</script> \u202eRTL 面包 😀"
        assert post(as_operator, **make_event(summary=text, payload=[text], refs={"t": text})).status_code == 201
        (item,) = get(as_operator, scope="kitchen", include_payload=True).json()["items"]
        assert (item["summary"], item["payload"], item["refs"]) == (text, [text], {"t": text})

    def test_tool_output_is_stored_when_allowed(self, ada, as_operator):
        assert post(as_operator, **make_event(type="tool.result", allow_tool_output=True)).status_code == 201

    def test_a_batch_is_stored_whole(self, ada, as_operator):
        answer = post_batch(as_operator, *map(make_event, range(1_000)))
        assert (answer.status_code, len(answer.json()["new"])) == (201, 1_000)
        again = post_batch(as_operator, *map(make_event, range(999, 1_001)))
        assert again.json() == {"new": ["e1000"], "known": ["e999"]}

    @pytest.mark.parametrize(
        ("wrong", "status"), [({"summary": " "}, 400), ({"type": "tool.call"}, 400), ({"event_id": "e0"}, 409)]
    )
    def test_a_batch_with_a_bad_event_is_refused_whole(self, ada, as_operator, wrong, status):
        post(as_operator, **make_event(0))
        answer = post_batch(as_operator, make_event(1), make_event(2), make_event(3, **wrong))
        (reason,) = answer.json()["reasons"]
        assert (answer.status_code, reason["id"]) == (status, 2)
        assert reason["reason"] in answer.json()["detail"]
        assert rows().count() == 1

    def test_a_single_bad_event_of_a_batch_is_named(self, ada, as_operator):
        post(as_operator, **make_event(0))
        answer = post_batch(as_operator, make_event(0, summary="Else"))
        assert (answer.status_code, answer.json()["reasons"][0]["id"]) == (409, 0)

    def test_a_malformed_event_of_a_batch_is_named(self, ada, as_operator):
        answer = post_batch(as_operator, make_event(1), make_event(2, ts_ms="soon"))
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["loc"] == ["body", "events", 1, "ts_ms"]
        assert not rows().exists()

    @pytest.mark.parametrize("count", [0, 1_001])
    def test_a_batch_has_1_to_1000_events(self, ada, as_operator, count):
        assert post_batch(as_operator, *map(make_event, range(count))).status_code == 422
        assert not rows().exists()

    def test_a_viewer_appends_nothing(self, ada, as_stranger):
        assert post(as_stranger, **make_event()).status_code == 403
        assert post_batch(as_stranger, make_event()).status_code == 403


class TestRedact:
    def test_a_preview_changes_nothing(self, events):
        answer = post(events, "/redact", scope="Kitchen", session_id="s1")
        assert answer.json() == {
            "scope": "kitchen", "event_id": None, "session_id": "s1", "replacement": "placeholder", "dry_run": True,
            "redacted_count": 3,
        }  # fmt: skip
        assert not rows().filter(redacted=1).exists()

    @pytest.mark.parametrize(("replacement", "payload"), [("null", None), ("placeholder", "[REDACTED]")])
    def test_a_session_is_redacted_once_within_its_scope(self, events, replacement, payload):
        body = {"scope": "kitchen", "session_id": "s1", "replacement": replacement, "dry_run": False}
        assert [post(events, "/redact", **body).json()["redacted_count"] for _ in range(2)] == [3, 0]
        page = get(events, "/replay/s1", scope="kitchen", include_payload=True).json()
        texts = {(item["summary"], item["payload"], item["refs"], item["redacted"]) for item in page["items"]}
        assert texts == {("[REDACTED]", payload, None, True)}
        assert rows().get(event_id="other").redacted == 0
        assert list_ids(get(events, scope="kitchen", q="Summary 4")) == []
        assert AuditEntry.objects.get(action="episodes_redacted").actor == "otto"

    def test_a_redacted_event_does_not_come_back(self, events):
        post(events, "/redact", scope="kitchen", event_id="e1", dry_run=False)
        event = make_event(1, session_id="s1", type="conversation.assistant", agent_id="actor1")
        assert post(events, **event).json() == {"event_id": "e1", "is_new": False}
        assert get(events, scope="kitchen", limit=1).json()["items"][0]["summary"] == "[REDACTED]"

    def test_another_scope_is_not_reached(self, events):
        answer = post(events, "/redact", scope="kitchen", event_id="other", dry_run=False)
        assert answer.json()["redacted_count"] == 0
        assert not rows().filter(redacted=1).exists()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"event_id": "e1"},
            {"scope": "kitchen"},
            {"scope": "kitchen", "event_id": "e1", "session_id": "s1"},
            {"scope": "//", "event_id": "e1"},
            {"scope": "kitchen", "event_id": "e1", "replacement": "blank"},
        ],
    )
    def test_what_names_no_events_is_refused(self, events, wrong):
        answer = post(events, "/redact", **wrong, dry_run=False)
        assert answer.status_code in (400, 422)
        assert "--" not in answer.json()["detail"]
        assert not rows().filter(redacted=1).exists()

    def test_a_viewer_redacts_nothing(self, events, as_stranger):
        assert post(as_stranger, "/redact", scope="kitchen", event_id="e1", dry_run=False).status_code == 403


class TestRetention:
    def test_a_run_removes_old_events_of_its_scope(self, ada, as_admin):
        post_batch(as_admin, make_event(1), make_event(2, type="ops.decision"), make_event(3, ts_ms=None))
        post(as_admin, **make_event(4, scope="garden"))
        preview = post(as_admin, "/gc", scope="kitchen").json()
        assert (preview["dry_run"], preview["deleted_total"], rows().count()) == (True, 1, 4)
        receipt = post(as_admin, "/gc", scope="kitchen", dry_run=False).json()
        assert receipt["deleted_by_type"]["conversation.user"] == receipt["deleted_total"] == 1
        assert (receipt["policy_days"]["conversation.user"], receipt["policy_days"]["ops.decision"]) == (60, None)
        assert list_ids(get(as_admin, scope="kitchen"))[:2] == ["e2", "e3"]
        assert list_ids(get(as_admin, scope="garden")) == ["e4"]

    def test_a_policy_of_a_request_stands_before_that_of_the_scope(self, ada, as_admin):
        post(as_admin, **make_event(1))
        assert post(as_admin, "/policy", scope="Kitchen", policy={"conversation.user": None}).status_code == 200
        assert post(as_admin, "/gc", scope="kitchen").json()["deleted_total"] == 0
        assert post(as_admin, "/gc", scope="kitchen", policy={"conversation.user": 1}).json()["deleted_total"] == 1

    def test_a_policy_is_of_one_scope(self, ada, as_admin):
        answer = post(as_admin, "/policy", scope="Kitchen", policy={"tool.call": 5, "ops.alert": None})
        policy = retention.DEFAULT_DAYS | {"tool.call": 5, "ops.alert": None}
        assert answer.json() == {"scope": "kitchen", "policy": policy}
        assert get(as_admin, "/policy", scope="kitchen").json()["policy"] == policy
        assert get(as_admin, "/policy", scope="garden").json()["policy"] == retention.DEFAULT_DAYS

    @pytest.mark.parametrize("days", [0, -1, 36_501, "7", True, 1.5])
    @pytest.mark.parametrize("path", ["/gc", "/policy"])
    def test_days_are_1_to_36500(self, ada, as_admin, path, days):
        assert post(as_admin, path, scope="kitchen", policy={"tool.call": days}).status_code == 422
        assert post(as_admin, path, scope="kitchen", policy={"tool.nonsense": 1}).status_code == 422

    def test_retention_is_for_admins(self, events):
        assert post(events, "/gc", scope="kitchen").status_code == 403
        assert post(events, "/policy", scope="kitchen", policy={"tool.call": 5}).status_code == 403


class TestProof:
    def test_a_head_is_noted_when_it_is_given_out(self, events, as_stranger):
        head = get(events, "/head").json()
        assert (head["last_id"], head["head"].partition(":")[0]) == (10, "10")
        assert not EpisodeHead.objects.using("agent_ada").exists()
        assert post(events, "/head").json() == head
        row = EpisodeHead.objects.using("agent_ada").get()
        assert (str(row), row.destination) == (head["head"], "API")
        assert AuditEntry.objects.filter(action="episodes_head", object_id="10").exists()
        assert get(as_stranger, "/head").status_code == 403

    def test_an_empty_ledger_has_a_head(self, ada, as_operator):
        assert get(as_operator, "/head").json()["last_id"] == 0
        assert post(as_operator, "/head").status_code == 200

    def test_verification_is_a_job(self, events):
        head = post(events, "/head").json()["head"]
        answer = post(events, "/verify", heads=[{"name": "noon", "head": head}])
        assert (answer.status_code, answer.json()["kind"]) == (202, "episodes_verify")
        job = events.get(f"/api/v1/operations/jobs/{answer.json()['id']}").json()
        assert job["params"] == {"agent": "ada", "heads": [["noon", head]]}
        assert post(events, "/verify").status_code == 202

    def test_a_text_that_is_no_head_is_refused(self, events):
        answer = post(events, "/verify", heads=[{"name": "noon", "head": "12"}])
        assert answer.status_code == 400
        assert "hexadecimal" in answer.json()["detail"]
