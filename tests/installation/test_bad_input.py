"""Starts that cannot work, as real processes: a sentence, the documented status, no traceback."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from tests.homes import Home, user
from tests.processes import CHECKOUT, HANG, find_free_port, wait_for
from tests.suite.nightly import first

pytestmark = pytest.mark.kill

SERVE = ("serve", "--port", "0")
IS_ROOT = os.geteuid() == 0
# Root without its privileges: permissions and low ports count for it as for every user.
AS_ANYBODY = ("setpriv", "--bounding-set=-all") if IS_ROOT else ()
OWN_MOUNTS = ("unshare", "--mount") if IS_ROOT else ("unshare", "--mount", "--map-root-user")
SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/sftp-server", "/usr/libexec/openssh/sftp-server")
# A network disk without a network: sshfs talks to a server of files through two pipes.
MOUNT_SSHFS = """set -e
mkdir there mounted; mkfifo to from
{server} <to >from & sshfs -f -o passive ,:{tmp}/there mounted >to <from &
for _ in $(seq 600); do mountpoint -q mounted && break; sleep 0.1; done
mountpoint -q mounted || {{ echo 'not mounted'; exit 77; }}
"""


@pytest.fixture
def start(tmp_path):
    """Starts `openclaw-web` with a home of its own, after a line for the shell."""
    processes = []
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    usual = inherited | {
        "OPENCLAW_WEB_HOME": str(tmp_path / "home"),
        "OPENCLAW_STATE_DIR": str(tmp_path / "no-openclaw-here"),
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONUNBUFFERED": "1",
    }

    def start(*words, before=(), shell="", env=None):
        chosen = {name: value for name, value in (usual | (env or {})).items() if value is not None}
        command = [*before, "bash", "-c", f'{shell}\nexec "$@"', "bash", sys.executable, "-m", "openclaw_web", *words]
        output = (tmp_path / f"output-{len(processes)}").open("w+")
        pipes = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, env=chosen, cwd=tmp_path, start_new_session=True, **pipes)
        process.output = output
        processes.append(process)
        return process

    yield start
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also what its shell started, such as sshfs
        process.wait()
        process.output.close()


def read(process):
    return Path(process.output.name).read_text(errors="replace")


def end(process):
    """The status and the output of a command."""
    return process.wait(HANG), read(process)


def check_serves(process):
    """Wait until a server answers, stop it, and return its output. It must end with 0."""

    def find_address():
        assert process.poll() is None, read(process)
        return re.search(r"is running at (\S+)", read(process))

    with urllib.request.urlopen(f"{wait_for(find_address)[1]}healthz") as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] == 0, read(process)
    assert "Traceback" not in read(process)
    return read(process)


# Refused values: words, environment, shell line, status, sentence. {tmp} is a folder of the test.
REFUSALS = {
    "a port that no machine has": (("serve", "--port", "65536"), {}, "", 2, "A whole number from 0 to 65,535"),
    "a negative port": (("serve", "--port", "-1"), {}, "", 2, "A whole number from 0 to 65,535"),
    "the same port of the demo": (("demo", "--port", "99999"), {}, "", 2, "A whole number from 0 to 65,535"),
    "a port for root only": (("serve", "--port", "81"), {}, "", 3, r"Port 81 of 127\.0\.0\.1 cannot be used: perm"),
    "a host that does not exist": (
        (*SERVE, "--host", "no-such-host.invalid"), {}, "", 3, r"Port 0 of no-such-host\.invalid cannot be used: ",
    ),
    "a host that cannot exist": ((*SERVE, "--host", "ü" * 80), {}, "", 2, "cannot be the name or the address"),
    "no host": ((*SERVE, "--host", ""), {}, "", 2, "'' cannot be the name or the address"),
    "no web process": ((*SERVE, "--workers", "0"), {}, "", 2, "A whole number from 1 to 100 is needed, not 0"),
    "threads below zero": ((*SERVE, "--threads", "-3"), {}, "", 2, "A whole number from 1 to 1,000 is needed"),
    "a file as the home": (SERVE, {"OPENCLAW_WEB_HOME": "{tmp}/file"}, "touch file", 2, "Not a directory"),
    "a home below a file": (SERVE, {"OPENCLAW_WEB_HOME": "{tmp}/file/a"}, "touch file", 2, "Not a directory"),
    "a link to nothing": (
        SERVE, {"OPENCLAW_WEB_HOME": "{tmp}/link"}, "ln -s {tmp}/nowhere link", 2, "It is a link to '.*nowhere'",
    ),
    "a home that nobody may read": (SERVE, {}, "mkdir -m 0 home", 2, "cannot be the home .*: Permission denied"),
    "a folder that nobody may write to": (
        SERVE, {"OPENCLAW_WEB_HOME": "{tmp}/closed/home"}, "mkdir -m 500 closed", 2, "cannot be the home .*: Perm",
    ),
    "a home that became unwritable": (
        SERVE, {}, "mkdir -p home/state; echo key > home/secret.key; chmod 500 home home/state", 3,
        r"home/state/home\.lock: Permission denied",
    ),
    "an account without a folder": (SERVE, {"OPENCLAW_WEB_HOME": "~no-such-user/x"}, "", 2, "possible folder"),
    "a name that is no text": (SERVE, {"OPENCLAW_WEB_HOME": "{tmp}/\udcff\udcfe"}, "", 2, "not valid UTF-8"),
    "a path that SQLite cannot open": (
        SERVE, {"OPENCLAW_WEB_HOME": "{tmp}/" + "/".join(["x" * 200] * 2)}, "", 2, "more than 350 bytes",
    ),
    "a relative home in a removed folder": (
        SERVE, {"OPENCLAW_WEB_HOME": "home"}, "mkdir x; cd x; rmdir ../x", 2, "the current folder was removed",
    ),
    "a relative folder HOME": (
        ("jobs",), {"OPENCLAW_STATE_DIR": "", "HOME": "account"}, "", 2, "HOME must be an absolute path",
    ),
    "an output on a full disk": (
        ("jobs", "--json"), {}, "exec >/dev/full", 1, "The output was not written: the disk is full",
    ),
    "a relative folder of backups in a removed folder": (
        ("backup", "create", "--to", "x"), {}, "mkdir x; cd x; rmdir ../x", 3, "The current folder was removed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", first(REFUSALS, 8))
def test_it_is_refused_in_a_sentence(start, tmp_path, case):
    words, env, shell, status, sentence = REFUSALS[case]
    env = {name: value.replace("{tmp}", str(tmp_path)) for name, value in env.items()}
    before = set(tmp_path.iterdir())
    process = start(*words, before=AS_ANYBODY, shell=shell.replace("{tmp}", str(tmp_path)), env=env)
    ended, output = end(process)
    assert (ended, "Traceback" in output) == (status, False), output
    assert re.search(sentence, output), output
    for path in tmp_path.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o700)
    home = Path(env.get("OPENCLAW_WEB_HOME", tmp_path / "home"))
    if "OPENCLAW_WEB_HOME" in env:  # no half of a home
        assert not (home.is_dir() and any(home.iterdir()))
        assert {path.name for path in set(tmp_path.iterdir()) - before} <= {"file", "link", "closed", "output-0"}


@pytest.mark.skipif(not IS_ROOT, reason="only root could work in the home of another user")
@pytest.mark.parametrize("folder", ["home", "account"])
def test_root_leaves_no_files_in_the_home_of_a_user(start, tmp_path, folder):
    (tmp_path / folder).mkdir()
    os.chown(tmp_path / folder, 65534, 65534)
    env = {"OPENCLAW_WEB_HOME": str(tmp_path / folder)}
    if folder == "account":  # `sudo` kept HOME, and there is no home yet
        env = {"OPENCLAW_WEB_HOME": None, "HOME": str(tmp_path / folder)}
    for words in (SERVE, ("jobs",)):
        ended, output = end(start(*words, env=env))
        assert ended == 2 and "belongs to nobody" in output and "sudo -u nobody -H openclaw-web" in output, output
    assert not any((tmp_path / folder).iterdir())


# What works all the same: before, shell line, environment.
WORKING = {
    "no write permission to the current folder": (AS_ANYBODY, "mkdir -m 500 closed; cd closed", {}),
    "a removed current folder": ((), "mkdir x; cd x; rmdir ../x", {}),
    "shared memory that is read-only": (OWN_MOUNTS, "mount -t tmpfs -o ro none /dev/shm", {}),
    "shared memory that is full": (
        OWN_MOUNTS, "mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/x", {},
    ),
    "the locale POSIX": ((), "", {"LC_ALL": "POSIX", "LANG": None, "TERM": None}),
    "a locale that is not installed": ((), "", {"LC_ALL": "xx_XX.ISO-8859-1", "TERM": "no-such-terminal"}),
    "an encoding without most characters": ((), "", {"LC_ALL": "zh_CN", "PYTHONIOENCODING": "ascii"}),
    "no variable HOME": ((), "", {"HOME": None, "LANG": None}),
    "a folder HOME that does not exist": ((), "", {"HOME": "/nowhere/at/all"}),
    "a relative home": ((), "", {"OPENCLAW_WEB_HOME": "home"}),
    "a path of spaces, quotes and line breaks": ((), "", {"OPENCLAW_WEB_HOME": "home/a b'c\"d%41%?e=f#g\nh\\i;$j"}),
    "a path of 200 characters": ((), "", {"OPENCLAW_WEB_HOME": "home/" + "x" * 200}),
}  # fmt: skip


@pytest.mark.parametrize("case", first(WORKING))
def test_the_site_is_served_all_the_same(start, migrated, tmp_path, case):
    before, shell, env = WORKING[case]
    shutil.copytree(migrated, tmp_path / env.get("OPENCLAW_WEB_HOME", "home"))
    process = start(*SERVE, before=before, shell=f"set -e; {shell}", env=env)
    if before == OWN_MOUNTS and process.poll() is None and "permitted" in read(process):
        pytest.skip("this machine gives no mount namespace")
    check_serves(process)


@pytest.mark.nightly
def test_an_address_may_have_brackets(start, migrated, tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    shutil.copytree(migrated, tmp_path / "home")
    check_serves(start(*SERVE, "--host", "[::1]"))


def test_closed_streams_are_no_files_of_the_site(start, migrated, tmp_path):
    """The next file would get the number of a stream, and everything that is printed."""
    shutil.copytree(migrated, tmp_path / "home")
    process = start("serve", "--port", str(port := find_free_port()), shell="exec <&- >&- 2>&-")

    def answers():
        assert process.poll() is None
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
                return answer.status == 200
        except OSError:
            return False

    wait_for(answers)
    assert {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)} == {"/dev/null"}
    process.send_signal(signal.SIGTERM)
    assert end(process) == (0, "")


@pytest.mark.nightly
def test_of_ten_servers_started_at_once_one_serves(start, migrated, tmp_path):
    shutil.copytree(migrated, tmp_path / "home")
    processes = [start(*SERVE) for _number in range(10)]
    wait_for(lambda: sum(process.poll() is not None for process in processes) == 9)
    (server,) = [process for process in processes if process.poll() is None]
    for process in processes:
        if process is not server:
            ended, output = end(process)
            assert ended == 3 and f"OpenClaw Web is already running in {tmp_path / 'home'}." in output, output
            assert "Traceback" not in output
    check_serves(server)


@pytest.mark.nightly
@pytest.mark.parametrize("moment", ["1970-01-02 00:00:00", "2100-01-02 00:00:00"])
def test_a_wrong_clock_at_the_first_start_does_no_lasting_harm(start, moment):
    if not shutil.which("faketime"):
        pytest.skip("faketime is not installed")
    # Not below the program faketime, which would get the signals.
    shell = f"export LD_PRELOAD=$(faketime now printenv LD_PRELOAD) FAKETIME='@{moment}'"
    assert "Create the first admin" in check_serves(start(*SERVE, shell=shell))
    assert "Create the first admin" in check_serves(start(*SERVE))
    output = end(start("doctor", "--json"))[1]
    assert '"store": []' in output and "Traceback" not in output, output


@pytest.mark.nightly
def test_a_read_only_home_is_refused(start, migrated, tmp_path):
    shutil.copytree(migrated, tmp_path / "home")
    for name in ("home", "no-home-yet"):
        (tmp_path / name).mkdir(exist_ok=True)
        shell = f"set -e; mount --bind {name} {name}; mount -o remount,ro,bind {name}"
        env = {"OPENCLAW_WEB_HOME": str(tmp_path / name)}
        ended, output = end(start(*SERVE, before=OWN_MOUNTS, shell=shell, env=env))
        if "permitted" in output:
            pytest.skip("this machine gives no mount namespace")
        assert ended == (3 if name == "home" else 2), output
        assert "Read-only file system" in output and "Traceback" not in output
    assert not any((tmp_path / "no-home-yet").iterdir())


@pytest.mark.parametrize(("mode", "sentence"), [(0, "the file cannot be opened"), (0o400, "the file is not writable")])
def test_a_database_of_another_user_is_refused(start, migrated, tmp_path, mode, sentence):
    shutil.copytree(migrated, tmp_path / "home")
    (tmp_path / "home" / "state" / "openclaw.sqlite").chmod(mode)
    for words in (("create_user", "mei"), SERVE, ("clearsessions",)):
        ended, output = end(start(*words, before=AS_ANYBODY))
        assert (ended, "Traceback" in output) == (1, False), output
        assert f"A database of {tmp_path / 'home'} cannot be used: {sentence}. Check that all files" in output


def test_an_import_needs_no_space_in_the_folder_for_temporary_files(start, tmp_path):
    """SQLite keeps there what a savepoint has changed."""
    source = Home(tmp_path / "openclaw")
    scripts = [source.transcript(user("The first message.")) for _number in range(20)]
    env = {"OPENCLAW_STATE_DIR": str(source.root), "TMPDIR": str(tmp_path / "full")}
    assert end(start("collect", env=env))[0] == 0
    for script in scripts:
        script.add(*(user("A message. " * 90) for _number in range(100)))
    shell = "set -e; mkdir full; mount -t tmpfs -o size=16k none full; head -c 1M /dev/zero >full/fill || true"
    ended, output = end(start("collect", before=OWN_MOUNTS, shell=shell, env=env))
    if "permitted" in output:
        pytest.skip("this machine gives no mount namespace")
    assert ended == 0 and "2,000 records (user 2,000)" in output, output


def test_a_full_disk_at_the_first_start_leaves_no_key(start, tmp_path):
    (tmp_path / "home").mkdir()
    shell = "set -e; mount -t tmpfs -o size=64k none home; head -c 1M /dev/zero >home/fill || true"
    check = "ls -A home/state home; exit $status"
    process = start(*SERVE, before=OWN_MOUNTS, shell=f'{shell}; status=0; "$@" || status=$?; {check}')
    ended, output = end(process)
    if "permitted" in output:
        pytest.skip("this machine gives no mount namespace")
    assert ended in (1, 2) and "No space left" in output and "Traceback" not in output, output
    assert "secret.key" not in output


def build_sshfs(tmp_path):
    server = next(filter(os.path.exists, SFTP_SERVERS), None)
    if not (shutil.which("sshfs") and server and Path("/dev/fuse").exists()):
        pytest.skip("sshfs, sftp-server or /dev/fuse is missing")
    return MOUNT_SSHFS.format(server=server, tmp=tmp_path).replace(",:", ":")


@pytest.mark.parametrize("words", [SERVE, ("jobs",), ("backup", "restore", "no-archive")])
def test_a_network_disk_is_refused_before_anything_is_written(start, tmp_path, words):
    process = start(
        *words, before=OWN_MOUNTS, shell=build_sshfs(tmp_path), env={"OPENCLAW_WEB_HOME": f"{tmp_path}/mounted/home"}
    )
    ended, output = end(process)
    if ended == 77:
        pytest.skip("this machine mounts no FUSE file system")
    assert ended == 2 and "network disk or a shared folder (fuse.sshfs)" in output, output
    assert "OPENCLAW_WEB_NETWORK_DISK=1" in output and "Traceback" not in output
    assert not any((tmp_path / "there").iterdir())


def test_the_check_of_network_disks_can_be_turned_off(start, tmp_path):
    env = {"OPENCLAW_WEB_HOME": f"{tmp_path}/mounted/home", "OPENCLAW_WEB_NETWORK_DISK": "1"}
    ended, output = end(start("settings", before=OWN_MOUNTS, shell=build_sshfs(tmp_path), env=env))
    if ended == 77:
        pytest.skip("this machine mounts no FUSE file system")
    assert "network disk" not in output and "Traceback" not in output, output
    assert (tmp_path / "there" / "home" / "secret.key").exists()
