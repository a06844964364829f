"""Artifacts in the API: stash, stash by the adoption rule, list, excerpts, download, remove."""

import base64

import orjson
import pytest

from artifacts import services
from artifacts.models import Artifact
from ledger.checkpoints import pack
from people.models.bookkeeping import AuditEntry
from tests.artifacts.test_artifact_detail import DB, HOSTILE, LINES, build_path, stash
from tests.openclaw_web.test_api import bearer

ADA = "/api/v1/agents/ada/artifacts"
pytestmark = pytest.mark.django_db


def send(browser, body, address=ADA, **headers):
    return browser.post(address, orjson.dumps(body), "application/json", headers=headers)


class TestStashing:
    def test_it_works(self, boss):
        place = {"session_id": "s1", "turn_id": "s1:u1", "record_id": "r1", "tool": "exec", "tool_call_id": "c1"}
        answer = send(boss, {"text": "one\ntwo\n", "kind": "note", "meta": {"a": 1}, "exit_code": 3, **place})
        result = answer.json()
        assert answer.status_code == 200
        names = ("schema", "stashed", "bytes", "kind", "meta", "isNew", "compression", "summary", "preview")
        assert [result[name] for name in names] == [
            *("openclaw-mem.artifact.stash.v1", True, 8, "note", {"a": 1}, True, "none"),
            *("text · 8 bytes · 2 lines · exit code 3", "one\ntwo\n"),
        ]
        row = Artifact.objects.using(DB).get()
        assert {name: getattr(row, name) for name in place} == place
        assert row.handle == result["handle"]
        entry = AuditEntry.objects.get(action="stashed")
        assert (entry.actor, entry.via, entry.object_id, entry.agent_id) == ("root", "api", row.handle, "ada")

    def test_nothing_is_passed_off_as_a_checkpoint(self, boss):
        answer = send(boss, {"text": "{}", "kind": pack.KIND, "session_id": "s1"})
        assert (answer.status_code, "created from records" in answer.json()["detail"]) == (422, True)
        assert not Artifact.objects.using(DB).exists()

    def test_twice_is_once(self, boss):
        first, second = (send(boss, {"text": "x", "session_id": "s"}).json() for _ in range(2))
        assert (first["isNew"], second["isNew"]) == (True, False)
        assert Artifact.objects.using(DB).count() == 1

    @pytest.mark.parametrize("content", [content for content in HOSTILE if isinstance(content, bytes)])
    def test_bytes(self, boss, content):
        result = send(boss, {"base64": base64.b64encode(content).decode(), "gzip": True}).json()
        assert (result["bytes"], result["compression"]) == (len(content), "gzip")
        assert boss.get(f"{ADA}/{result['sha256']}/content").getvalue() == content

    def test_by_the_rule(self, boss):
        small = send(boss, {"text": "it is fine", "auto": True, "exit_code": 0}).json()
        assert small == {
            "stashed": False,
            "bytes": 10,
            "lines": 1,
            "chars": 10,
            "contentType": "text/plain",
            "summary": "text · 10 bytes · 1 line · exit code 0",
        }
        assert not Artifact.objects.using(DB).exists()
        big = send(boss, {"text": LINES, "auto": True}).json()
        assert (big["stashed"], big["compression"]) == (True, "gzip")
        assert len(big["preview"]) <= 500
        assert send(boss, {"text": LINES, "auto": True, "injected": True}).json()["stashed"] is False
        assert send(boss, {"text": "<relevant-memories>" + LINES, "auto": True}).json()["stashed"] is False

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"text": "x", "base64": "eA=="},
            {"base64": "no base64!"},
            {"base64": "\u00e4"},
            {"text": "x", "kind": ""},
            {"text": "x", "kind": "k" * 101},
            {"text": "x", "meta": [1]},
            {"text": "x", "session_id": "s" * 501},
            {"text": "x", "exit_code": 2**40},
            {"text": 7},
        ],
    )
    def test_what_does_not_fit_is_said(self, boss, body):
        answer = send(boss, body)
        assert answer.status_code == 422
        assert answer.json()["code"] == "invalid"
        assert not Artifact.objects.using(DB).exists()

    @pytest.mark.parametrize("body", [{"text": "x", "meta": {"a": "b" * 9000}}, {"text": "x", "kind": "a\u202eb"}])
    def test_what_the_store_refuses_is_said(self, boss, body):
        assert send(boss, body).status_code == 409

    def test_half_a_character_is_refused(self, boss):
        assert boss.post(ADA, b'{"text": "\\ud800"}', "application/json").status_code == 400

    def test_a_body_over_the_limit_is_refused(self, boss):
        answer = send(boss, {"text": "x" * 6_000_000})
        assert (answer.status_code, answer.json()["code"]) == (413, "too_big")

    def test_a_full_disk_leaves_nothing(self, boss, monkeypatch):
        def full(*args, **kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        assert send(boss, {"text": "x"}).status_code == 409
        assert not Artifact.objects.using(DB).exists()

    def test_a_key_makes_it_once(self, boss):
        answers = [send(boss, {"text": "x"}, **{"Idempotency-Key": "k"}) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        assert answers[1]["Idempotency-Replayed"] == "true"

    def test_a_token_of_an_operator_may(self, client, admin):
        for role, status in (("operator", 200), ("labeller", 403)):
            assert send(client, {"text": "x"}, **bearer(admin, role)).status_code == status


class TestList:
    def test_it_works(self, client):
        stash("one")
        row = stash("a token", session_id="s1", tool="exec")
        items = client.get(ADA).json()["items"]
        assert items[0]["handle"] == row.handle
        fields = {
            name: items[0][name] for name in ("summary", "session_id", "tool", "uses", "is_flagged", "secret_kinds")
        }
        assert fields == {
            "summary": "text · 7 bytes · 1 line",
            "session_id": "s1",
            "tool": "exec",
            "uses": 1,
            "is_flagged": True,
            "secret_kinds": ["token"],
        }

    def test_every_use(self, client):
        _first, _second, last = (stash("x", session_id=f"s{n}") for n in range(3))
        assert len(client.get(ADA).json()["items"]) == 1
        assert len(client.get(ADA, {"each": "true"}).json()["items"]) == 3
        answer = client.get(ADA, {"each": "true", "handle": last.handle, "format": "jsonl"})
        assert [orjson.loads(line)["uses"] for line in answer.getvalue().splitlines()] == [3, 3, 3]

    @pytest.mark.parametrize("query", ["sort=cost", "each=some", "content_type=x", "size=-1", "limit=0", "to_ts=x"])
    def test_what_does_not_fit_is_said(self, client, query):
        assert client.get(f"{ADA}?{query}").status_code == 422


class TestReading:
    def test_peek(self, client):
        row = stash(LINES)
        for name in (row.handle, row.sha256):
            result = client.get(f"{ADA}/{name}").json()
            assert (result["schema"], result["handle"]) == ("openclaw-mem.artifact.peek.v1", row.handle)
            assert len(result["preview"]) == result["previewChars"] == 500
        assert len(client.get(f"{ADA}/{row.handle}", {"previewChars": 20}).json()["preview"]) == 20
        assert client.get(f"{ADA}/{row.handle}", {"preview_chars": 801}).status_code == 422

    def test_going_on_gives_everything_once(self, client):
        row = stash(LINES)
        seen, query = "", {"mode": "head"}
        while query:
            result = client.get(f"{ADA}/{row.handle}/fetch", query).json()
            assert result["schema"] == "openclaw-mem.artifact.fetch.v1"
            seen, query = seen + result["text"], result["next"]
        assert seen == LINES

    @pytest.mark.parametrize(
        ("query", "text"),
        [
            ({"mode": "range", "lines": "2:2"}, "line 2: something was read here\n"),
            (
                {"mode": "grep", "pattern": "LINE 2000", "ignoreCase": "true"},
                "2000:line 2000: something was read here\n",
            ),
            ({"mode": "tail", "maxChars": 5}, "here\n"),
        ],
    )
    def test_modes(self, client, query, text):
        assert client.get(f"{ADA}/{stash(LINES).handle}/fetch", query).json()["text"] == text

    def test_more_needs_a_reason(self, client):
        address = f"{ADA}/{stash(LINES).handle}/fetch"
        assert client.get(address, {"max_chars": 9000}).status_code == 409
        assert len(client.get(address, {"max_chars": 9000, "reason": "all of it"}).json()["text"]) == 9000
        assert client.get(address, {"max_chars": 20001, "reason": "x"}).status_code == 422
        assert AuditEntry.objects.get(action="fetched").via == "api"

    @pytest.mark.parametrize("content", HOSTILE)
    def test_whatever_it_holds_comes_as_json(self, client, content):
        row = stash(content)
        for end in ("", "/fetch"):
            answer = client.get(f"{ADA}/{row.handle}{end}")
            assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (200, "application/json")

    @pytest.mark.parametrize("end", ["", "/fetch", "/content"])
    def test_what_is_no_artifact(self, client, end):
        bobs = services.stash("agent_bob", "bob's")[0].handle
        for name in (bobs, "0" * 64, "A" * 64, "ocm_artifact:v1:sha256:" + "\uff10" * 64, "x", "%2e%2e%2fx", "a%00"):
            answer = client.get(f"{ADA}/{name}{end}")
            assert answer.status_code == 404
            assert answer.json()["code"] == "not_found"

    @pytest.mark.parametrize("end", ["", "/fetch", "/content"])
    def test_what_is_gone_or_damaged(self, client, end):
        row = stash("x")
        build_path(row).write_text("y")
        assert client.get(f"{ADA}/{row.handle}{end}").status_code == 409
        build_path(row).unlink()
        answer = client.get(f"{ADA}/{row.handle}{end}")
        assert (answer.status_code, answer.json()["code"]) == (410, "gone")

    def test_opening_it_is_in_the_audit_log(self, client):
        row = stash("x")
        client.get(f"{ADA}/{row.sha256}/fetch")
        entry = AuditEntry.objects.get(action="read")
        assert (entry.object_type, entry.object_id, entry.via) == ("artifact", row.handle, "api")

    def test_what_somebody_has_is_not_sent_again(self, client):
        address = f"{ADA}/{stash('x').handle}/fetch"
        mark = client.get(address)["ETag"]
        assert client.get(address, headers={"If-None-Match": mark}).status_code == 304


class TestChanging:
    def test_removing(self, client, boss):
        row = stash("x", session_id="s1")
        stash("x", session_id="s2")
        assert client.delete(f"{ADA}/{row.handle}").status_code == 403
        answer = boss.delete(f"{ADA}/{row.handle}", headers={"Idempotency-Key": "k"})
        assert answer.json() == {"schema": "openclaw-mem.artifact.rm.v1", "handle": row.handle, "references": 2}
        assert boss.delete(f"{ADA}/{row.handle}").status_code == 404
        assert boss.delete(f"{ADA}/{row.handle}", headers={"Idempotency-Key": "k"}).status_code == 200
        assert AuditEntry.objects.filter(action="artifact_removed").count() == 1

    def test_verifying(self, boss):
        row = stash("x")
        address = f"{ADA}/{row.sha256}/verify"
        assert send(boss, {}, address).json()["sound"] == 1
        build_path(row).write_text("y")
        assert send(boss, {}, address).json()["problems"][0]["id"] == row.handle
