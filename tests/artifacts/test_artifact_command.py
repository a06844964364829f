"""`openclaw-web artifact`: the recorded commands of the existing tool, and the options of our own."""

import gzip
import hashlib
import io
import json
import re
import shutil
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from agents import services as agents
from artifacts import services
from artifacts.store import layout

DATA = Path(__file__).resolve().parents[1] / "data" / "artifacts"
LOG = Path(__file__).resolve().parents[3] / "shared" / "data" / "openclaw-mem" / "cli-transcript.log"
RECORDED = json.loads((DATA / "recorded_commands.json").read_text())
NUMBERS = "".join(f"{number}\n" for number in range(1, 20_001))
# Times and sentences are ours: only their presence is compared.
NOT_COMPARED = {"createdAt", "error", "hint"}


@pytest.fixture
def run(real_files, monkeypatch, capsys):
    """Run `artifact ...`; (exit status, what it printed). `stdin` are bytes."""

    def command(*words, stdin=b""):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        out = io.StringIO()
        try:
            call_command("artifact", *words, stdout=out)
        except CommandError as exc:
            return exc.returncode, out.getvalue()
        except SystemExit as exc:
            return exc.code, out.getvalue()
        return 0, out.getvalue()

    return command


@pytest.fixture
def ask(run):
    """Run `artifact ... --json`; its answer. It must end with 0."""

    def command(*words, **options):
        status, text = run(*words, "--json", **options)
        assert status == 0, text
        return json.loads(text)

    return command


def test_it_works(ask, tmp_path):
    (tmp_path / "out.txt").write_text(NUMBERS)
    made = ask("stash", "--from", str(tmp_path / "out.txt"))
    assert ask("fetch", made["handle"], "--mode", "range", "--lines", "5:6")["text"] == "5\n6\n"


def test_the_recorded_lines_answer_as_recorded(run, tmp_path):
    """On a home that nobody prepared, as the existing tool answered them."""
    (tmp_path / "a.txt").write_text(NUMBERS)
    (tmp_path / "b.json").write_text('{"rows":[{"id":1,"名":"海豚"}],"ok":true}\n')
    (tmp_path / "empty.txt").write_text("")
    shutil.copy(DATA / "bin.dat", tmp_path)
    created = {}
    for line in RECORDED:
        words = line["command"].replace("$TMPDIR", str(tmp_path)).split()[2:]
        status, text = run(*words, stdin="small 小 📦\n".encode())
        answer = json.loads(text)
        assert status == line["status"], line["command"]
        assert answer.keys() >= line["output"].keys(), line["command"]
        assert next(iter(answer)) == next(iter(line["output"])), line["command"]
        for name in line["output"].keys() - NOT_COMPARED:
            assert answer[name] == line["output"][name], (line["command"], name)
        if "createdAt" in line["output"]:
            stamp = created.setdefault(answer["handle"], answer["createdAt"])
            assert answer["createdAt"] == stamp
            assert datetime.fromisoformat(stamp).utcoffset().total_seconds() == 0
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", stamp)


@pytest.mark.skipif(not LOG.exists(), reason="the recorded log is not on this machine")
def test_the_recording_has_every_line_of_the_log():
    recorded_steps = []
    for step in re.split(r"(?m)^\$ ", LOG.read_text()):
        command, _line, rest = step.partition("\n")
        if command.startswith("openclaw-mem artifact "):
            output, status = rest.rsplit("rc=", 1)
            recorded_steps.append({"command": command, "output": json.loads(output), "status": int(status)})
    assert recorded_steps == RECORDED


