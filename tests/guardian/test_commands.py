"""`openclaw-web reflection guardian`: its output for a person in a terminal and for programs."""

from base64 import b64decode
from functools import partial

import orjson
import pytest

from guardian.corrections import correction_store
from guardian.models import BehaviorCorrection, GuardianStatus, Rollback, WriteGuardianAudit
from tests import factories
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.write_rows import T0, create_write
from tests.suite import commands

DB = "agent_ada"
pytestmark = pytest.mark.django_db
guardian = partial(commands.read_answer, "guardian")


@pytest.fixture
def writes(ada):
    """Three writes a second apart, the last one refused, and one to another file."""
    factories.SessionFactory(id="s1", session_key="agent:ada:irc:x")
    create_write(DB, 1, None, b"tea\n"), create_write(DB, 2, b"tea\n", b"coffee `\x1b[31m\n")
    columns = {"session_id": "s2", "target_file": "MEMORY.md", "candidate_fact": "A password."}
    WriteGuardianAudit.objects.using(DB).create(
        id="w3", status="refused", reason="Secret.", created_at=T0 + 3000, **columns
    )
    create_write(DB, 4, None, b"x\n", target_file="USER.md", candidate_fact="Lives in Oslo.")


def ids(text):
    return [row["id"] for row in orjson.loads(text)["writes"]]


def test_a_list_in_words(writes):
    out, _status = guardian("list", "-d")
    for word in ("refused", "A password. | Secret.", "+1 −0", "USER.md", "+coffee", "2026-02-02 02:40:03 UTC"):
        assert word in out
    assert "\x1b" not in out and "+coffee" not in guardian("list")[0]
    assert orjson.loads(guardian("list", "-d", "--json", "-f", "USER.md")[0])["writes"][0]["diff"].endswith("+x\n")


def test_one_write_is_shown(writes):
    out, _status = guardian("show", "w2")
    assert "session: s1" in out and "-tea" in out and "\x1b" not in out and "plugin" in out
    assert orjson.loads(guardian("show", "w2", "--json")[0])["write"]["hunks"]
    out, status = guardian("show", "nothing")
    assert status == 3 and "has no write nothing" in out


def test_what_it_changed_is_printed(writes):
    assert guardian("diff", "w1") == ("--- /dev/null\n+++ b/MEMORY.md\n@@ -0,0 +1,1 @@\n+tea\n", 0)
    out, status = guardian("diff", "w3")
    assert status == 3 and "is not known" in out


@pytest.mark.parametrize("words", [["MEMORY.md"], ["-f", "MEMORY.md"]])
def test_the_history_of_a_file(writes, words):
    events = orjson.loads(guardian("history", *words, "--json")[0])["events"]
    assert [event["audit"]["id"] for event in events if event["audit"]] == ["w3", "w2", "w1"]
    out, _status = guardian("history", *words, "-l", "1")
    assert "A password." in out and "w2" not in out


@pytest.mark.parametrize("kind", ["json", "csv", "markdown"])
def test_an_export_has_every_write_that_fits(writes, tmp_path, kind):
    file = tmp_path / "out"
    out, status = guardian("export", "--format", kind, "-f", "MEMORY.md", "--output", str(file), "--include-content")
    assert status == 0 and "3 writes exported" in out
    text = file.read_text("utf-8")
    if kind == "markdown":
        assert text.count("\n## ") == 2 and "- candidate_fact: ` A password. `" in text
        assert "````diff" not in text and "```diff\n--- a/MEMORY.md" in text and "### after_content" in text
        return
    rows = commands.parse_rows(text, kind)
    assert [row["id"] for row in rows] == ["w3", "w2", "w1"]
    assert rows[1]["before_content"] == "tea\n" and rows[1]["diff"].lstrip("'").startswith("--- a/MEMORY.md")
    assert "place" not in rows[0]


def test_nothing_that_others_told_reaches_a_terminal_as_it_is(ada):
    hostile = "x\x1b]0;owned\x07\u202e\nw9  fake"
    named = ("session_id", "candidate_fact", "reason", "llm_model", "turn_id", "decision_id")
    row = create_write(DB, 1, None, f"{hostile}\n".encode(), id=f"w1{hostile}", **dict.fromkeys(named, hostile))
    create_correction(row.id, apply_to_future=True, pattern="owned", by=hostile)
    GuardianStatus.objects.using(DB).filter(audit=row).update(given_by=hostile)
    invocations = (["list", "-d"], ["show", row.id], ["history", "MEMORY.md"], ["rules"], ["rules", "--check", hostile])
    for words in (*invocations, ["export", "--format", "markdown", "--include-content"]):
        out, status = guardian(*words, *(["--file", "USER.md"] if "--check" in words else []))
        assert status == 0 and "owned" in out and not set("\x1b\x07\u202e") & set(out), words
        assert words[0] == "export" or not [line for line in out.splitlines() if line.startswith("w9  fake")]


def test_contents_are_left_out_unless_asked_for(writes):
    rows = orjson.loads(guardian("export")[0])
    assert len(rows) == 4 and "after_content" not in rows[0] and "+x" in rows[0]["diff"]
    assert orjson.loads(guardian("export", "-s", "failed")[0]) == []


