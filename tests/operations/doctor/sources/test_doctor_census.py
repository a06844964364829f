"""The doctor accounts for every file of an agent.

Each is read, skipped with a reason, or named in a finding, also files that the importer does not look for.
"""

import ast
import json
import os
import re
import threading
from pathlib import Path

import pytest

from operations.doctor import repairs
from tests.homes import Home, user
from tests.operations.backups.backup_homes import ROOT, run, start
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import change, doctor, fill

pytestmark = pytest.mark.kill
home = doctor_homes.home
FOLDER = "agents/main/sessions"


@pytest.fixture
def source(home):
    made = Home(Path(f"{home}-source"))
    fill(made)
    assert run(home, "collect", "--quiet")[0] == 0
    return made


def select_findings(receipt):
    return {
        (finding["check"], finding["path"]): finding["is_repairable"]
        for finding in receipt["store"]
        if finding["level"] == "finding"
    }


def build_header(session, **more):
    return (
        json.dumps({"type": "session", "version": 3, "id": session, "timestamp": "2026-02-21T03:00:00Z"} | more) + "\n"
    )


def test_the_sentence_says_how_many_files_there_are(home, source):
    source.write(f"{FOLDER}/sessions.json.lock", "{}")
    receipt, _status = doctor(home, status=0)
    assert "Of 5 files of agents 4 were read and 1 skipped (Lock: 1)." in receipt["message"]
    files = receipt["files"]
    assert (files["found"], files["read"], files["new"], files["unread"]) == (5, 4, 0, [])
    assert files["skipped"] == {"lock": {"count": 1, "names": [f"{FOLDER}/sessions.json.lock"]}}


def test_before_the_first_import_all_is_new(home):
    made = Home(Path(f"{home}-source"))
    fill(made)
    receipt, _status = doctor(home, status=1)
    assert select_findings(receipt) == {} and (receipt["files"]["found"], receipt["files"]["new"]) == (4, 4)


NEW_FILES = {
    "a table": (f"{FOLDER}/notes.bin", b"\x00\x01"),
    "below a folder": (f"{FOLDER}/by-month/2026/notes.txt", b"no transcript\n"),
    "beside the database": ("agents/main/agent/cache.v2", b"{}"),
}


@pytest.mark.parametrize("name", NEW_FILES)
def test_a_file_that_no_import_has_met_is_named_and_an_import_accounts_for_it(home, source, name):
    path, data = NEW_FILES[name]
    file = source.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    receipt, _status = doctor(home, status=1)
    assert "Nothing new" not in receipt["message"]
    assert select_findings(receipt) == {("unread_file", path): True} or receipt["to_read"] == 1
    doctor(home, "--fix", status=0)
    assert select_findings(doctor(home, status=0)[0]) == {}


def test_a_transcript_in_a_folder_that_is_never_read_is_named_and_stays_named(home, source):
    for number in range(2):
        source.write(f"agents/main/old-sessions/2025/talk-{number}.jsonl", build_header(f"talk-{number}"))
    source.write("agents/main/old-sessions/readme.jsonl", '{"no": "transcript"}\n')
    source.write("sessions/ancient.jsonl", build_header("ancient"))
    named = {
        ("unread_folder", "agents/main/old-sessions/2025/talk-0.jsonl"),
        ("unread_folder", "sessions/ancient.jsonl"),
    }
    for words in ((), ("--fix",), ()):
        receipt, _status = doctor(home, *words)
        assert select_findings(receipt) == dict.fromkeys(named, False)
    assert any("and 1 more in its folder" in finding["sentence"] for finding in receipt["store"])


