"""`openclaw-web artifact run`: commands whose output is short, long, endless, or cannot be stored."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from tests.processes import CHECKOUT, Home

HANDLE = "ocm_artifact:v1:sha256:"
NUMBERS = "".join(f"{number}\n" for number in range(1, 20_001)).encode()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("runs") / "home")
    assert home.start("jobs").end() == 0  # creates the databases
    yield home
    home.close()


def begin(home, *words, **options):
    env = home.env | {"PYTHONPATH": str(CHECKOUT), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "openclaw_web", "artifact", *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def run(home, *words, stdin=b"", options=(), **more):
    """Run a command; (exit status, output, sentences)."""
    process = begin(home, "run", *options, "--", *words, stdin=subprocess.PIPE, **more)
    output, sentences = process.communicate(stdin)
    return process.returncode, output, sentences.decode()


@pytest.mark.parametrize(
    ("words", "status", "output"),
    [
        (("sh", "-c", "echo out; echo err >&2; echo out; exit 3"), 3, b"out\nerr\nout\n"),
        (("printf", "no newline \\377"), 0, b"no newline \xff"),
        (("true",), 0, b""),
        (("cat",), 0, b"of a person"),
        (("printf", "%s\n", "--json", "--", "-x"), 0, b"--json\n--\n-x\n"),
        (("sh", "-c", "echo last words; kill -9 $$"), 137, b"last words\n"),
        (("sh", "-c", "kill -TERM $$"), 143, b""),
        (("sh", "-c", "sleep 600 & echo it goes on"), 0, b"it goes on\n"),
        (("head", "-c", "8000", "/dev/zero"), 0, bytes(8_000)),
    ],
)
def test_a_short_output_is_passed_on(home, words, status, output):
    assert run(home, *words, stdin=b"of a person") == (status, output, "")


def test_a_command_that_cannot_be_run(home, tmp_path):
    assert run(home, "no-such-command") == (
        127, b"", "no-such-command cannot be run: there is no such file or folder.\n",
    )  # fmt: skip
    assert run(home, str(tmp_path))[0] == 126


def test_a_long_output_becomes_an_artifact(home):
    status, output, sentences = run(home, "sh", "-c", "seq 1 20000; exit 4")
    assert (status, sentences) == (4, "")
    handle = HANDLE + hashlib.sha256(NUMBERS).hexdigest()
    assert output.startswith(b"1\n2\n3\n") and b"\n...\n" in output and b"\n20000\n" + handle.encode() in output
    assert len(output) < 2_500 and b"More: openclaw-web artifact fetch " in output
    fetch = begin(home, "fetch", handle, "--mode", "tail", "--max-chars", "12")
    assert fetch.communicate()[0].strip() == b"19999\n20000"


def test_the_receipt(home):
    status, output, _sentences = run(home, "seq", "1", "20000", options=["--json", "--preview-chars", "100"])
    receipt = json.loads(output)
    assert (status, receipt["ok"], receipt["exitStatus"]) == (0, True, 0)
    assert receipt["handle"] == HANDLE + hashlib.sha256(NUMBERS).hexdigest()
    status, output, _sentences = run(home, "sh", "-c", "echo no; exit 5", options=["--json"])
    receipt = json.loads(output)
    assert (status, receipt["text"], receipt["handle"], receipt["exitStatus"]) == (5, "no\n", None, 5)


def test_an_endless_output_has_an_end(home):
    status, output, sentences = run(home, "yes", options=["--most-mb", "1"])
    assert (status, sentences) == (143, "The output reached 1 MB, and the command was ended. The rest is missing.\n")
    assert hashlib.sha256(b"y\n" * 512 * 1024).hexdigest().encode() in output


def test_a_full_disk_is_said(home):
    def limit():  # writes beyond this size fail as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

    status, output, sentences = run(
        home, "sh", "-c", "echo begin; head -c 9000000 /dev/urandom | base64; echo end; exit 6", preexec_fn=limit
    )
    assert status == 6
    assert output.startswith(b"begin\n") and output.endswith(b"\nend\n\n") and len(output) < 2_100
    assert sentences.startswith("The output (12,") and "was not stored" in sentences


def test_sigterm_is_passed_on_and_the_output_stays(home):
    script = "trap 'echo bye; exit 5' TERM; echo ready > \"$0\"; while :; do sleep 0.1; done"
    ready = home.path / "ready"
    process = begin(home, "run", "--", "sh", "-c", script, str(ready))
    while not ready.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.communicate()[0] == b"bye\n"
    assert process.returncode == 5
    os.unlink(ready)


def test_wrong_use(home):
    assert run(home, "true", options=["--preview-chars", "0"])[0] == 2
    assert run(home, "true", options=["--max-chars", "9000"])[0] == 2
