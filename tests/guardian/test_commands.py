"""`openclaw-web reflection guardian`: what a person in a terminal and a program get."""

import csv
import io

import orjson
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from guardian.models import GuardianStatus, WriteGuardianAudit
from tests import factories
from tests.guardian.correcting.correcting import corrected
from tests.guardian.written import T0, wrote

DB = "agent_ada"
pytestmark = pytest.mark.django_db


@pytest.fixture
def guardian(capsys, ada):
    """Runs a verb: what it printed, and how it ended."""

    def run(*words):
        try:
            call_command("reflection", "guardian", *words, "--agent", "ada")
        except CommandError as error:
            return capsys.readouterr().out + str(error), error.returncode
        return capsys.readouterr().out, 0

    return run


@pytest.fixture
def writes(ada):
    """Three writes a second apart, the last one refused, and one to another file."""
    factories.SessionFactory(id="s1", session_key="agent:ada:irc:x")
    wrote(DB, 1, None, b"tea\n"), wrote(DB, 2, b"tea\n", b"coffee `\x1b[31m\n")
    about = {"session_id": "s2", "target_file": "MEMORY.md", "candidate_fact": "A password."}
    WriteGuardianAudit.objects.using(DB).create(
        id="w3", status="refused", reason="Secret.", created_at=T0 + 3000, **about
    )
    wrote(DB, 4, None, b"x\n", target_file="USER.md", candidate_fact="Lives in Oslo.")


def ids(text):
    return [row["id"] for row in orjson.loads(text)["writes"]]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ["w4", "w3", "w2", "w1"]),
        (["--limit", "2"], ["w4", "w3"]),
        (["s1"], ["w4", "w2", "w1"]),
        (["channel:irc:x", "-l", "1"], ["w4"]),
        (["-f", "USER.md"], ["w4"]),
        (["-s", "refused"], ["w3"]),
        (["--since", "2026-02-02T02:40:02Z", "--until", "2026-02-02T02:40:04Z"], ["w3", "w2"]),
    ],
)
def test_a_list_is_narrowed(guardian, writes, words, found):
    out, status = guardian("list", *words, "--json")
    assert (ids(out), status) == (found, 0)


def test_a_list_in_words(guardian, writes):
    out, _status = guardian("list", "-d")
    for word in ("refused", "A password. | Secret.", "+1 −0", "USER.md", "+coffee", "2026-02-02 02:40:03 UTC"):
        assert word in out
    assert "\x1b" not in out and "+coffee" not in guardian("list")[0]
    assert orjson.loads(guardian("list", "-d", "--json", "-f", "USER.md")[0])["writes"][0]["diff"].endswith("+x\n")


def test_one_write_is_shown(guardian, writes):
    out, _status = guardian("show", "w2")
    assert "session: s1" in out and "-tea" in out and "\x1b" not in out and "plugin" in out
    assert orjson.loads(guardian("show", "w2", "--json")[0])["write"]["hunks"]
    out, status = guardian("show", "nothing")
    assert status == 3 and "has no write nothing" in out


def test_what_it_changed_is_printed(guardian, writes):
    assert guardian("diff", "w1") == ("--- /dev/null\n+++ b/MEMORY.md\n@@ -0,0 +1,1 @@\n+tea\n", 0)
    out, status = guardian("diff", "w3")
    assert status == 3 and "is not known" in out


@pytest.mark.parametrize("words", [["MEMORY.md"], ["-f", "MEMORY.md"]])
def test_the_history_of_a_file(guardian, writes, words):
    events = orjson.loads(guardian("history", *words, "--json")[0])["events"]
    assert [event["audit"]["id"] for event in events if event["audit"]] == ["w3", "w2", "w1"]
    out, _status = guardian("history", *words, "-l", "1")
    assert "A password." in out and "w2" not in out


