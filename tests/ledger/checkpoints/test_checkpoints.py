"""Checkpoint packs: which records they cover, their contents, and that they stay the same."""

import json
import shlex

import orjson
import pytest

from artifacts.excerpts import content_fetch
from artifacts.excerpts.selectors import Selector
from gate import decisions
from ledger.checkpoints import compactions
from ledger.checkpoints.schemas import Pack
from openclaw_web.errors import Refused
from operations.checkpoints import services as checkpoints
from tests.factories import T0, DecisionFactory
from tests.homes import assistant, result, user
from tests.ledger.checkpoints.checkpoint_packs import SUMMARY, build_pack, compaction, make_records, sealed_text
from tests.ledger.outputs.stored_outputs import list_handles as stashed
from tests.ledger.outputs.stored_outputs import make_output
from tests.ledger.transcript_records import store_session

DB = "agent_ada"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store", "bob")]
HANDLE = "ocm_artifact:v1:sha256:" + "ab" * 32


def numbers(pack):
    return [turn["number"] for turn in pack["turns"]["items"]]


def names(pack, name, key):
    return [item[key] for item in pack[name]["items"]]


def test_it_works():
    pack = build_pack(store_session(*make_records()))
    Pack.model_validate(pack)
    assert (pack["agent"], pack["session"], pack["summary"]["text"]) == ("ada", {"id": "s1"}, SUMMARY)
    assert pack["compaction"] == {
        "record_id": "r14",
        "at": T0 + 14_000,
        "first_kept_record_id": "r12",
        "kept": "found",
        "previous_record_id": None,
        "context_before": 52_179,
        "context_after": None,
        "from_hook": False,
    }
    assert pack["part"] == {
        "first_record_id": "r1",
        "last_record_id": "r11",
        "record_count": 11,
        "withheld_count": 0,
        "turn_count": 2,
        "started_at": T0 + 1000,
        "ended_at": T0 + 11_000,
    }


def test_turns_say_who_said_what():
    first, second = build_pack(store_session(*make_records()))["turns"]["items"]
    assert (first["number"], first["words"], first["user_record_id"]) == (1, "Why does the import fail?", "r1")
    assert (first["last_record_id"], first["models"], first["calls"], first["failures"]) == ("r6", ["fake-gpt"], 3, 1)
    assert second["reply"] == "Done, but the notes could not be written."


def test_what_a_compaction_took_begins_after_a_reset():
    session = store_session(
        *make_records()[:4], {"type": "reset", "reason": "new"}, user("x"), assistant("y"), compaction("gone")
    )
    [selected] = compactions.find_compactions(session, "latest")
    part = compactions.find_part(selected)
    assert [seen.facts.text for seen in compactions.read_records(selected, part.first_seq, part.end_seq)] == ["x", "y"]


def test_files_come_from_calls_that_succeeded_and_from_the_compaction():
    pack = build_pack(store_session(*make_records()))
    assert names(pack, "files_read", "path") == ["AGENTS.md", "src/importer.py"]
    [edited] = pack["files_modified"]["items"]  # not notes.md: writing it failed
    assert edited == {"path": "src/importer.py", "calls": 1, "record_id": "r8", "turn": 2, "is_named": True}


def test_patched_files_are_modified():
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n*** Add File: c.py\n+x\n*** End Patch"
    long = patch.replace("-x\n", "-x\n" + "+y\n" * 6000)  # capped in the row, whole beside it
    pack = build_pack(
        store_session(
            user("x"),
            assistant("", ("c1", "apply_patch", {"input": long})),
            result("c1", "ok"),
            user("y"),
            compaction("r4"),
        )
    )
    assert names(pack, "files_modified", "path") == ["a.py", "b.py", "c.py"]


def test_calls_without_a_result_are_open():
    [call] = build_pack(store_session(*make_records()))["open_calls"]["items"]
    assert (call["tool"], call["argument"], call["record_id"], call["number"]) == ("exec", "sleep 9", "r4", 1)
    assert call["answered_by"] is None