def test_a_transcript_that_was_skipped_as_none_is_named(home, source):
    """The doctor reads a skipped file itself, since the importer may be wrong about it."""
    script = source.transcript(user("Hello"), session="00000000-0000-4000-8000-00000000000a")
    assert run(home, "collect", "--quiet")[0] == 0
    path, stat = script.path.relative_to(source.root).as_posix(), script.path.stat()
    change(
        home,
        f"DELETE FROM collector_sources WHERE path = '{path}';"
        "INSERT INTO collector_skipped (source_key, kind, root, agent_id, path, session_id, reason, detail, size_bytes,"
        f" mtime_ns, inode, noted_at) VALUES ('x', 'file', '{source.root}', 'main', '{path}', '', 'not_transcript', '',"
        f" {stat.st_size}, {stat.st_mtime_ns}, {stat.st_ino}, 1)",
    )
    lock = source.write(f"{FOLDER}/harbour.jsonl.lock", build_header("harbour")).relative_to(source.root).as_posix()
    for words in ((), ("--fix",), ()):
        receipt, _status = doctor(home, *words, status=1 if not words else None)
        assert select_findings(receipt) == {("skipped_transcript", path): False, ("skipped_transcript", lock): False}


def test_every_key_of_an_index_leads_to_records_or_is_named(home, source):
    file = source.root / FOLDER / "sessions.json"
    entries = json.loads(file.read_text())
    entries["agent:main:lost"] = {"sessionId": "00000000-0000-4000-8000-0000000000ff", "updatedAt": 1}
    file.write_text(json.dumps(entries))
    assert run(home, "collect", "--quiet")[0] == 0
    receipt, _status = doctor(home, status=1)
    assert select_findings(receipt) == {("index_entry", "agent:main:lost"): False}
    assert "was found" in receipt["store"][-1]["sentence"]


def test_a_folder_that_is_renamed_meanwhile_is_no_crash(home, source):
    """A file that disappears during the check is a note at most, as for `collect`."""
    is_over = threading.Event()
    folder, other = source.root / FOLDER, source.root / "agents/main/elsewhere"

    def rename():
        while not is_over.is_set():
            os.rename(folder, other)
            os.rename(other, folder)

    renaming = threading.Thread(target=rename)
    renaming.start()
    try:
        for words in (("doctor",), ("doctor", "--deep"), ("collect",)) * 5:
            process = start(home, *words, "--json", "--quiet")
            _out, err = process.communicate()
            assert process.returncode in (0, 1, 2, 3, 4) and "Traceback" not in err and "unexpected" not in err, err
    finally:
        is_over.set()
        renaming.join()
    assert run(home, "collect", "--quiet")[0] == 0


NOT_REPAIRED = ("not repaired", "kept", "restore a", "names the records", "the same", "none")


def test_the_table_of_checks_says_which_of_them_are_repaired():
    """The document and the code agree about which checks have a repair."""
    claims = {}
    for file in sorted((ROOT / "operations" / "doctor").rglob("*.py")):
        for check, repair in find_claims(file):
            claims.setdefault(check, set()).add(repair)
    for checks, fix_text in read_check_table():
        own = set().union(*(claims.get(check, set()) for check in checks))
        assert own <= {"", SOME, *repairs.REPAIRS}, checks
        if fix_text.startswith(("not repaired", "kept")):
            assert own <= {""}, f"{checks}: a repair is claimed, and the document says that there is none"
        elif checks & claims.keys() and fix_text and not fix_text.startswith((*NOT_REPAIRED, "`artifact gc`")):
            assert own - {""}, f"{checks}: the document says that it is repaired, and no repair is claimed"
    document = (ROOT / "docs" / "doctor.md").read_text()
    assert all(f"`{check}`" in document for check in claims)


SOME = "some"  # a repair that is no literal where the finding is built


def find_claims(file):
    """Yield (check, repair) of every finding that a module builds, where both are literals."""
    tree = ast.parse(file.read_text())
    known = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("Finding", "about_rows") and call.args:
            check = call.args[0]
            name = check.value if isinstance(check, ast.Constant) else known.get(getattr(check, "id", ""))
            repair = next((word.value for word in call.keywords if word.arg == "repair"), ast.Constant(""))
            if isinstance(name, str) and name:
                yield name, repair.value if isinstance(repair, ast.Constant) else SOME


def read_check_table():
    """Yield (checks, what --fix does) of each row of the table of checks."""
    for line in (ROOT / "docs" / "doctor.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if (
            line.startswith("|")
            and len(cells) == 3
            and cells[1] != "`check`"
            and "note" not in cells[1]
            and (checks := set(re.findall(r"`([a-z_]+)`", cells[1])))
        ):
            yield checks, cells[2].removesuffix(" |").strip(" |")
