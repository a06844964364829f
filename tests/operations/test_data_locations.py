"""`uninstall --check`: every file that the product leaves behind is named, and nothing is touched."""

import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
from contextlib import closing
from pathlib import Path

import pytest

from tests.operations.accounts import account
from tests.processes import Home

pytestmark = pytest.mark.kill
account = account


def find_named(report):
    """The files and folders that the report calls ours, and is able to remove."""
    for place in report["locations"]:
        if place["exists"] and place["remove"]:
            yield from map(Path, place["files"] or [place["path"]])


def is_named(path, report):
    return any(path == place or place in path.parents for place in find_named(report))


def write_everything(account):
    """Use every command that leaves files anywhere."""
    home = account.folder / ".openclaw-web"
    account.env |= {"OPENCLAW_WEB_HOME": str(home), "OPENCLAW_STATE_DIR": str(account.folder / ".openclaw")}
    account.run("demo", "--no-serve")
    account.run("collect", "--quiet")
    account.run("backup", "create", "--quiet")
    account.run("backup", "create", "--quiet", "--to", account.folder / "disk" / "one")
    account.run("settings", "set", "backup.folder", account.folder / "disk" / "two")
    account.run("backup", "create", "--quiet", "--with-exports")
    account.run("archive", "--older-than", "9d", "--quiet", statuses=(0, 4))
    account.run("archive", "--older-than", "2d", "--quiet", "--out", account.folder / "archive", statuses=(0, 4))
    newest = max((account.folder / "disk").rglob("*.tar.zst"), key=lambda path: path.stat().st_mtime)
    account.run("backup", "restore", "--quiet", "--replace", newest)
    (account.folder / f".{home.name}.restoring.01JZZZZZZZZZZZZZZZZZZZZZZZ" / "home").mkdir(parents=True)  # of a kill
    (account.folder / f".{home.name}.restoring.01JZZZZZZZZZZZZZZZZZZZZZZZ" / "home" / "file").touch()
    for shell, place in {
        "bash": ".local/share/bash-completion/completions/openclaw-web",
        "zsh": ".zfunc/_openclaw-web",
        "fish": ".config/fish/completions/openclaw-web.fish",
    }.items():
        (account.folder / place).parent.mkdir(parents=True)
        (account.folder / place).write_text(account.run("completion", shell))
    unit = account.folder / ".config" / "systemd" / "user" / "openclaw-web.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Unit]\n")
    (unit.parent / "default.target.wants").mkdir()
    (unit.parent / "default.target.wants" / unit.name).symlink_to(unit)


def test_every_file_is_named(account):
    (account.folder / "notes.txt").write_text("not ours")
    before = set(account.list_files())
    write_everything(account)
    account.run(
        "export", "--format", "raw", "--name", "copied", "--all", "-o", account.folder / "rows.jsonl", "--quiet"
    )
    written = set(account.list_files()) - before
    report = account.check()
    unnamed = {path for path in written if not is_named(path, report)}
    assert {path.name.partition(".")[0] for path in unnamed} == {
        "rows"
    }  # its place is stored nowhere, and that is said
    assert any("--output" in sentence for sentence in report["unknown"])
    kinds = {place["kind"] for place in report["locations"] if place["exists"]}
    assert kinds >= {
        "home",
        "replaced_home",
        "draft",
        "backups",
        "archive",
        "demo",
        "completion",
        "service",
        "checkout",
    }
    assert not is_named(account.folder / "notes.txt", report)
    memory = [place for place in report["locations"] if place["kind"] == "memory_files"]
    assert memory and not any(place["remove"] for place in memory)  # of the agent, not ours
    assert report["problems"] == []
    home = account.folder / ".openclaw-web"
    size = next(place["bytes"] for place in report["locations"] if place["path"] == str(home))
    assert size == sum(path.lstat().st_size for path in home.rglob("*") if path.is_symlink() or not path.is_dir())