def test_what_was_kept_may_answer_a_call_and_put_an_error_right():
    session = store_session(
        user("x"),
        assistant("", ("c1", "exec", {"command": "make"})),
        result("c1", "error: no", details={"exitCode": 1}),
        assistant("", ("c2", "read", {"path": "a"}), ("c3", "exec", {"command": "make"})),
        result("c2", "a"),
        result("c3", "ok"),
        compaction("r5"),
    )
    pack = build_pack(session)
    assert names(pack, "open_calls", "answered_by") == ["r5", "r6"]
    assert names(pack, "open_errors", "put_right_by") == ["r6"]
    assert names(pack, "files_read", "path") == ["a"]


def test_errors_are_open_until_the_same_call_succeeds():
    call = ("exec", {"command": "make"})
    records = [
        user("x"),
        assistant("", ("c1", *call)),
        result("c1", "all good\nfatal error: no rule\nbye", details={"exitCode": 2}),
        assistant("", ("c2", *call)),
        result("c2", "error: again", details={"exitCode": 2}),
    ]
    mended = [assistant("", ("c3", *call)), result("c3", "ok")]
    [error] = build_pack(store_session(*records, user("y"), compaction("r6")))["open_errors"]["items"]
    assert (error["text"], error["count"], error["exit_code"], error["argument"]) == ("error: again", 2, 2, "make")
    assert (
        build_pack(store_session(*records, *mended, user("y"), compaction("r8"), session_id="s2"))["open_errors"][
            "items"
        ]
        == []
    )


def test_a_model_that_failed_is_an_error_until_it_answers():
    failed = assistant("")
    failed["message"] |= {"stopReason": "error", "errorMessage": "overloaded"}
    [error] = build_pack(store_session(user("x"), failed, user("y"), compaction("r3")))["open_errors"]["items"]
    assert (error["kind"], error["text"]) == ("model", "overloaded")
    session = store_session(user("x"), failed, assistant("ok"), user("y"), compaction("r4"), session_id="s2")
    assert build_pack(session)["open_errors"]["items"] == []


def test_decisions_are_those_that_say_so():
    session = store_session(
        user("Decision: what a person says is no decision of the agent"),
        assistant("**Decided:** use zstd\n- 决定：保留原始文件\nundecided: no\nThe decision: no"),
        {"type": "label", "label": "chosen", "targetId": "r2"},
        {"type": "custom", "customType": "episodic.decision", "data": {"summary": "ship it"}},
        {"type": "custom", "customType": "cache-ttl", "data": {"summary": "no"}},
        user("y"),
        compaction("r6"),
    )
    items = [(item["source"], item["text"], item["record_id"]) for item in build_pack(session)["decisions"]["items"]]
    assert items == [
        ("answer", "use zstd", "r2"),
        ("answer", "保留原始文件", "r2"),
        ("label", "chosen", "r3"),
        ("event", "ship it", "r4"),
        ("summary", "**Keep JSONL raw**: needed for re-import", "r7"),
    ]


def test_decisions_of_the_gate_are_added_by_who_knows_them():
    session = store_session(*make_records())
    columns = {"session_id": "s1", "created_at": T0 + 5000}
    DecisionFactory(id="d1", turn_id="s1:r1", candidate_fact="prefers zstd", **columns)
    DecisionFactory(turn_id="s1:r12", candidate_fact="of a turn that was kept", **columns)
    DecisionFactory(id="d2", turn_id=None, candidate_fact="of that time", **columns)
    DecisionFactory(turn_id="s1:r1", decision="NO_WRITE", **columns)
    DecisionFactory(turn_id="s1:r1", candidate_fact="later", session_id="s1", created_at=T0 + 99_000)
    DecisionFactory(turn_id="s2:r1", candidate_fact="of another session", session_id="s2")
    items = build_pack(session, sources=[decisions.read_for_checkpoints])["decisions"]["items"]
    texts = [(item["text"], item["record_id"]) for item in items if item["source"] == "memory_gate"]
    assert texts == [("UPDATE_USER: prefers zstd", "r1"), ("UPDATE_USER: of that time", None)]
    assert names(build_pack(session), "decisions", "source") == ["answer", "summary"]


