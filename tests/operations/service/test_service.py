"""`openclaw-web service` for a user and for root, with a systemctl that starts the site."""

import os
import pwd
import re
import shutil
import tempfile
import urllib.request
from pathlib import Path

import orjson
import pytest

from openclaw_web.disk import locks
from tests.operations.service.machines import IS_ROOT, machine
from tests.processes import find_free_port
from tests.suite import fixture_cache

machine = machine
ROOT_ALONE = pytest.mark.parametrize("machine", ["system"], indirect=True)


@pytest.mark.kill
def test_it_works(machine):
    """The service is installed, serves, is replaced by another port, and removed; the data stay."""
    shutil.copytree(fixture_cache.served_home(), machine.home, dirs_exist_ok=True)  # a start without preparations
    port, next_port = str(find_free_port()), str(find_free_port())
    assert machine.service("status")[1] == "The service is not installed.\n"
    status, out, err = machine.service("install", "--port", port)
    address = f"http://127.0.0.1:{port}/"
    assert (
        (status, err) == (0, "")
        and f"Wrote {machine.shown_unit}." in out
        and f"Started the service: {address}\n" in out
    )
    assert machine.calls() == ["daemon-reload", "enable openclaw-web", "start openclaw-web"]
    assert urllib.request.urlopen(f"{address}healthz").status == 200
    assert (machine.home / "state" / "openclaw.sqlite").exists()

    status, out, _err = machine.service("install", "--port", port)
    assert status == 0 and "is up to date." in out and "nothing to do" in out and machine.calls() == []

    receipt = orjson.loads(machine.service("status", "--json")[1])
    assert receipt["is_installed"] and not receipt["is_changed"] and receipt["difference"] == []
    assert (receipt["active"], receipt["enabled"], receipt["address"]) == ("active", "enabled", address[:-1])

    status, out, err = machine.service("install", "--port", next_port)
    assert (status, err) == (0, "")
    assert re.search(rf"^  -ExecStart=.* --port {port}\n  \+ExecStart=.* --port {next_port}$", out, re.MULTILINE)
    assert machine.calls() == ["daemon-reload", "enable openclaw-web", "restart openclaw-web"]
    assert urllib.request.urlopen(f"http://127.0.0.1:{next_port}/healthz").status == 200

    status, out, err = machine.service("remove")
    assert (status, err) == (0, "") and str(machine.home) in out
    assert machine.calls() == ["disable --now openclaw-web.service", "daemon-reload"]
    assert not machine.unit.exists() and not machine.secrets_file.parent.exists()
    assert (machine.home / "state" / "openclaw.sqlite").exists()
    assert machine.service("remove")[:2] == (0, "The service is not installed.\n")


@pytest.mark.nightly
@pytest.mark.kill
def test_a_site_that_does_not_start_is_a_sentence_with_the_command_for_its_log(machine):
    (machine.home / "state" / "serve.lock").mkdir(parents=True)
    status, _out, err = machine.service("install", "--port", str(find_free_port()))
    user = "" if machine.is_system else "--user "
    assert status == 1
    assert f"did not start. The reason is in its log: journalctl {user}-u openclaw-web -n 30\n" in err


def test_a_site_that_runs_already_is_not_started_twice(machine):
    state = machine.home / "state"
    state.mkdir()
    with locks.lock(state / "serve.lock"):
        status, out, err = machine.service("install")
        assert (status, out) == (3, "") and "already running" in err and "--no-start" in err
        assert machine.calls() == [] and not machine.unit.exists()
        assert machine.service("install", "--no-start")[0] == 0


@pytest.mark.nightly
def test_print_writes_the_unit_and_nothing_else(machine):
    path = str(link_tools(machine))
    status, out, err = machine.service("install", "--print", PATH=path)
    assert (status, err) == (0, "") and out.startswith("# Written by: openclaw-web service install\n")
    assert not machine.unit.exists() and not machine.secrets_file.exists()
    receipt = orjson.loads(machine.service("install", "--print", "--json", PATH=path)[1])
    assert receipt["unit"] == out and not receipt["is_installed"]


def test_no_start_only_writes_the_unit(machine):
    status, out, _err = machine.service("install", "--no-start")
    assert status == 0 and "enable --now openclaw-web" in out and machine.calls() == ["daemon-reload"]
    assert orjson.loads(machine.service("status", "--json")[1])["active"] == "inactive"
    mode = machine.unit.stat().st_mode & 0o777
    assert mode == (0o644 if machine.is_system else 0o600)