def test_nobody_named_means_main(ask, run):
    handle = ask("stash", stdin=b"x")["handle"]
    assert ask("fetch", handle, "--agent", "main")["text"] == "x"
    assert run("fetch", handle, "--agent", "other", "--json")[0] == 1
    ask("stash", "--agent", "Other One", stdin=b"y")
    assert run("fetch", handle, "--agent", "other-one", "--json")[0] == 1
    assert len(ask("list", "--agent", "Other One")["artifacts"]) == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["fetch", "ocm_artifact:v1:sha256:" + "0" * 64], 1),
        (["fetch", "ocm_artifact:v1:sha256:" + "A" * 64], 2),
        (["peek", "nonsense"], 2),
        (["rm", "ocm_artifact:v1:sha256:" + "0" * 64], 1),
        (["stash", "--from", "/nowhere/at/all"], 2),
        (["stash", "--from", "."], 2),
        (["stash", "--meta-json", "{"], 2),
        (["stash", "--meta-json", "[]"], 2),
        (["stash", "--kind", ""], 3),
        (["list", "--limit", "0"], 2),
        (["list", "--after", "nonsense"], 3),
        (["gc", "--older-than", "a while"], 2),
        (["verify", "nonsense"], 2),
        (["import", "/nowhere/at/all"], 3),
        (["lint", "/nowhere/at/all"], 3),
        (["lint"], 2),
        (["lint", "x", "--collected"], 2),
        (["lint", "--collected", "--agent", "nobody"], 1),
        (["lint", "/nowhere/\udcff"], 3),
        (["peek", "\udcff"], 2),
        (["fetch", "ocm_artifact:v1:sha256:" + "0" * 64, "--agent", "x\udcff"], 1),
    ],
)
def test_what_goes_wrong_has_a_status_and_a_sentence(run, words, status):
    agents.register("main")
    ended, text = run(*words, "--json")
    assert ended == status
    answer = json.loads(text)
    assert answer.keys() == {"error", "hint", "ok", "reasons"}
    assert answer["ok"] is False


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--max-chars", "8001"], 3),  # more than may be asked for
        (["--max-chars", "20001", "--reason", "x"], 3),
        (["--max-chars", "0"], 2),  # nothing that could be asked for
        (["--mode", "grep", "--pattern", "("], 2),
        (["--mode", "head", "--offset", "-1"], 2),
    ],
)
def test_an_answer_has_a_limit(ask, run, words, status):
    handle = ask("stash", stdin=NUMBERS.encode())["handle"]
    assert run("fetch", handle, *words)[0] == status
    assert len(ask("fetch", handle, "--max-chars", "20000", "--reason", "all of it")["text"]) == 20_000


def test_a_search_without_a_hit_says_so(run, ask, capsys):
    handle = ask("stash", stdin=NUMBERS.encode())["handle"]
    for words in (["--pattern", "nowhere in it"], ["--pattern", "nowhere in it", "--context", "3", "--ignore-case"]):
        assert run("fetch", handle, "--mode", "grep", *words)[0] == 0
        assert "No line matches this pattern." in capsys.readouterr().err
    assert ask("fetch", handle, "--mode", "grep", "--pattern", "nowhere in it")["matches"] == 0
    run("fetch", handle, "--mode", "grep", "--pattern", ".")
    assert "No line" not in capsys.readouterr().err
    handle = ask("stash", stdin=b'{"items": [1]}')["handle"]
    run("fetch", handle, "--mode", "jsonpath", "--path", "$.other")
    assert "Nothing matches this path." in capsys.readouterr().err


def test_without_json_only_the_text_is_printed(run, ask, capsys):
    handle = ask("stash", stdin=NUMBERS.encode())["handle"]
    status, text = run("fetch", handle, "--mode", "head", "--max-chars", "4")
    assert (status, text) == (0, "1\n2\n")
    notice = capsys.readouterr().err
    assert "Omitted after" in notice
    more = re.search(r"artifact (fetch .*)", notice)[1].split()
    assert run(*more) == (0, "3\n4\n")


def test_a_list_goes_on(ask):
    for number in range(5):
        ask("stash", stdin=b"%d" % number)
    first = ask("list", "--limit", "3")
    rest = ask("list", "--limit", "3", "--after", first["next"])
    assert len({row["handle"] for row in first["artifacts"] + rest["artifacts"]}) == 5
    assert rest["next"] is None
    assert ask("list", "--session", "none")["artifacts"] == []


def test_a_list_in_words_says_how_to_go_on(run, capsys):
    for number in range(2):
        run("stash", stdin=b"%d" % number)
    run("list", "--limit", "1")
    notice = capsys.readouterr().err
    assert notice.startswith("More: --after ")
    status, text = run("list", *notice.split()[1:])
    assert (status, len(text.splitlines()), capsys.readouterr().err) == (0, 1, "")


@pytest.mark.django_db
def test_the_command_for_more_names_the_agent(root, capsys):
    handle = services.stash("agent_ada", NUMBERS)[0].handle
    call_command("artifact", "fetch", handle, "--agent", "ada", "--max-chars", "20", stdout=io.StringIO())
    assert capsys.readouterr().err.rstrip().endswith(" --agent ada")


