"""Collecting the artifact store of openclaw-mem inside a home.

Its handles resolve after a collect, and the doctor lists it.
"""

import gzip
import hashlib
import json
import os
import shutil
from pathlib import Path

import orjson
import pytest
from django.core.management import call_command

from agents.databases import get_alias
from agents.models import CollectorSource
from artifacts.models import Artifact
from collecting.stages import mem_store
from ledger.models import RejectedRecord
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import count_opens, run
from tests.homes import Home, assistant, result, user
from tests.operations.doctor.doctor_homes import doctor

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-mem"
STORE = "memory/openclaw-mem/artifacts"
pytestmark = pytest.mark.django_db
NONE = {"imported": 0, "known": 0, "unchanged": 0, "withheld": 0, "rejected": 0}


def stash(home, content, *, packed=False, sha256=None, about=True, **fields):
    """Write a content as openclaw-mem does, and return its handle."""
    sha256 = sha256 or hashlib.sha256(content).hexdigest()
    place = f"sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}"
    blob = home.write(f"{STORE}/blobs/{place}.txt{'.gz' * packed}", "")
    blob.write_bytes(gzip.compress(content) if packed else content)
    meta = {"schema": "openclaw-mem.artifact.meta.v1", "handle": f"ocm_artifact:v1:sha256:{sha256}", "sha256": sha256}
    meta |= {"bytes": len(content), "createdAt": "2026-03-04T00:00:00.000000+00:00", "kind": "tool_output", "meta": {}}
    meta |= fields
    if about:
        home.write(f"{STORE}/meta/{place}.json", meta)
    return meta["handle"]


@pytest.fixture
def home(real_files, tmp_path):
    home = Home(tmp_path / "openclaw", agents=("main", "research"))
    home.transcript(user("Hello"))
    return home


def handles(agent="main"):
    return set(Artifact.objects.using(get_alias(agent)).values_list("handle", flat=True))


def test_it_works(home, as_reviewer, capsys):
    plain, packed = stash(home, b"line 1\nline 2\n", meta={"tool": "exec"}), stash(home, b"x" * 9000, packed=True)
    report = run(home)
    assert report["artifacts"] == NONE | {"imported": 2} and report["rejected"] == 0
    assert handles("main") == handles("research") == {plain, packed}
    row = Artifact.objects.using(get_alias("research")).get(handle=plain)
    assert (row.kind, row.created_at) == ("tool_output", 1_772_582_400_000)
    assert orjson.loads(row.meta_json) == {"tool": "exec"}
    call_command("artifact", "fetch", packed, "--agent", "research", "--max-chars", "8000", "--json")
    assert orjson.loads(capsys.readouterr().out)["text"].startswith("xxx")
    assert "line 2" in as_reviewer.get(f"/agents/main/artifacts/{plain[-64:]}/").content.decode()


def test_a_handle_in_a_transcript_leads_to_its_content(home, as_reviewer):
    handle = stash(home, b"the whole output")
    quoted = f"<i>{handle}</i> and x{handle} and {handle}0"
    script = home.transcript(
        user(f"see {handle}"), assistant(f"It is in `{handle}`.", ("c", "exec", {"command": handle}))
    )
    script.add(result("c", quoted))
    run(home)
    page = as_reviewer.get(f"/agents/main/sessions/{script.session}/").content.decode()
    address = f"/agents/main/artifacts/{handle[-64:]}/"
    assert page.count(f'<a class="break" href="{address}">{handle}</a>') == 4  # said, answered, argument, result
    assert f"x{handle} and {handle}0" in page and "<i>" not in page
    assert f'<code class="call__arg">{handle}</code>' in page
    assert "the whole output" in as_reviewer.get(address).content.decode()