def test_secrets_are_not_in_the_unit(machine):
    secrets = {"OPENCLAW_WEB_LLM_KEY": "sk-hidden-1", "SECRET_KEY": "hidden-2", "OPENCLAW_WEB_OTHER_TOKEN": "hidden-3"}
    status, out, _err = machine.service(
        "install", "--no-start", **secrets, OPENCLAW_WEB_LLM_URL="https://api.example.com/v1"
    )
    assert status == 0 and "hidden" not in machine.unit.read_text() and "hidden" not in out
    assert 'Environment="OPENCLAW_WEB_LLM_URL=https://api.example.com/v1"' in machine.unit.read_text()
    place = "/etc/openclaw-web/service.env" if machine.is_system else machine.secrets_file
    assert f"\nEnvironmentFile=-{place}\n" in machine.unit.read_text()
    assert machine.secrets_file.stat().st_mode & 0o777 == 0o600 and "hidden" not in machine.secrets_file.read_text()
    assert "OPENCLAW_WEB_LLM_KEY, OPENCLAW_WEB_OTHER_TOKEN, SECRET_KEY" in out and "service.env" in out
    machine.secrets_file.write_text("OPENCLAW_WEB_LLM_KEY=sk-mine\n")
    machine.secrets_file.chmod(0o644)
    machine.service("install", "--no-start")
    assert machine.secrets_file.read_text() == "OPENCLAW_WEB_LLM_KEY=sk-mine\n"
    assert machine.secrets_file.stat().st_mode & 0o777 == 0o600
    out = machine.service("remove")[1]
    assert machine.secrets_file.exists() and "service.env" in out


def test_an_address_of_a_model_with_a_password_is_refused(machine):
    status, out, err = machine.service("install", OPENCLAW_WEB_LLM_URL="https://mei:hidden@api.example.com/v1")
    assert (status, out) == (3, "") and "OPENCLAW_WEB_LLM_URL" in err and "hidden" not in err
    assert not machine.unit.exists()


def test_variables_are_carried_over_and_compared(machine):
    machine.service("install", "--no-start", OPENCLAW_WEB_PAGE_SECONDS="9")
    unit = machine.unit.read_text()
    assert 'Environment="OPENCLAW_WEB_PAGE_SECONDS=9"\n' in unit and "BUSY_SECONDS" not in unit
    assert f'Environment="OPENCLAW_WEB_HOME={machine.home}"\n' in unit
    status, out, _err = machine.service("status")
    assert status == 0 and '  -Environment="OPENCLAW_WEB_PAGE_SECONDS=9"\n' in out
    assert "would change" not in machine.service("status", OPENCLAW_WEB_PAGE_SECONDS="9")[1]


@pytest.mark.nightly
def test_folders_that_the_site_writes_into(machine):
    """The backup folder is writable, and OpenClaw's folder when memory files may be written."""
    backups = machine.folder / "other disk"
    assert machine.run("settings", "set", "backup.folder", f'"{backups}"')[0] == 0
    unit = machine.service("install", "--print")[1]
    assert f'ReadWritePaths="{machine.home}" "-{backups}"\n' in unit
    assert f'ReadOnlyPaths="-{machine.source}"\n' in unit
    unit = machine.service("install", "--print", OPENCLAW_WEB_WORKSPACE_WRITES="1")[1]
    assert f'ReadWritePaths="{machine.home}" "-{machine.source}" "-{backups}"\n' in unit
    assert "ReadOnlyPaths" not in unit


@pytest.mark.nightly
def test_addresses_are_restricted_only_when_no_model_is_elsewhere(machine):
    def is_restricted(**more):
        return "\nIPAddressDeny=any\n" in machine.service("install", "--print", **more)[1]

    assert is_restricted() == machine.is_system  # the manager of a user cannot do this
    assert is_restricted(OPENCLAW_WEB_LLM_URL="http://127.0.0.1:11434/v1") == machine.is_system
    assert not is_restricted(OPENCLAW_WEB_LLM_URL="https://api.example.com/v1")
    assert not is_restricted(OPENCLAW_WEB_OPENCLAW="/usr/bin/openclaw")