def test_rm_and_gc(ask, real_files):
    unused_handle, kept_handle = ask("stash", stdin=b"gone")["handle"], ask("stash", stdin=b"kept")["handle"]
    assert ask("rm", unused_handle)["references"] == 1
    assert ask("gc", "--dry-run")["removed"] == 1
    assert ask("gc", "--older-than", "1h")["young"] == 1
    result = ask("gc")
    assert (result["removed"], result["kept"], result["dryRun"]) == (1, 1, False)
    assert ask("gc")["removed"] == 0
    assert ask("fetch", kept_handle)["text"] == "kept"
    assert not list((real_files / "artifacts").rglob(f"*{unused_handle[-64:]}*"))


def test_verify_names_what_is_damaged(ask, run, real_files):
    made = [ask("stash", stdin=b"content %d" % number)["handle"] for number in range(3)]
    assert ask("verify")["sound"] == 3
    path = real_files / "artifacts" / layout.blob_name(made[1][-64:], is_compressed=False)
    path.write_bytes(b"content X")
    status, text = run("verify", "--json")
    answer = json.loads(text)
    assert status == 1
    assert (answer["sound"], [row["id"] for row in answer["problems"]]) == (2, [made[1]])
    assert run("verify", made[0])[0] == 0
    assert run("fetch", made[1], "--json")[0] == 1


def create_existing_store(folder):
    """Create an artifacts folder as the existing tool leaves it; return its handles.

    One blob is damaged, one has no metadata, one is a link.
    """
    handles = {}
    for name, content, packed in (("plain", b"a\n" * 50, False), ("packed", b"b\n" * 50, True), ("bare", b"c", False)):
        digest = hashlib.sha256(content).hexdigest()
        handles[name] = f"ocm_artifact:v1:sha256:{digest}"
        blob = folder / layout.blob_name(digest, is_compressed=packed)
        blob.parent.mkdir(parents=True)
        blob.write_bytes(gzip.compress(content) if packed else content)
        if name != "bare":
            meta = folder / layout.meta_name(digest)
            meta.parent.mkdir(parents=True)
            facts = {"handle": handles[name], "sha256": digest, "bytes": 100, "kind": "json", "meta": {"n": name}}
            meta.write_text(json.dumps(facts | {"createdAt": "2026-03-04T05:06:07.000008+00:00"}))
    damaged = folder / layout.blob_name("d" * 64, is_compressed=False)
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"something else")
    link = folder / layout.blob_name("e" * 64, is_compressed=False)
    link.parent.mkdir(parents=True)
    link.symlink_to("/etc/hostname")
    return handles


@pytest.mark.parametrize("place", ["", "artifacts", "memory/openclaw-mem/artifacts"])
def test_an_existing_store_is_taken_over(ask, run, tmp_path, place):
    source = tmp_path / "theirs"
    handles = create_existing_store(source / place)
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    status, text = run("import", str(source), "--json")
    answer = json.loads(text)
    assert (status, answer["imported"], len(answer["problems"])) == (4, 3, 2)
    assert ask("fetch", handles["packed"])["text"] == "b\n" * 50
    about = ask("peek", handles["plain"])
    assert (about["kind"], about["meta"], about["createdAt"]) == (
        "json",
        {"n": "plain"},
        "2026-03-04T05:06:07.000008+00:00",
    )
    assert json.loads(run("import", str(source), "--json")[1])["known"] == 3
    assert len(ask("list")["artifacts"]) == 3
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before


def test_lint(run, tmp_path):
    (tmp_path / "brief.md").write_text("fine\nRun openclaw status --json and report.\n")
    status, text = run("lint", str(tmp_path), "--json")
    assert status == 1
    hit = json.loads(text)["hits"][0]
    assert (hit["line"], hit["rule"]) == (2, "json-dump")
    assert "artifact stash" in hit["better"]
    (tmp_path / "brief.md").write_text("fine\n")
    assert run("lint", str(tmp_path))[0] == 0


def test_a_cursor_of_nowhere_is_refused_in_the_words_of_a_command(run, ask, tmp_path, capsys):
    (tmp_path / "out.txt").write_text(NUMBERS)
    ask("stash", "--from", str(tmp_path / "out.txt"))
    status, output = run("list", "--after", "zzz")
    output += capsys.readouterr().err
    assert status == 3 and "page" not in output
