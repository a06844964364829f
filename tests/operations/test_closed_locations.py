"""`uninstall --check` where folders are closed: their places are named as unknown, and get no command."""

import shutil
import subprocess

import pytest

from tests.operations.accounts import account
from tests.operations.service.machines import AS_USER

pytestmark = pytest.mark.kill
account = account


@pytest.fixture
def stranger(account):
    """An account without a name; closed folders are closed to it also where root runs tests."""
    if AS_USER and subprocess.run([*AS_USER, "true"], capture_output=True).returncode:
        pytest.skip("this system has no namespaces (unshare)")
    account.prefix = AS_USER
    account.closed = account.folder / "closed"
    account.closed.mkdir()
    yield account
    account.closed.chmod(0o700)


def close_a_folder_of_commands(stranger):
    stranger.env["PATH"] = f"{stranger.closed}:{stranger.env['PATH']}"
    return [stranger.closed / "openclaw-web"]


def close_the_openclaw_folder(stranger):
    stranger.env["OPENCLAW_STATE_DIR"] = str(stranger.closed / ".openclaw")
    return [stranger.closed / ".openclaw" / "openclaw-web-demo.json"]


def close_the_folder_of_the_person(stranger):
    stranger.env["HOME"] = str(stranger.closed)
    (stranger.closed / ".bashrc").write_text("source <(openclaw-web completion bash)\n")
    names = (".openclaw-web", ".openclaw/openclaw-web-demo.json", ".openclaw-web-demo/openclaw/openclaw-web-demo.json")
    names += (".bashrc", ".config/systemd/user/openclaw-web.service", ".config/openclaw-web", ".zfunc/_openclaw-web")
    return [stranger.closed / name for name in names]


def close_the_folder_of_the_home(stranger):
    stranger.env["OPENCLAW_WEB_HOME"] = str(stranger.closed / "home")
    return [stranger.closed, stranger.closed / "home"]


def close_a_file_that_a_shell_reads(stranger):
    (stranger.folder / ".bashrc").write_text("source <(openclaw-web completion bash)\n")
    (stranger.folder / ".bashrc").chmod(0)
    return [stranger.folder / ".bashrc"]


def close_the_backup_folder(stranger):
    stranger.run("settings", "set", "backup.folder", stranger.closed)
    (stranger.closed / "openclaw-web-20300101T000000Z.tar.zst").touch()
    return [stranger.closed]


def close_a_replaced_home(stranger):
    stranger.closed = stranger.closed.rename(stranger.folder / ".openclaw-web.before-restore-20300101T000000Z")
    return [stranger.closed]


@pytest.mark.parametrize(
    "arrange",
    [
        close_a_folder_of_commands,
        close_the_openclaw_folder,
        close_the_folder_of_the_person,
        close_the_folder_of_the_home,
        close_a_file_that_a_shell_reads,
        close_the_backup_folder,
        close_a_replaced_home,
    ],
)
def test_places_in_closed_folders_are_named_as_unknown(stranger, arrange):
    places = arrange(stranger)
    stranger.closed.chmod(0)
    report = stranger.check()
    [problem] = [sentence for sentence in report["problems"] if "cannot be checked" in sentence]
    assert set(map(str, places)) <= set(problem.partition("site: ")[2].split(", "))
    unknown = [place for place in report["locations"] if place["exists"] is None]
    assert {place["path"] for place in unknown} >= set(map(str, places))
    assert not any(place["remove"] or place["bytes"] for place in unknown)
    text = stranger.run("uninstall", "--check")
    assert problem in text and not any(f"{path} (" in text for path in places)


def test_a_home_that_cannot_be_read_gets_no_command(stranger):
    """It could be the folder of somebody else."""
    stranger.env["OPENCLAW_WEB_HOME"] = str(stranger.closed)
    stranger.closed.chmod(0)
    report = stranger.check()
    home = report["locations"][0]
    assert (home["exists"], home["remove"], home["bytes"]) == (True, "", None) and "cannot be read" in home["note"]
    assert any(str(stranger.closed / "state" / "openclaw.sqlite") in sentence for sentence in report["problems"])


def test_a_database_of_an_agent_that_cannot_be_read_is_a_problem(stranger, migrated):
    shutil.copytree(migrated, stranger.folder / ".openclaw-web")
    agents = stranger.folder / ".openclaw-web" / "agents"
    for name in ("first", "second"):
        (agents / name / "agent").mkdir(parents=True)
        (agents / name / "agent" / "openclaw-agent.sqlite").touch()
    (agents / "first" / "agent" / "openclaw-agent.sqlite").chmod(0)
    (agents / "second" / "agent").chmod(0)
    problems = stranger.check()["problems"]
    (agents / "second" / "agent").chmod(0o700)
    files = {str(agents / name / "agent" / "openclaw-agent.sqlite") for name in ("first", "second")}
    assert {sentence.partition(" ")[0] for sentence in problems} == files


def test_a_number_without_an_account_has_no_folder_of_its_own(stranger):
    del stranger.env["HOME"]
    stranger.env |= {
        "OPENCLAW_WEB_HOME": str(stranger.folder / "web"),
        "OPENCLAW_STATE_DIR": str(stranger.folder / "o"),
    }
    report = stranger.check()
    assert report["problems"] == [] and not any("~" in place["path"] + place["note"] for place in report["locations"])