@pytest.mark.nightly
def test_the_command_of_openclaw_gets_its_rights(machine):
    plain = machine.service("install", "--print")[1]
    handing = machine.service("install", "--print", OPENCLAW_WEB_OPENCLAW="/usr/bin/openclaw")[1]
    for directive in ("MemoryDenyWriteExecute=yes", "InaccessiblePaths="):
        assert directive in plain and directive not in handing
    assert f'Environment="PATH={machine.env["PATH"]}"' in handing and '"PATH=' not in plain
    assert f'"-{machine.source}"' in re.search(r"^ReadWritePaths=.*$", handing, re.MULTILINE)[0]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("words", "status", "words_of_sentence"),
    [
        (("--port", "0"), 2, "--port"),
        (("--port", "65536"), 2, "--port"),
        (("--host", "a b"), 2, "--host"),
        (("--host", "%h"), 2, "--host"),
        (("--host", "0.0.0.0"), 3, "OPENCLAW_WEB_HTTPS=1"),
        (("--user", "nobody-is-called-that"), None, "user"),
    ],
)
def test_wrong_options_are_a_sentence(machine, words, status, words_of_sentence):
    ended, out, err = machine.run("service", "install", *words)
    assert ended == (status or (3 if machine.is_system else 2)) and out == "" and words_of_sentence in err
    assert machine.calls() == [] and not machine.unit.exists()


@pytest.mark.nightly
def test_behind_a_proxy_another_address_is_allowed(machine):
    status, out, _err = machine.service("install", "--print", "--host", "::", OPENCLAW_WEB_HTTPS="1")
    assert status == 0 and "serve --host :: --port 8765\n" in out and "IPAddressDeny" not in out


def test_a_unit_of_somebody_else_is_refused(machine):
    machine.unit.parent.mkdir(parents=True, exist_ok=True)
    machine.unit.write_text("[Service]\nExecStart=/bin/true\n")
    for verb in ("install", "status", "remove"):
        status, _out, err = machine.service(verb)
        assert status == 3 and "was not written by openclaw-web service install" in err
    assert machine.unit.read_text() == "[Service]\nExecStart=/bin/true\n" and machine.calls() == []


@pytest.mark.nightly
def test_without_systemd_a_sentence_names_print(machine):
    status, out, err = machine.service("install", PATH=str(link_tools(machine)))
    assert (status, out) == (3, "") and err.count("\n") == 1 and "--print" in err
    assert not machine.unit.exists()


@pytest.mark.nightly
def test_a_manager_that_cannot_be_reached_is_a_sentence(machine):
    (machine.state / "unreachable").touch()
    status, out, err = machine.service("install")
    assert (status, out) == (3, "") and "Failed to connect to bus: No medium found" in err and err.count("\n") == 1
    assert ("loginctl enable-linger" in err) != machine.is_system
    assert not machine.unit.exists()


@pytest.mark.nightly
def test_a_step_that_systemd_refuses_is_a_sentence(machine):
    (machine.state / "broken").write_text("enable")
    status, _out, err = machine.service("install")
    assert status == 1 and "enable openclaw-web failed: Failed to enable unit: Access denied" in err


@pytest.mark.nightly
def test_a_path_with_a_line_break_is_refused(machine):
    status, out, err = machine.service("install", OPENCLAW_STATE_DIR=f"{machine.folder}/two\nlines")
    assert (status, out) == (3, "") and "two\\nlines" in err and machine.calls() == []


@pytest.mark.nightly
def test_lingering_is_advised_to_users(machine):
    out = machine.service("install", "--no-start")[1]
    assert ("loginctl enable-linger" in out) != machine.is_system
    (machine.folder / "bin" / "loginctl").write_text("#!/bin/sh\necho yes\n")
    assert "loginctl" not in machine.service("install", "--no-start")[1]


@pytest.mark.nightly
def test_a_changed_command_is_reported(machine):
    machine.service("install", "--no-start")
    machine.unit.write_text(machine.unit.read_text().replace(" serve ", " serve --no-watch "))
    status, out, _err = machine.service("status")
    assert status == 0 and "was changed by hand" in out


@ROOT_ALONE
def test_root_does_not_run_the_site_by_accident(machine):
    status, out, err = machine.run("service", "install")
    assert (status, out) == (3, "") and "would run as root" in err and "--user root" in err
    status, out, err = machine.run("service", "install", "--user", "nobody")
    assert (status, out) == (3, "") and f"{machine.home} does not belong to nobody" in err