@pytest.mark.parametrize(
    "words",
    [
        ["list", "--since", "yesterday"],
        ["list", "--limit", "0"],
        ["list", "-s", "gone"],
        ["history"],
        ["history", "MEMORY.md", "-f", "MEMORY.md"],
        ["history", "NOTES.md"],
        ["export", "--json"],
        ["export", "-o", "/no/such/folder"],
    ],
)
def test_wrong_use_is_told(guardian, writes, words):
    assert guardian(*words)[1] == 2


@pytest.mark.parametrize(
    "words",
    [
        ["correct", "w1", "--status", "refused", "--reason", "\udcff"],
        ["correct", "w1", "--status", "written", "--reason", "No.", "--fact", "\udcff"],
        ["correct", "w1", "--status", "refused", "--reason", "No.", "--apply-to-future", "--pattern", "\udcff"],
        ["correct", "\udcff", "--status", "refused", "--reason", "No."],
        ["rollback", "w1", "--reason", "\udcff"],
        ["retry", "w1", "--fact", "\udcff"],
        ["rules", "--check", "\udcff", "--file", "USER.md"],
        ["rules", "--off", "\udcff"],
        ["show", "\udcff"],
        ["list", "\udcff"],
        ["run", "--session", "\udcff"],
    ],
)
def test_bytes_of_a_terminal_that_are_no_text_are_wrong_use(guardian, writes, words):
    out, status = guardian(*words)
    assert status == 2 and "The text is not valid UTF-8." in out


@pytest.mark.parametrize("kind", ["json", "csv", "markdown"])
def test_an_export_has_every_write_that_fits(guardian, writes, tmp_path, kind):
    file = tmp_path / "out"
    out, status = guardian("export", "--format", kind, "-f", "MEMORY.md", "--output", str(file), "--include-content")
    assert status == 0 and "3 writes exported" in out
    text = file.read_text("utf-8")
    if kind == "markdown":
        assert text.count("\n## ") == 2 and "- candidate_fact: ` A password. `" in text
        assert "````diff" not in text and "```diff\n--- a/MEMORY.md" in text and "### after_content" in text
        return
    rows = orjson.loads(text) if kind == "json" else list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert [row["id"] for row in rows] == ["w3", "w2", "w1"]
    assert rows[1]["before_content"] == "tea\n" and rows[1]["diff"].lstrip("'").startswith("--- a/MEMORY.md")
    assert "place" not in rows[0]


def test_nothing_that_others_told_reaches_a_terminal_as_it_is(guardian, ada):
    hostile = "x\x1b]0;owned\x07\u202e\nw9  fake"
    named = ("session_id", "candidate_fact", "reason", "llm_model", "turn_id", "decision_id")
    row = wrote(DB, 1, None, f"{hostile}\n".encode(), id=f"w1{hostile}", **dict.fromkeys(named, hostile))
    corrected(row.id, apply_to_future=True, pattern="owned", by=hostile)
    GuardianStatus.objects.using(DB).filter(audit=row).update(given_by=hostile)
    said = (["list", "-d"], ["show", row.id], ["history", "MEMORY.md"], ["rules"], ["rules", "--check", hostile])
    for words in (*said, ["export", "--format", "markdown", "--include-content"]):
        out, status = guardian(*words, *(["--file", "USER.md"] if "--check" in words else []))
        assert status == 0 and "owned" in out and not set("\x1b\x07\u202e") & set(out), words
        assert words[0] == "export" or not [line for line in out.splitlines() if line.startswith("w9  fake")]


def test_contents_are_left_out_unless_asked_for(guardian, writes):
    rows = orjson.loads(guardian("export")[0])
    assert len(rows) == 4 and "after_content" not in rows[0] and "+x" in rows[0]["diff"]
    assert orjson.loads(guardian("export", "-s", "failed")[0]) == []


def test_fences_hold_what_is_in_them(guardian, ada):
    wrote(DB, 1, None, b"````\n# no heading\n", candidate_fact="``` no ``` code", session_id="`")
    out, _status = guardian("export", "--format", "markdown", "--include-content")
    assert "`````diff\n" in out and "- candidate_fact: ```` ``` no ``` code ````" in out