def test_outputs_have_handles_and_the_command_that_fits():
    big = json.dumps({"next": None, "items": [{"id": number} for number in range(400)]})
    page = "<!doctype html><title>A page</title>" + "<p>x</p>" * 400
    session = store_session(
        user("x"),
        assistant("", *((f"c{number}", "exec", {}) for number in range(4))),
        result("c0", big),
        result("c1", make_output(400), details={"exitCode": 0}),
        result("c2", make_output(400, needle="fatal error: truncated"), details={"exitCode": 2}),
        result("c3", page),
        user("y"),
        compaction("r7"),
    )
    pack = build_pack(session)
    assert names(pack, "artifacts", "handle") == stashed()
    expected = [("jsonpath", "$.items[:3]"), ("tail", ""), ("grep", ""), ("headtail", "")]
    for item, (mode, path) in zip(pack["artifacts"]["items"], expected, strict=True):
        words = shlex.split(item["fetch"])
        assert words[:4] == ["openclaw-web", "artifact", "fetch", item["handle"]] and words[-2:] == ["--agent", "ada"]
        assert words[words.index("--mode") + 1] == mode and (not path or path in words)
        options = dict(zip(words[4:-2:2], words[5:-2:2], strict=False))
        arguments = {name: options[f"--{name}"] for name in ("mode", "pattern", "path") if f"--{name}" in options}
        ignore_case = "--ignore-case" in words
        assert content_fetch.fetch(
            DB, item["handle"], Selector(max_chars=2000, ignore_case=ignore_case, **arguments)
        ).text


def test_mentions_count_as_well_wherever_they_stand():
    [first] = stashed_once()
    session = store_session(
        user(f"look at {first}"),
        assistant("", ("c1", "exec", {"command": f"openclaw-web artifact fetch\n{HANDLE}"})),
        result("c1", "x" * 7000 + "\n" + "y" * 900 + "ocm_artifact:v1:sha256:" + "cd" * 30),
        user("z"),
        compaction("r4"),
        session_id="s2",
    )
    known, unknown = build_pack(session)["artifacts"]["items"]
    assert (known["handle"], known["relation"], known["lines"]) == (first, "mentioned", 400)
    assert (unknown["handle"], unknown["bytes"], unknown["summary"]) == (HANDLE, None, "")


def stashed_once():
    store_session(user("x"), assistant("", ("c1", "exec", {})), result("c1", make_output(400)))
    return stashed()


