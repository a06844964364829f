"""An odd folder or file is named, and everything else is imported.

It may be in OpenClaw's folder or in our own store.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.homes import Home, assistant, user
from tests.jobs.fork_server import CHECKOUT, USER
from tests.operations.backups.backup_homes import run
from tests.suite.nightly import first

NOBODY = 65534
AGENT = "agents/other"
PRIVATE = (AGENT, f"{AGENT}/sessions", f"{AGENT}/agent", "workspace", "openclaw.json", "workspace/memory")


@pytest.fixture
def place(tmp_path):
    """Our home, and an OpenClaw folder with three agents that have spoken."""
    return tmp_path / "home", create_source(tmp_path / "openclaw")


def create_source(folder):
    source = Home(folder, agents=("main", "other", "third"))
    for agent in source.agents:
        source.transcript(user(f"I am {agent}"), assistant("Hello"), agent=agent)
    return source


@pytest.fixture
def public():
    """The same in a folder that other users may enter, unlike the folders of tests."""
    with tempfile.TemporaryDirectory(prefix="openclaw-web-places-") as folder:
        source = create_source(Path(folder) / "openclaw")
        source.write("workspace/memory/2026-01-01.md", "A note.")
        (source.root / AGENT / "agent").mkdir()
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield Path(folder) / "home", source


def collect(place, *words, status=4, **more):
    home, source = place
    ended, out, err = run(home, "collect", "--source", source.root, "--json", "--quiet", *words, **more)
    assert (ended, "Traceback" in err) == (status, False), (ended, out[:500], err)
    return json.loads(out)


def findings(place, **more):
    home, source = place
    _ended, out, err = run(home, "doctor", "--deep", "--source", source.root, "--json", "--quiet", **more)
    assert "Traceback" not in err, err
    receipt = json.loads(out)
    return [
        (finding["check"], finding["path"], finding["is_repairable"])
        for finding in receipt["store"]
        if finding["level"] == "finding"
    ]


@pytest.mark.parametrize("name", first(("Main", "\u30e1\u30a4\u30f3 main", "main~", "main.", "\u3000main"), 2))
def test_of_folders_that_stand_for_one_agent_the_one_with_its_name_is_imported(place, name):
    _home, source = place
    (source.root / "agents" / name / "sessions").mkdir(parents=True)
    source.transcript(user("Twin"), agent=name)
    result = collect(place)
    assert result["records"] == 9 and set(result["agents"]) == {"main", "other", "third"}
    assert len(result["unread"]) == 1 and "--as NAME" in result["unread"][0]
    _ended, out, err = run(_home, "collect", "--source", source.root, "--quiet")
    assert f"{out}{err}".count("was not imported") == 1  # on a terminal both streams are one
    assert findings(place) == [("place", f"agents/{name}", False)]
    assert set(collect(place, "--agent", name, "--as", "twin", status=0)["agents"]) == {"twin"}
    assert findings(place) == [] and collect(place, status=0)["records"] == 0


def test_a_folder_without_an_id_can_be_imported_under_a_name(place):
    _home, source = place
    (source.root / "agents" / "\u7814\u7a76" / "sessions").mkdir(parents=True)
    source.transcript(user("Research"), agent="\u7814\u7a76")
    assert "not a valid agent name" in collect(place)["unread"][0]
    assert collect(place, "--agent", "\u7814\u7a76", "--as", "research", status=0)["records"] == 2


def test_a_folder_that_gets_its_own_name_back_goes_first(place):
    _home, source = place
    (source.root / "agents" / "main").rename(source.root / "agents" / "Main")
    assert set(collect(place, status=0)["agents"]) == {"main", "other", "third"}
    (source.root / "agents" / "main" / "sessions").mkdir(parents=True)
    source.transcript(user("The new one"))
    result = collect(place)
    assert result["records"] == 2 and "agents/Main was not imported" in result["unread"][0]


def test_a_broken_configuration_is_named_and_everything_is_imported(place):
    place[1].write("openclaw.json", "{agents: [")
    result = collect(place)
    assert result["records"] == 9 and "openclaw.json was not read" in result["unread"][0]
    assert [check for check, _path, _repair in findings(place)] == ["configuration"]


@pytest.mark.parametrize("kind", ["damaged", "no database", "gone"])
def test_the_file_of_one_agent_that_is_damaged_or_gone_ends_nothing_else(place, kind):
    home, source = place
    collect(place, status=0)
    file = home / "agents" / "other" / "agent" / "openclaw-agent.sqlite"
    for part in file.parent.glob("*-wal"):
        part.unlink()
    if kind == "gone":
        file.unlink()
    elif kind == "no database":
        file.write_bytes(b"This is no database. " * 1000)
    else:
        data = bytearray(file.read_bytes())
        data[8192:] = b"\xff" * (len(data) - 8192)
        file.write_bytes(data)
    for script in source.agents:
        source.transcript(user("Again"), agent=script)
    result = collect(place)
    assert result["records"] == 4 and set(result["lost"]) == {"other"}
    assert "backup restore" in result["lost"]["other"]
    assert "other" not in result["agents"]
    checks = {check for check, _path, _repair in findings(place)}
    assert checks & {"integrity", "lost", "registry"}, checks


def test_one_damaged_database_of_openclaw_ends_nothing_else(place):
    _home, source = place
    (source.root / "agents" / "other" / "agent").mkdir()
    source.write("agents/other/agent/openclaw-agent.sqlite", "no database " * 1000)
    result = collect(place)
    assert result["records"] == 9 and result["agents"]["other"]["rejected"] == {"bad_database": 1}


@pytest.fixture
def others_home(public):
    """The home of that fixture, which belongs to another user here."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    code = [*CHECKOUT.parents, *CHECKOUT.glob("*/migrations/*.py")]
    if not all(path.stat().st_mode & (0o001 if path.is_dir() else 0o004) for path in code):
        pytest.skip("others may not read this checkout")
    home, _source = public
    run(home, "collect", "--source", "/nonexistent")  # creates our home
    for path in (home, *home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    return home


def test_places_of_another_machine_may_be_below_a_closed_folder(public, others_home):
    """As below /root: where the folder has moved to, and what to do, is named."""
    _home, source = public
    as_nobody = {USER: str(NOBODY)}
    assert collect(public, status=0, **as_nobody)["records"] == 9
    closed = others_home.with_name("closed")
    source.write("openclaw.json", {"agents": {"defaults": {"workspace": str(closed / "openclaw" / "workspace")}}})
    (source.root / "openclaw.json").chmod(0o644)
    closed.mkdir(mode=0o700)
    moved = Home.__new__(Home)
    moved.root = source.root.with_name("moved")
    source.root.rename(moved.root)
    shutil.copytree(moved.root, closed / "openclaw")
    source.root.symlink_to(closed / "openclaw")
    result = collect((others_home, moved), "--moved-from", str(source.root), **as_nobody)
    assert result["records"] == 0
    assert any(f"Permission to open {source.root} is missing" in note for note in result["notes"])
    [sentence] = {sentence for sentence in result["unread"] if str(closed) in sentence}
    assert "its folder workspace may be the same: write the new path into openclaw.json" in sentence


@pytest.mark.parametrize("name", first(PRIVATE, 3))
def test_what_another_user_keeps_to_themselves_is_named(public, others_home, name):
    _home, source = public
    private = source.root / name
    private.chmod(0o700 if private.is_dir() else 0o600)
    result = collect(public, **{USER: str(NOBODY)})
    assert result["records"] == (6 if name in PRIVATE[:2] else 9)
    assert any(name in sentence for sentence in result["unread"]), result
    reported = findings(public, **{USER: str(NOBODY)})
    assert [check for check, _path, _repair in reported] in (["place"], ["configuration"])


def test_folders_of_other_owners_are_notes(place):
    if os.geteuid() != 0:
        pytest.skip("only root can give folders away")
    _home, source = place
    os.chown(source.root / "agents" / "other", NOBODY, NOBODY)
    result = collect(place, status=0)
    assert any("agents/other belongs to user 65534" in note for note in result["notes"])
    assert findings(place) == []


def test_links_where_folders_should_be_are_named(place, tmp_path):
    _home, source = place
    shutil.move(source.root / "agents" / "other", tmp_path / "elsewhere")
    (source.root / "agents" / "other").symlink_to(tmp_path / "elsewhere")
    shutil.move(source.root / "agents" / "third" / "sessions", tmp_path / "sessions")
    (source.root / "agents" / "third" / "sessions").symlink_to(tmp_path / "sessions")
    result = collect(place)
    assert result["records"] == 3 and len(result["unread"]) == 2
    assert all("it is a link" in sentence for sentence in result["unread"])
    assert [check for check, _path, _repair in findings(place)] == ["place", "place"]
