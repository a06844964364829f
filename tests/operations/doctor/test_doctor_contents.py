"""Lost and changed contents of the artifact store, and the sentences about them.

A sentence names who needs a content, and where another copy is.
"""

import shlex
import subprocess

import orjson
import pytest

from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run, run_backup
from tests.operations.doctor.doctor_homes import doctor, rows

LONG = "a line of a log\n" * 1_000
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def home(tmp_path):
    """Our home with two long outputs, of one session each, that are artifacts."""
    source = Home(tmp_path / "home-source")
    for name in ("one", "two"):
        script = source.transcript(
            user("go"), assistant("", ("c1", "exec", {})), result("c1", f"{name} {LONG}"), assistant("done")
        )
    assert doctor(tmp_path / "home", "--fix", status=0)[0]["run"]["sessions"] == {"main": 2}
    assert script
    return tmp_path / "home"


@pytest.fixture
def lost(home):
    """An intact artifact as (handle, session, record, its blob, its metadata)."""
    columns = "handle, session_id, record_id"
    handle, session_id, record_id = rows(home, f"SELECT {columns} FROM artifacts ORDER BY handle LIMIT 1", "main")[0]
    (blob,) = (home / "artifacts" / "blobs").rglob(f"{handle[-64:]}.*")
    (meta,) = (home / "artifacts" / "meta").rglob(f"{handle[-64:]}.json")
    return handle, session_id, record_id, blob, meta


def read_findings(home, *words, status=1):
    """Return the sentences of a check by the name of their check."""
    looked, _status = doctor(home, *words, status=status)
    return {finding["check"]: finding["sentence"] for finding in looked["store"]}


def test_a_content_that_is_gone_is_found_and_its_source_named(home, lost):
    handle, session_id, record_id, blob, _meta = lost
    blob.unlink()
    sentence = read_findings(home)["artifact_gone"]
    assert handle in sentence and f"{session_id}/{record_id}" in sentence
    assert f"openclaw-web collect --again --agent main --session {session_id}" in sentence


def test_without_a_source_the_newest_backup_that_has_it_is_named_and_its_command_works(home, lost, tmp_path):
    handle, _session_id, _record_id, blob, _meta = lost
    (tmp_path / "home-source").rename(tmp_path / "elsewhere")
    made = run_backup(home, "create")["backup"]
    blob.unlink()
    sentence = read_findings(home)["artifact_gone"]
    assert handle in sentence and made["id"] in sentence
    command = sentence[sentence.index("tar --zstd") :]
    subprocess.run(shlex.split(command), check=True)
    assert "artifact_gone" not in read_findings(home, "--deep")


def test_what_is_nowhere_cannot_be_had_again(home, lost, tmp_path):
    (tmp_path / "home-source").rename(tmp_path / "elsewhere")
    lost[3].unlink()
    for backup in (home / "backups").iterdir():
        backup.unlink()
    assert "cannot be restored" in read_findings(home)["artifact_gone"]


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_another_size_is_found_without_reading(home, lost, size):
    blob = lost[3]
    blob.write_bytes(b"x" * size)
    assert lost[0] in read_findings(home)["artifact_size"]


def test_a_changed_byte_is_found_by_reading_and_says_who_needs_it(home, lost):
    handle, session_id, record_id, blob, _meta = lost
    content = bytearray(blob.read_bytes())
    content[len(content) // 2] ^= 1
    blob.write_bytes(content)
    assert read_findings(home, status=0) == {}
    sentence = read_findings(home, "--deep")["artifact_damaged"]
    assert handle in sentence and f"main {session_id}/{record_id}" in sentence and "collect --again" in sentence


def test_lost_metadata_is_written_again(home, lost):
    meta = lost[4]
    before = orjson.loads(meta.read_bytes())
    meta.unlink()
    assert lost[0] in read_findings(home)["artifact_metadata"]
    doctor(home, "--fix", status=0)
    assert orjson.loads(meta.read_bytes()) == before | {"createdAt": orjson.loads(meta.read_bytes())["createdAt"]}
    assert read_findings(home, "--deep", status=0) == {}


def test_commands_say_it_in_a_sentence(home, lost):
    handle, _session_id, _record_id, blob, _meta = lost
    blob.unlink()
    for words in (
        ("artifact", "fetch", handle),
        ("artifact", "peek", handle),
        ("artifact", "gc"),
        ("artifact", "list"),
    ):
        _status, out, err = run(home, *words)
        assert "Traceback" not in out + err
    assert "is missing" in run(home, "artifact", "fetch", handle)[2]