def test_the_commands_remove_what_they_name_and_nothing_else(account):
    (account.folder / "disk").mkdir()
    (account.folder / "disk" / "notes.txt").write_text("not ours")
    account.run("settings", "set", "backup.folder", account.folder / "disk")
    account.run("backup", "create", "--quiet")
    (account.folder / ".zfunc").mkdir()
    (account.folder / ".zfunc" / "_openclaw-web").write_text(account.run("completion", "zsh"))
    (account.folder / ".bashrc").write_text("alias ll=ls\nsource <(openclaw-web completion bash)\n")
    for place in account.check()["locations"]:
        if place["exists"] and place["remove"] and Path(place["path"]).is_relative_to(account.folder):
            subprocess.run(["bash", "-c", place["remove"]], check=True)
    assert {path.name for path in account.list_files()} == {"notes.txt", ".bashrc"}
    assert (account.folder / ".bashrc").read_text() == "alias ll=ls\n"
    assert not any(place["kind"] in ("home", "backups") and place["exists"] for place in account.check()["locations"])


def test_without_check_it_is_wrong_use_and_removes_nothing(account):
    out = account.run("uninstall", statuses=(2,))
    assert out == "" and account.list_files() == {}


def test_a_machine_without_a_home_gets_none(account):
    report = account.check()
    assert not report["locations"][0]["exists"] and report["locations"][0]["kind"] == "home"
    assert "does not exist" in account.run("uninstall", "--check")
    assert account.list_files() == {}


def damage(file):
    file.write_bytes(b"no database" * 1000)


def make_older(file):
    with closing(sqlite3.connect(file)) as db:
        db.execute("DROP TABLE migration_runs")
        db.execute("PRAGMA journal_mode=DELETE")
        db.commit()


def make_newer(file):
    with closing(sqlite3.connect(file)) as db:
        db.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('people', '9999_later', '2030-01-01')")
        db.commit()


@pytest.mark.parametrize(
    ("change", "has_problem"),
    [(damage, True), (Path.unlink, True), (make_older, False), (make_newer, False)],
    ids=["damaged", "missing", "older", "newer"],
)
def test_a_home_in_any_state_is_listed_and_not_touched(account, migrated, change, has_problem):
    home = account.folder / ".openclaw-web"
    shutil.copytree(migrated, home)
    change(home / "state" / "openclaw.sqlite")
    before = account.list_files()
    report = account.check()
    assert report["locations"][0]["path"] == str(home) and report["locations"][0]["exists"]
    assert bool(report["problems"]) == has_problem
    assert account.list_files() == before


def test_a_home_in_use_is_read_while_it_is_served(account, migrated):
    shutil.copytree(migrated, account.folder / ".openclaw-web")
    site = Home(account.folder / ".openclaw-web")
    try:
        server = site.serve()
        server.address()
        report = account.check()
        assert report["is_running"] and "Stop it first" in report["problems"][0]
        server.signal(signal.SIGTERM)
        assert server.end() == 0
    finally:
        site.close()
    assert not account.check()["is_running"]


def test_a_file_as_the_home_is_only_named(account):
    (account.folder / ".openclaw-web").write_text("a file")
    report = account.check()
    assert report["locations"][0]["remove"] == f"rm -r -- {shlex.quote(str(account.folder / '.openclaw-web'))}"
    assert (account.folder / ".openclaw-web").read_text() == "a file"


def hold_home_beside_other_files(folder):
    """A home of ours in the person's own folder, which has much else."""
    for name in ("state", "agents", "Documents"):
        (folder / name).mkdir()
        (folder / name / "file").touch()
    (folder / "secret.key").touch()
    return folder, folder / ".openclaw", {folder / name for name in ("state", "agents", "secret.key")}


def hold_openclaw_in_home(folder):
    home = folder / "srv"
    (home / "state").mkdir(parents=True)
    (home / "agents" / "claw").mkdir(parents=True)
    return home, home / "agents" / "claw", set()


def hold_home_in_openclaw(folder):
    (folder / ".openclaw" / "web" / "state").mkdir(parents=True)
    return folder / ".openclaw" / "web", folder / ".openclaw", {folder / ".openclaw" / "web"}


