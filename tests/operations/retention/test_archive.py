"""`openclaw-web archive`: old sessions move into verified files, and back.

Nothing is removed before its file was read back.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys

import orjson
import pytest
import zstandard

from tests import homes
from tests.operations.backups import backup_homes
from tests.operations.backups.backup_homes import ROOT, build_environment, read_tables, run
from tests.operations.retention import old_sessions

AGE = ("--older-than", "30d")


def run_archive(home, *words, status=0):
    done, out, err = run(home, "archive", *words, "--json", "--quiet")
    assert done == status, err + out
    return orjson.loads(out)


def find_archives(home):
    return sorted((home / "archive").rglob("*.jsonl.zst"))


def read_lines(path):
    data = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    return [orjson.loads(line) for line in data.splitlines()]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("archive") / "own"
    old_sessions.fill(home)
    return home


@pytest.fixture
def home(filled, tmp_path):
    """A copy of a home with old sessions.

    Its source is elsewhere: a test that collects fills a home of its own.
    """
    shutil.copytree(filled, tmp_path / "own")
    return tmp_path / "own"


def test_it_works(tmp_path):
    home = tmp_path / "own"
    old_sessions.fill(home)
    before = read_tables(home)
    answer = run_archive(home, *AGE, "--dry-run")
    assert (
        (answer["sessions"], answer["dry_run"]) == (3, True) and read_tables(home) == before and not find_archives(home)
    )
    answer = run_archive(home, *AGE)
    assert (answer["sessions"], answer["kept"], answer["failed"]) == (3, {}, [])
    assert len(find_archives(home)) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home / "archive").rglob("*") if path.is_file()} == {0o600}
    after = read_tables(home)
    main = "agents/main/agent/openclaw-agent.sqlite"
    for table in ("sessions", "transcript_events", "conversation_turns", "artifacts", "rejected_records"):
        assert not after[main, table] and before[main, table], table
    for table in ("session_days", "session_tools", "tool_days"):
        assert after[main, table] == before[main, table]
    assert old_sessions.select_day_sums(after) == old_sessions.select_day_sums(before)
    assert len(after[main, "removed_sessions"]) == 2
    # A collect skips archived sessions, also when their files have new times, and the next archive is empty.
    for path in (home.parent / "own-source").rglob("*.jsonl"):
        os.utime(path)
    assert run(home, "collect")[0] in (0, 4)
    assert not read_tables(home)[main, "sessions"]
    again = run_archive(home, *AGE)
    assert again["sessions"] == 0 and len(find_archives(home)) == 3


def test_what_is_restored_is_what_was_there(home):
    before = read_tables(home)
    stored = backup_homes.hash_artifacts(home)
    run_archive(home, *AGE)
    backup_homes.run_python(home, backup_homes.CLEAR)
    assert not backup_homes.hash_artifacts(home)
    sound = run_archive(home, "verify", str(home / "archive"))
    assert (sound["sound"], sound["failed"]) == (3, [])
    answer = run_archive(home, "restore", *map(str, find_archives(home)))
    assert (answer["restored"], answer["there"], answer["failed"]) == (3, 0, [])
    after = read_tables(home)
    noted = ("state/openclaw.sqlite", "collector_sessions")  # the last column of its rows is a time
    assert {key for key in before if before[key] != after[key]} == {noted}
    without_time = [[row.rpartition(",")[0] for row in side[noted]] for side in (before, after)]
    assert without_time[0] == without_time[1]
    assert backup_homes.hash_artifacts(home) == stored and backup_homes.are_artifacts_sound(home)
    answer = run_archive(home, "restore", str(home / "archive"))
    assert (answer["restored"], answer["there"]) == (0, 3)
    assert read_tables(home) == after


def test_a_restore_in_another_home(home, tmp_path):
    before = read_tables(home)
    run_archive(home, *AGE)
    other = tmp_path / "other"
    answer = run_archive(other, "restore", str(home / "archive"))
    assert answer["restored"] == 3
    after = read_tables(other)
    for key in before:
        if key[0].startswith("agents/") and key[1] != "django_migrations":
            assert after[key] == before[key], key
    assert old_sessions.select_day_sums(after) == old_sessions.select_day_sums(before)


def test_an_archive_is_readable_without_us(home):
    run_archive(home, *AGE)
    for path in find_archives(home):
        archived = read_lines(path)
        assert archived[0]["schema"] == "openclaw-web.archive.v1" and archived[-1]["end"] is True
        texts = {line["text"] for line in archived if "content" in line}
        assert old_sessions.BIG in texts and old_sessions.SECRET in texts
        manifest = orjson.loads(path.with_name(path.name.removesuffix(".jsonl.zst") + ".manifest.json").read_bytes())
        event_count = sum(line.get("table") == "transcript_events" for line in archived)
        assert manifest["tables"]["transcript_events"] == event_count
        assert (manifest["file"], manifest["bytes"]) == (path.name, path.stat().st_size)


def test_a_session_that_goes_on_comes_back_whole(tmp_path):
    home = tmp_path / "own"
    _source, scripts = old_sessions.fill(home, sessions=1, agents=("main",))
    main = "agents/main/agent/openclaw-agent.sqlite"
    count = len(read_tables(home)[main, "transcript_events"])
    run_archive(home, *AGE)
    scripts[0].add(homes.user("Are you still there?"), homes.assistant("Yes."))
    assert run(home, "collect")[0] in (0, 4)
    after = read_tables(home)
    assert len(after[main, "transcript_events"]) == count + 2 and not after[main, "removed_sessions"]
    assert "agent:main:telegram:direct:0" in after[main, "sessions"][0]
    refused = run_archive(home, "restore", str(home / "archive"), status=3)
    assert "changed since" in refused["reasons"][0]["reason"]
    assert read_tables(home) == after


def test_a_session_whose_transcript_was_written_anew_and_goes_on_comes_back(tmp_path):
    home = tmp_path / "own"
    _source, scripts = old_sessions.fill(home, sessions=1, agents=("main",))
    main, path = "agents/main/agent/openclaw-agent.sqlite", scripts[0].path
    run_archive(home, *AGE)
    for more, count in ((0, 0), (2, 1)):
        scripts[0].add(*[homes.user("Are you still there?"), homes.assistant("Yes.")][:more])
        path.with_name("new").write_bytes(path.read_bytes())
        path.with_name("new").replace(path)
        assert run(home, "collect")[0] in (0, 4)
        assert len(read_tables(home)[main, "sessions"]) == count


def test_a_session_with_a_lost_output_stays(home):
    blob = next(path for path in (home / "artifacts" / "blobs").rglob("*") if path.is_file())
    blob.unlink()
    answer = run_archive(home, *AGE, status=3)  # all sessions have that output, so nothing was done
    assert answer["failed"] and (answer["sessions"], answer["failed_count"]) == (0, 3)
    main = "agents/main/agent/openclaw-agent.sqlite"
    research = "agents/research/agent/openclaw-agent.sqlite"
    remaining = len(read_tables(home)[main, "sessions"]) + len(read_tables(home)[research, "sessions"])
    assert remaining == answer["failed_count"] and len(find_archives(home)) == answer["sessions"]


def forge_archive(source, way):
    """Return the bytes of an archive with something wrong in it."""
    data, parsed = source.read_bytes(), read_lines(source)
    row = next(line for line in parsed if line.get("table") == "conversation_turns")
    if way == "cut":
        return data[: len(data) // 2]
    if way == "bit":
        return data[:200] + bytes([data[200] ^ 1]) + data[201:]
    if way == "row":
        row["row"]["user_message_content"] = "forged"
    elif way == "content":
        next(line for line in parsed if "content" in line)["text"] = "forged"
    elif way == "table":
        row["table"] = "memory_gate_decisions"
    elif way == "agent":
        parsed[0]["agent"] = "../x"
    else:
        row["row"][{"session": "session_id", "type": "created_at", "column": "x; --"}[way]] = "another"
    if way in ("session", "type", "column", "agent"):  # these archives get valid hashes
        body = [orjson.dumps(line) + b"\n" for line in parsed[:-1]]
        rows = [line for line, line_before in zip(body, parsed, strict=False) if "table" in line_before]
        parsed[-1]["rows_sha256"] = hashlib.sha256(b"".join(rows)).hexdigest()
        parsed[-1]["lines_sha256"] = hashlib.sha256(b"".join(body)).hexdigest()
    return zstandard.compress(b"".join(orjson.dumps(line) + b"\n" for line in parsed))


def test_hostile_archives(home, tmp_path):
    run_archive(home, *AGE)
    before, folder = read_tables(home), tmp_path / "forged"
    folder.mkdir()
    ways = ("cut", "bit", "row", "content", "table", "session", "type", "column", "agent")
    for way in ways:
        (folder / f"{way}.jsonl.zst").write_bytes(forge_archive(find_archives(home)[0], way))
    (folder / "none.jsonl.zst").write_bytes(b"hello\n" * 100)
    (folder / "empty.jsonl.zst").write_bytes(b"")
    (folder / "link.jsonl.zst").symlink_to(find_archives(home)[0])
    (folder / "folder.jsonl.zst").mkdir()
    refused = run_archive(home, "restore", str(folder), status=3)
    assert (refused["restored"], len(refused["reasons"])) == (0, len(ways) + 4), refused
    assert read_tables(home) == before


def test_wrong_use(home):
    for words, sentence in (
        ((), "--before DATE or --older-than"),
        (("--before", "2026-01-01", *AGE), "--before DATE or --older-than"),
        (("--before", "soon"), "Write a date as"),
        (("--older-than", "a while"), "Write a date as"),
        (("--older-than", "36h"), "an age in whole days"),
        (("restore",), "Name the archives"),
        (("restore", "x", "--dry-run"), "restore has no --dry-run"),
        (("--dry-run", "restore", "x"), "--dry-run cannot be used with a verb"),
        (("burn",), "invalid choice"),
    ):
        status, _out, err = run(home, "archive", *words)
        assert status == 2 and sentence in err, (words, err)
    for words, sentence in (
        (("--older-than", "0d"), "older than a day"),
        ((*AGE, "--agent", "nobody"), "There is no agent"),
        ((*AGE, "--out", f"{home}-source/x"), "OpenClaw folder"),
        ((*AGE, "--out", "/dev/null/x"), "cannot be written"),
        (("restore", str(home / "state")), "No archives were found"),
    ):
        status, _out, err = run(home, "archive", *words)
        assert status == 3 and sentence in err and "Traceback" not in err, (words, err)
    assert run_archive(home, "restore", "/nowhere", status=3)["reasons"]


def test_a_backup_has_the_archives(home, tmp_path):
    run_archive(home, *AGE)
    made = backup_homes.run_backup(home, "create")["backup"]["path"]
    backup_homes.run_backup(tmp_path / "new", "restore", made)
    names = [path.relative_to(home) for path in (home / "archive").rglob("*") if path.is_file()]
    assert len(names) == 6
    assert all((tmp_path / "new" / name).read_bytes() == (home / name).read_bytes() for name in names)


def run_mounted(home, mounted, *words):
    """Run `openclaw-web WORDS` in a mount namespace of its own, with real mounts."""
    command = [sys.executable, "-m", "openclaw_web", *words, "--quiet"]
    return subprocess.run(
        ["unshare", "-Urm", "sh", "-c", mounted, "sh", *command],
        cwd=ROOT, env=build_environment(home), capture_output=True, text=True,
    )  # fmt: skip


needs_namespaces = pytest.mark.skipif(
    subprocess.run(["unshare", "-Urm", "true"], check=False).returncode != 0,
    reason="this system has no user namespaces",
)


@needs_namespaces
def test_a_full_disk(home, tmp_path):
    """An archive on a real file system of a few kilobytes."""
    small = tmp_path / "small"
    small.mkdir()

    def count_sessions():
        return sum(len(rows) for (_file, table), rows in read_tables(home).items() if table == "sessions")

    seen = set()
    for size in (4, 16, 24):
        before = count_sessions()
        mounted = f'mount -t tmpfs -o size={size}k tmpfs {small} && "$@"; status=$?; find {small} -type f; exit $status'
        done = run_mounted(home, mounted, "archive", *AGE, "--out", str(small))
        assert "Traceback" not in done.stderr
        seen.add(done.returncode)
        written = [name for name in done.stdout.split() if name.endswith(".zst")]
        assert before - count_sessions() <= len(written) and not [name for name in done.stdout.split() if "/." in name]
        if done.returncode:
            assert "No space left" in done.stderr, done.stderr
    assert 3 in seen


@needs_namespaces
@pytest.mark.nightly
def test_a_full_disk_under_the_file_of_an_agent(home, tmp_path):
    """The folder of an agent is on a file system with hardly any room left."""
    folder, copy = home / "agents" / "main" / "agent", tmp_path / "copy"
    shutil.copytree(folder, copy)
    before, size = read_tables(home), sum(path.stat().st_size for path in folder.iterdir()) // 1024
    for words in (("retention", "--days", "30", "--remove"), ("archive", *AGE)):
        mounted = (
            f'mount -t tmpfs -o size={size + 120}k tmpfs {folder} && cp -a {copy}/. {folder}/ && "$@"; status=$?; '
            f"rm -rf {tmp_path}/after; cp -a {folder} {tmp_path}/after; exit $status"
        )
        done = run_mounted(home, mounted, *words, "--agent", "main")
        assert done.returncode == 3 and "Traceback" not in done.stderr, done.stderr
        assert f"No space left in {folder}" in done.stderr and "are kept" in done.stderr
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "after", folder)
        assert read_tables(home) == before