@pytest.fixture
def judged(ada, writes):
    """w1 was corrected twice and w2 rolled back; the second correction is a rule.

    The rule flags w4.
    """
    correction_store.correct_write(ada, "w1", status="refused", reason="Not for long.", by="mei")
    correction = {
        "status": "written",
        "fact": "Drinks tea.",
        "file": "USER.md",
        "reason": "For \x1bgood.",
        "by": "otto",
    }
    rule = correction_store.correct_write(ada, "w1", **correction, apply_to_future=True, pattern="likes tea")
    WriteGuardianAudit.objects.using(DB).filter(id="w4").update(rule_id=rule.id)
    columns = {"rolled_back_at": 5, "rolled_back_by": "eve", "reason": "Wrong.", "previous_status": "written"}
    Rollback.objects.using(DB).create(id="r2", audit_id="w2", **columns)


def test_what_people_said_of_a_write_is_shown(judged):
    out, _status = guardian("show", "w1")
    assert "corrected by mei: refused, MEMORY.md: Likes tea. | Not for long." in out
    assert "corrected by otto: written, USER.md: Drinks tea." in out and "\x1b" not in out
    corrections = orjson.loads(guardian("show", "w1", "--json")[0])["write"]["corrections"]
    assert [(correction["corrected_by"], correction["corrected_status"]) for correction in corrections] == [
        ("mei", "refused"),
        ("otto", "written"),
    ]
    assert corrections[1]["apply_to_future"] and corrections[1]["pattern"] == "likes tea"
    assert "a rule is about this fact: likes tea: For" in guardian("show", "w4")[0]
    assert ids(guardian("list", "--flagged", "--json")[0]) == ["w4"]


def test_what_people_did_goes_with_an_export(judged):
    rows = {row["id"]: row for row in orjson.loads(guardian("export")[0])}
    assert [correction["corrected_by"] for correction in rows["w1"]["corrections"]] == ["mei", "otto"]
    assert rows["w1"]["rollback"] is None and rows["w4"]["corrections"] == []
    assert (rows["w2"]["rollback"]["rolled_back_by"], rows["w2"]["rollback"]["reason"]) == ("eve", "Wrong.")
    rows = {row["id"]: row for row in commands.parse_rows(guardian("export", "--format", "csv")[0], "csv")}
    assert (rows["w1"]["corrected_by"], rows["w1"]["corrected_fact"]) == ("otto", "Drinks tea.")
    assert (rows["w2"]["rolled_back_by"], rows["w2"]["rollback_reason"]) == ("eve", "Wrong.")
    out, _status = guardian("export", "--format", "markdown")
    assert "- rolled_back_by: ` eve `" in out and "- corrected_fact: ` Drinks tea. `" in out


def test_contents_that_csv_changes_are_exact_in_base64(ada, tmp_path):
    create_write(DB, 1, b"plain\n", b"- a list\r\n\r=1+1\n")
    file = tmp_path / "out.csv"
    guardian("export", "--format", "csv", "--include-content", "--output", str(file))
    (row,) = commands.parse_rows(file.read_bytes().decode(), "csv")
    assert (row["before_content"], row["before_base64"]) == ("plain\n", "")
    assert row["after_content"].startswith("'- a list")
    assert b64decode(row["after_base64"]) == b"- a list\r\n\r=1+1\n"


def test_a_change_that_nobody_told_of_has_its_time_and_turns(ada):
    turn = factories.TurnFactory(id="s1:u1", session=factories.SessionFactory(id="s1"), created_at=T0 + 500)
    unattributed = {"origin": "unattributed", "status": "written", "target_file": "USER.md", "sources": 8}
    row = WriteGuardianAudit(id="u1", created_at=T0 + 1000, earliest_at=T0, **unattributed)
    row.save(using=DB)
    out, _status = guardian("show", "u1")
    assert "changed between 2026-02-02 02:40:00 UTC and 2026-02-02 02:40:01 UTC" in out
    assert f"turns in this time: {turn.id}" in out and "workspace" not in out
    WriteGuardianAudit.objects.using(DB).filter(id="u1").update(sources=2 | 32, earliest_at=None)
    out, _status = guardian("show", "u1")
    assert "from a workspace that no agent has" in out and "turns in this time" not in out
    assert orjson.loads(guardian("show", "u1", "--json")[0])["write"]["is_elsewhere"]


def test_diffs_of_a_list_end_where_they_end(writes):
    assert "    \n" not in guardian("list", "-d")[0]


def test_a_rule_says_what_it_does(judged, ada):
    out, _status = guardian("rules")
    assert "likes tea → Written, “Drinks tea.”, USER.md  (acted: 1, overruled: 0)" in out
    old = BehaviorCorrection.objects.using(DB).get(correction_pattern="likes tea")
    about = {name: getattr(old, name) for name in ("corrected_status", "correction_reason", "corrected_by", "audit_id")}
    more = [
        BehaviorCorrection(
            id=f"c{n}", original_status="written", apply_to_future=True, correction_pattern="x", corrected_at=n, **about
        )
        for n in range(500)
    ]
    BehaviorCorrection.objects.using(DB).bulk_create(more)
    assert guardian("rules")[0].endswith("1 older rule is not listed.\n")
    assert orjson.loads(guardian("rules", "--json")[0])["more"] == 1


def test_fences_hold_what_is_in_them(ada):
    create_write(DB, 1, None, b"````\n# no heading\n", candidate_fact="``` no ``` code", session_id="`")
    out, _status = guardian("export", "--format", "markdown", "--include-content")
    assert "`````diff\n" in out and "- candidate_fact: ```` ``` no ``` code ````" in out