def share_one_folder(folder):
    (folder / ".openclaw" / "agents").mkdir(parents=True)
    (folder / ".openclaw" / "state").mkdir()
    return folder / ".openclaw", folder / ".openclaw", set()


def be_root_folder(folder):
    return Path("/"), folder / ".openclaw", set()


def name_a_demo_below(folder):
    """Only the demo of the usual place has its marker in a folder below."""
    (folder / "mine" / "openclaw").mkdir(parents=True)
    (folder / "mine" / "openclaw" / "openclaw-web-demo.json").touch()
    return folder / "none", folder / "mine", set()


@pytest.mark.parametrize(
    "arrange",
    [
        hold_home_beside_other_files,
        hold_openclaw_in_home,
        hold_home_in_openclaw,
        share_one_folder,
        be_root_folder,
        name_a_demo_below,
    ],
)
def test_no_command_removes_what_is_not_ours(account, arrange):
    home, source, named = arrange(account.folder)
    account.env |= {"OPENCLAW_WEB_HOME": str(home), "OPENCLAW_STATE_DIR": str(source)}
    report = account.check()
    ours = {path for path in find_named(report) if path.is_relative_to(account.folder)}
    assert ours == named and not any(path in (Path("/"), source) for path in find_named(report))
    assert report["locations"][0]["note"] or named == {home} or not home.exists()


def test_only_names_that_backups_have_are_named_in_their_folder(account):
    account.run("settings", "set", "backup.folder", account.folder)
    for name in ("openclaw-sources-fork", "openclaw-web-notes.tar.zst", ".mail.01JZZZZZZZZZZZZZZZZZZZZZZZ"):
        (account.folder / name).mkdir()
    ours = [f"openclaw-sources-01JZZZZZZZZZZZZZZZZZZZZZZZ{ending}" for ending in ("", ".tar.zst")]
    ours += ["openclaw-web-20300101T000000Z-2.tar.zst", ".backup.01JZZZZZZZZZZZZZZZZZZZZZZZ"]
    for name in ours:
        (account.folder / name).touch()
    [backups] = [place for place in account.check()["locations"] if place["kind"] == "backups"]
    assert {Path(path).name for path in backups["files"]} == set(ours)


def test_a_line_that_is_part_of_others_gets_no_command(account):
    text = "if true; then\n  source <(openclaw-web completion bash)\nfi\n"
    (account.folder / ".bashrc").write_text(text)
    [line] = [place for place in account.check()["locations"] if place["kind"] == "shell_line"]
    assert line["exists"] and line["remove"] == "" and "editor" in line["note"]


def test_a_path_that_is_not_utf_8_is_escaped(account):
    folder = account.folder / "config\udcff"
    (folder / "openclaw-web").mkdir(parents=True)
    account.env["XDG_CONFIG_HOME"] = str(folder)
    [secrets] = [place for place in account.check()["locations"] if place["kind"] == "service_secrets"]
    assert secrets["path"] == f"{account.folder}/config\\xff/openclaw-web" and secrets["exists"]


def link_packages(folder):
    """Have an environment use the packages of this one, as dependencies that nobody asked for."""
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.suffix == ".dist-info":
            (folder / entry.name).mkdir()
            for file in entry.iterdir():
                if file.name != "REQUESTED":
                    (folder / entry.name / file.name).symlink_to(file)
        else:
            (folder / entry.name).symlink_to(entry)


def test_an_environment_behind_a_link_is_removed_with_its_link(account):
    environment, link = account.folder / "opt", account.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    [packages] = (environment / "lib").glob("python*/site-packages")
    link_packages(packages)
    link.symlink_to(environment)
    account.python = [link / "bin" / "python"]
    [place] = [place for place in account.check()["locations"] if place["kind"] in ("environment", "python")]
    assert str(environment) in place["note"] and place["exists"] and place["bytes"] > 0
    subprocess.run(["bash", "-c", place["remove"]], check=True)
    assert not os.path.lexists(link) and not environment.exists()