@pytest.fixture
def home_of_nobody(machine):
    """A blank home of another user, in a folder that this user can open."""
    if not IS_ROOT:
        pytest.skip("only root can give a home to another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        home = Path(folder) / "home"
        home.mkdir()
        shutil.chown(home, "nobody")
        machine.env["OPENCLAW_STATE_DIR"] = str(Path(folder) / "openclaw")
        machine.env["PATH"] = f"{Path(os.path.realpath(machine.folder)) / 'bin'}:{machine.env['PATH']}"
        if "may not run" in machine.run("service", "install", "--print", OPENCLAW_WEB_HOME=str(home))[2]:
            pytest.skip("the user nobody cannot read this checkout")
        yield home


@ROOT_ALONE
def test_root_installs_for_the_owner_of_the_home(machine, home_of_nobody):
    status, out, err = machine.run("service", "install", "--print", OPENCLAW_WEB_HOME=str(home_of_nobody))
    assert (status, err) == (0, "") and "\nUser=nobody\n" in out
    assert list(home_of_nobody.iterdir()) == []


@pytest.mark.nightly
@ROOT_ALONE
def test_the_openclaw_folder_is_that_of_the_account(machine, home_of_nobody):
    """That of root, the usual one of this process, is closed to the site."""
    unset = {"OPENCLAW_WEB_HOME": str(home_of_nobody), "OPENCLAW_STATE_DIR": ""}
    status, out, err = machine.run("service", "install", "--print", **unset)
    folder = Path(pwd.getpwnam("nobody").pw_dir) / ".openclaw"
    assert (status, err) == (0, "") and f'Environment="OPENCLAW_STATE_DIR={folder}"\n' in out
    status, out, err = machine.run("service", "install", "--print", **unset, OPENCLAW_WEB_WORKSPACE_WRITES="1")
    assert (status, err) == (0, "") and f'ReadWritePaths="{home_of_nobody}" "-{folder}"\n' in out


@pytest.mark.nightly
@ROOT_ALONE
def test_an_openclaw_folder_that_the_account_cannot_enter_is_refused(machine, home_of_nobody):
    source = home_of_nobody.with_name("openclaw")
    source.mkdir()
    source.chmod(0o750)
    os.chown(source, 0, 4242)
    status, out, err = machine.run("service", "install", OPENCLAW_WEB_HOME=str(home_of_nobody))
    assert (status, out) == (3, "") and f"nobody may not enter the OpenClaw folder {source}" in err
    assert err.count("\n") == 1 and machine.calls() == [] and not machine.unit.exists()
    with (machine.etc / "group").open("a") as groups:
        groups.write("readers:x:4242:nobody\n")
    assert machine.run("service", "install", "--print", OPENCLAW_WEB_HOME=str(home_of_nobody))[0] == 0


@ROOT_ALONE
def test_links_in_the_home_of_another_user_lead_root_nowhere(machine, home_of_nobody):
    state, precious = home_of_nobody / "state", machine.folder / "precious"
    state.mkdir()
    assert machine.run("settings", "set", "backup.keep", "5")[0] == 0
    shutil.copy(machine.home / "state" / "openclaw.sqlite", state)
    for path in (state, state / "openclaw.sqlite"):
        shutil.chown(path, "nobody")
    precious.write_text("of root")
    for name in ("openclaw.sqlite-shm", "reserve"):
        (state / name).symlink_to(precious)
    command = ("service", "install", "--print")
    status, out, err = machine.run(*command, OPENCLAW_WEB_HOME=str(home_of_nobody))
    assert (status, out) == (3, "") and "cannot be read" in err and precious.read_text() == "of root"
    (state / "openclaw.sqlite-shm").unlink()
    assert machine.run(*command, OPENCLAW_WEB_HOME=str(home_of_nobody))[0] == 0
    assert not any(path.lstat().st_uid == 0 for path in state.iterdir() if not path.is_symlink())


@pytest.mark.nightly
@ROOT_ALONE
@pytest.mark.parametrize("words", [("install",), ("install", "--user", "root"), ("status",), ("remove",)])
def test_root_creates_no_home(machine, words):
    machine.home.rmdir()
    status, out, err = machine.run("service", *words, OPENCLAW_WEB_HOME="")
    if words[0] == "install":
        home = machine.folder / ".openclaw-web"
        assert (status, out) == (3, "") and f"{home} does not exist. Create this folder first" in err
    else:
        assert (status, err) == (0, "")
    assert not list(machine.folder.glob("**/secret.key")) and not (machine.folder / ".openclaw-web").exists()


@ROOT_ALONE
def test_root_creates_no_home_in_a_folder_of_another_user(machine):
    if not IS_ROOT:
        pytest.skip("only root can give a folder to another user")
    machine.home.rmdir()
    shutil.chown(machine.folder, "nobody")
    status, out, err = machine.run("service", "install", "--print")
    assert (status, out) == (3, "") and f"{machine.home} does not exist" in err and not machine.home.exists()


def link_tools(machine):
    """A folder with the programs that a command needs, without systemctl."""
    folder = machine.folder / "tools"
    folder.mkdir()
    for name in ("unshare", "sh", "mount", "test", "true", "loginctl"):
        if program := shutil.which(name):
            (folder / name).symlink_to(program)
    return folder