def test_what_has_not_changed_is_not_opened_again(home):
    stash(home, b"one")
    run(home)
    stash(home, b"two")
    reports = []
    opened = count_opens(lambda: reports.append(run(home)))
    assert reports[0]["artifacts"] == NONE | {"imported": 1, "unchanged": 1}
    assert not any(hashlib.sha256(b"one").hexdigest() in path for path in opened)
    assert run(home)["artifacts"] == NONE | {"unchanged": 2}
    assert len(handles()) == Artifact.objects.using(get_alias("main")).count() == 2


def test_an_agent_that_comes_later_has_them_too(home):
    handle = stash(home, b"one")
    run(home)
    (home.root / "agents" / "late" / "sessions").mkdir(parents=True)
    home.transcript(user("Hello"), agent="late")
    assert run(home)["artifacts"] == NONE | {"known": 1}
    assert handles("late") == {handle} and run(home)["artifacts"] == NONE | {"unchanged": 1}


def test_what_somebody_removed_stays_removed(home):
    handle = stash(home, b"one")
    run(home)
    call_command("artifact", "rm", handle, "--agent", "main")
    run(home)
    assert handles("main") == set() and handles("research") == {handle}


def test_what_is_not_what_its_name_says_is_rejected_and_the_rest_is_taken(home, tmp_path):
    good = stash(home, b"good")
    damaged = stash(home, b"damaged", sha256="a" * 64)
    short = stash(home, b"four", bytes=3)
    cut = stash(home, b"y" * 5000, packed=True)
    blob = next(home.root.glob(f"{STORE}/blobs/sha256/*/*/{cut[-64:]}.txt.gz"))
    blob.write_bytes(blob.read_bytes()[:-9])
    chatty = stash(home, b"chatty", meta={"text": "x" * 9000})
    (tmp_path / "secret").write_text("sk-fake-canary")
    for name, make in (("b" * 64, os.symlink), ("c" * 64, os.link)):
        place = home.root / STORE / "blobs" / "sha256" / name[:2] / name[2:4]
        place.mkdir(parents=True)
        make(tmp_path / "secret", place / f"{name}.txt")
    bare = stash(home, b"without metadata", about=False)
    odd = stash(home, b"odd", kind=["x"], createdAt=5, meta="text")
    stash(home, b"a listing", sha256="d" * 64)
    shutil.rmtree(home.root / STORE / "blobs" / "sha256" / "dd")
    report = run(home)
    assert report["artifacts"] == NONE | {"imported": 3, "rejected": 6} and report["rejected"] == 6
    assert handles() == {good, bare, odd}
    rows = RejectedRecord.objects.using(get_alias("main")).filter(reason="bad_artifact")
    assert {row.file[-68:-4] for row in rows if row.file.endswith(".txt")} == {
        damaged[-64:], short[-64:], chatty[-64:], "b" * 64, "c" * 64,
    }  # fmt: skip
    assert not any(b"sk-fake-canary" in file.read_bytes() for file in tmp_path.glob("artifacts/**/*.txt*"))
    assert run(home)["artifacts"] == NONE | {"unchanged": 9}
    stash(home, b"damaged")
    stash(home, b"y" * 5000, packed=True)
    assert run(home)["artifacts"] == NONE | {"imported": 2, "unchanged": 8}


def test_a_bomb_is_not_unpacked(home, monkeypatch):
    monkeypatch.setattr(mem_store, "MOST_BYTES", 1024 * 1024)
    stash(home, b"\0" * 5 * 1024**2, packed=True)
    assert run(home)["artifacts"] == NONE | {"rejected": 1}
    assert "larger than 1 MB" in RejectedRecord.objects.using(get_alias("main")).get().detail


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_store_behind_a_link_is_not_read(home, tmp_path, depth):
    stash(home, b"elsewhere")
    parts = STORE.split("/")
    (home.root / "/".join(parts[:depth])).rename(tmp_path / "moved")
    (home.root / "/".join(parts[:depth])).symlink_to(tmp_path / "moved")
    reports = []
    opened = count_opens(lambda: reports.append(run(home)))
    assert reports[0]["artifacts"] == NONE and not any("/moved/" in path for path in opened)


