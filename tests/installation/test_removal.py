"""docs/uninstall.md: its commands show every file that the product leaves behind, and remove these and no others."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openclaw_web.commands.cli import DEMO_FOLDER
from openclaw_web.disk.home import find_replaced_path
from tests.homes import Home as OpenClawHome
from tests.homes import assistant, user
from tests.processes import CHECKOUT, HANG

pytestmark = pytest.mark.kill
PAGE = (CHECKOUT / "docs" / "uninstall.md").read_text()
LIST, SEARCH, REMOVE_DATA, REMOVE_OURS, REMOVE_PROGRAM = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
DISKS = "/etc /opt /srv /usr/local /mnt /media"  # of the machine: a test has none
DRAFTS = ("..openclaw-web.restoring.01JZZZZZZZZZZZZZZZZZZZZZZZ", "disk/.backup.01JZZZZZZZZZZZZZZZZZZZZZZZ")
SCRIPTS = (
    ".local/share/bash-completion/completions/openclaw-web",
    ".zfunc/_openclaw-web",
    ".config/fish/completions/openclaw-web.fish",
)


class Account:
    """A person with a folder of their own, who types commands in a shell."""

    def __init__(self, folder):
        self.folder = folder
        launcher = folder.parent / "bin" / "openclaw-web"
        launcher.parent.mkdir()
        launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m openclaw_web "$@"\n')
        launcher.chmod(0o755)
        (folder / "tmp").mkdir(parents=True)
        ours = ("OPENCLAW", "DJANGO", "XDG", "BASH_COMPLETION", "FPATH")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.env |= {"HOME": str(folder), "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(folder / "tmp")}
        self.env["PATH"] = f"{launcher.parent}:{self.env['PATH']}"

    def type(self, script):
        done = subprocess.run(
            ["bash", "-c", script], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=HANG
        )
        assert "Traceback" not in done.stderr, (script, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def list_files(self):
        paths = (path for path in self.folder.rglob("*") if path.is_symlink() or not path.is_dir())
        return {str(path.relative_to(self.folder)) for path in paths if not path.name.endswith("-shm")}


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "person")


def write_everything(account):
    """Leave files in every place that has some; return the files that are nobody's but the person's."""
    openclaw = OpenClawHome(account.folder / ".openclaw")
    openclaw.transcript(user("Why did the import fail?"), assistant("The last line was cut off."))
    (account.folder / "disk").mkdir()
    (account.folder / "disk" / "notes.txt").write_text("not ours")
    (account.folder / ".bashrc").write_text("alias ll=ls\nsource <(openclaw-web completion bash)\n")
    own_files = account.list_files()
    for command in ("collect", "archive --older-than 9d --out ~/archive", "backup create --to ~/disk"):
        account.type(f"openclaw-web {command} --quiet")
    replaced = find_replaced_path(account.folder / ".openclaw-web", datetime.now(UTC))
    for file in (
        replaced / "state" / "openclaw.sqlite",
        *(account.folder / draft / "file" for draft in DRAFTS),
        *(account.folder / script for script in SCRIPTS),
        account.folder / DEMO_FOLDER.removeprefix("~/") / "home" / "secret.key",
        account.folder / ".config" / "openclaw-web" / "service.env",
        account.folder / "disk" / "openclaw-sources-01JZZZZZZZZZZZZZZZZZZZZZZZ.tar.zst",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return own_files


def test_the_commands_of_the_page_show_and_remove_every_file_and_no_other(account):
    own_files = write_everything(account)
    written = account.list_files() - own_files
    assert {".openclaw-web", "archive", "disk"} <= {file.split("/")[0] for file in written}

    backups = account.type(LIST)
    assert str(account.folder / "disk") in backups and ".tar.zst" in backups
    assert DISKS in SEARCH
    output = account.type(SEARCH.replace(DISKS, ""))
    places = [Path(place) for place in re.findall(r"^[\d.]+[KMG]?\t(.*)$", output, re.MULTILINE)]
    assert not [file for file in written if not any((account.folder / file).is_relative_to(place) for place in places)]
    assert not [file for file in own_files if any((account.folder / file).is_relative_to(place) for place in places)]
    assert "source <(openclaw-web completion bash)" in output

    account.type(REMOVE_DATA.replace("/mnt/backups", "~/disk").replace("/mnt/archive", "~/archive"))
    service, files = REMOVE_PROGRAM.split("\n", 1)
    assert service == "openclaw-web service remove"  # of root, that would be the service of this machine
    account.type(files)
    assert account.list_files() == own_files


def test_a_home_in_a_shared_folder_is_found_and_only_ours_are_removed(account):
    home = account.folder / "srv" / "data"
    account.env["OPENCLAW_WEB_HOME"] = str(home)
    OpenClawHome(account.folder / ".openclaw").transcript(user("Hello"), assistant("Good morning."))
    home.mkdir(parents=True)
    (home / "notes.txt").write_text("not ours")
    own_files = account.list_files()
    account.type("openclaw-web collect --quiet; openclaw-web archive --older-than 9d --quiet")
    output = account.type(SEARCH.replace(DISKS, "~/nowhere"))
    assert f"{home}/state/home.lock" in output
    assert f"{account.folder}/nowhere" in output  # what find may not open is named as well
    account.type(f"home={home}\n{REMOVE_OURS}")
    assert account.list_files() == own_files