class TestParts:
    def test_several_compactions_share_the_records_between_them(self):
        session = store_session(
            user("1"), assistant("1"), user("2"), assistant("2"), compaction("r3"),
            user("3"), assistant("3"), compaction("r6"), user("4"), compaction("r9"),
        )  # fmt: skip
        assert [numbers(build_pack(session, which)) for which in ("r5", "r8", "r10")] == [[1], [2], [3]]
        assert build_pack(session, "r8")["compaction"]["previous_record_id"] == "r5"
        assert [each.record_id for each in compactions.find_compactions(session, "all")] == ["r5", "r8", "r10"]
        assert build_pack(session)["compaction"]["record_id"] == "r10"

    @pytest.mark.parametrize(("kept_id", "state"), [("gone", "missing"), (None, "unknown"), (7, "unknown")])
    def test_without_a_usable_kept_record_it_goes_up_to_the_compaction(self, kept_id, state):
        session = store_session(user("1"), assistant("1"), compaction(kept_id), user("2"), compaction("r4"))
        first = build_pack(session, "r3")
        assert (numbers(first), first["compaction"]["kept"]) == ([1], state)
        assert numbers(build_pack(session, "r5")) == []  # nothing between the first one and what the second kept

    def test_a_compaction_that_kept_everything_took_nothing(self):
        pack = build_pack(store_session(user("1"), compaction("r1")))
        assert (pack["part"]["record_count"], pack["part"]["first_record_id"]) == (0, None)
        Pack.model_validate(pack)

    def test_a_turn_that_was_split_goes_on_in_the_next_part(self):
        session = store_session(
            user("1"), assistant("a"), assistant("b"), compaction("r3"), user("2"), compaction("r5")
        )
        [turn] = build_pack(session, "r6")["turns"]["items"]
        assert (turn["number"], turn["is_continued"], turn["words"], turn["reply"]) == (1, True, "", "b")

    def test_each_branch_has_its_own(self):
        session = store_session(
            user("1"), assistant("1"),
            user("left"), assistant("left"), compaction("r4"),
            user("2") | {"parentId": "r2"}, assistant("2"), compaction("r7"),
        )  # fmt: skip
        abandoned, active = build_pack(session, "r5"), build_pack(session, "r8")
        assert [turn["words"] for turn in abandoned["turns"]["items"]] == ["1", "left"]
        assert [turn["words"] for turn in active["turns"]["items"]] == ["1", "2"]
        assert active["compaction"]["previous_record_id"] is None

    def test_a_kept_record_of_another_branch_is_missing(self):
        session = store_session(user("1"), user("2"), user("3") | {"parentId": "r1"}, compaction("r2"))
        assert build_pack(session)["compaction"]["kept"] == "missing"

    def test_a_pack_stays_the_same_when_its_branch_is_left(self):
        records = [user("1"), assistant("1"), user("2"), assistant("2"), compaction("r3")]
        before = sealed_text(store_session(*records))
        session = store_session(*records, user("other") | {"parentId": "r2"}, assistant("other"))
        assert not session.events.get(seq=4).is_active
        assert sealed_text(session, "r5") == before

    def test_without_a_compaction_there_is_none(self):
        with pytest.raises(Refused, match="no compaction"):
            build_pack(store_session(user("1")))
        with pytest.raises(Refused, match="no compaction with that id"):
            build_pack(store_session(user("1"), compaction("r1"), session_id="s2"), "r1")


class TestWithheld:
    def opted_out(self, *more):
        def mei(words):
            return user(words, __openclaw={"senderId": "mei"})

        def ann(words):
            return user(words, __openclaw={"senderId": "ann"})

        return store_session(
            ann("public question"), assistant("public answer"),
            mei("my secret plan"), assistant("about the plan", ("c1", "write", {"path": "plan.md"})), result("c1"),
            ann("next"), compaction("r6", summary="mei has a plan", details={"modifiedFiles": ["plan.md"]}),
            *more, opted_out=["mei"],
        )  # fmt: skip

    def test_nothing_of_theirs_is_in_it(self):
        pack = build_pack(self.opted_out())
        assert "plan" not in orjson.dumps(pack).decode()
        assert pack["summary"] == {"text": "", "length": 0, "is_withheld": True}
        assert (pack["part"]["withheld_count"], pack["turns"]["items"][0]["words"]) == (3, "public question")
        assert "withheld" in pack["bundle"]["text"]

    def test_decisions_that_only_a_time_connects_are_left_out(self):
        DecisionFactory(turn_id=None, session_id="s1", candidate_fact="mei's plan", created_at=T0 + 3000)
        DecisionFactory(turn_id="s1:r3", session_id="s1", candidate_fact="mei's plan", created_at=T0 + 3000)
        assert "plan" not in orjson.dumps(build_pack(self.opted_out(), sources=checkpoints.SOURCES)).decode()

    def test_a_later_summary_may_go_on_from_theirs(self):
        session = self.opted_out(assistant("public"), user("later"), assistant("x"))
        session.events.filter(seq=6).update(kind="custom")  # as if it had been collected before anybody opted out
        later = store_session(
            user("more") | {"id": "n1", "parentId": "r10"},
            compaction("n1", summary="still about mei") | {"id": "n2", "parentId": "n1"},
        )
        pack = build_pack(later, "n2")
        assert (pack["summary"]["is_withheld"], pack["summary"]["text"]) == (True, "")