def test_while_somebody_opted_out_only_what_is_surely_not_theirs_is_read(home):
    configuration.put("collector.optedOutSenders", ["dave"])
    home.index({})
    theirs = stash(home, b"theirs", meta={"sessionKey": "agent:main:irc:direct:irc:dave"})
    group = stash(home, b"of a group", meta={"sessionKey": "agent:main:irc:group:#lab"})
    unknown = stash(home, b"of nobody knows whom")
    mine = stash(home, b"mine", meta={"sessionKey": "agent:main:irc:direct:alice"})
    assert run(home)["artifacts"] == NONE | {"imported": 1, "withheld": 3}
    assert handles() == {mine}
    configuration.put("collector.optedOutSenders", [])
    assert run(home)["artifacts"] == NONE | {"imported": 3, "unchanged": 1}
    assert handles() == {mine, theirs, group, unknown}


def test_a_full_store_is_a_note_and_the_next_collect_completes_it(home, real_files):
    stash(home, b"one")
    (real_files / "artifacts").mkdir()
    (real_files / "artifacts" / "tmp").write_text("in the way")
    report = run(home)
    assert report["records"] == 2 and report["artifacts"]["imported"] == 0
    assert "The next import tries again." in " ".join(report["notes"])
    assert not CollectorSource.objects.filter(kind="artifact").exists()
    (real_files / "artifacts" / "tmp").unlink()
    assert run(home)["artifacts"]["imported"] == 1


@pytest.fixture
def source(tmp_path):
    home = Home(tmp_path / "openclaw", agents=("main",))
    home.transcript(user("Hello"))
    home.write("memory/openclaw-mem.sqlite", "")  # a database without a table
    for name in ("openclaw-mem-episodes.jsonl", "openclaw-mem/episodes-ingest-state.json"):
        home.write(f"memory/{name}", "{}")
    home.write("cron/jobs.json.bak", "{}")
    home.write("workspace/notes.txt", "mine")
    return home


def test_the_doctor_counts_what_the_import_brings_and_names_what_is_left(tmp_path, source):
    stash(source, b"one")
    stash(source, b"two", packed=True)
    stash(source, b"wrong", sha256="a" * 64)
    receipt, _ = doctor(tmp_path / "ours", "--source", str(source.root), status=1)
    artifacts = [item for item in receipt["sources"] if item["kind"] == "artifact"]
    assert [(item["target"], item["state"], item["agent"]) for item in artifacts] == [("artifacts", "new", "")] * 3
    assert sorted(item["records"] for item in artifacts) == [0, 1, 1]
    assert [(item["reason"], item["offset"]) for item in receipt["rejected"]] == [("bad_artifact", 0)]
    assert {item["path"] for item in receipt["skipped"] if item["why"] == "not_listed"} >= {
        *("memory/openclaw-mem-episodes.jsonl", "memory/openclaw-mem/episodes-ingest-state.json"),
        *("cron/jobs.json.bak", "workspace/notes.txt"),
    }
    not_skipped = {"memory", "memory/openclaw-mem", "memory/openclaw-mem.sqlite", f"{STORE}"}
    assert not not_skipped & {item["path"] for item in receipt["skipped"]}
    fixed, _ = doctor(tmp_path / "ours", "--fix", "--source", str(source.root))
    assert fixed["run"]["rejected"] == 1 and not fixed["run"]["warnings"]
    again, _ = doctor(tmp_path / "ours", "--source", str(source.root), status=0)
    assert {item["state"] for item in again["sources"]} == {"unchanged"} and again["to_read"] == 0


@pytest.mark.skipif(not REAL.exists(), reason="the recorded store is not on this machine")
def test_the_store_that_the_real_program_wrote(home):
    shutil.copytree(REAL, home.root / "memory")
    metas = [json.loads(path.read_text()) for path in home.root.glob(f"{STORE}/meta/sha256/*/*/*.json")]
    assert run(home)["artifacts"] == NONE | {"imported": len(metas)} and metas
    assert handles("main") == handles("research") == {meta["handle"] for meta in metas}
