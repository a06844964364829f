"""The examples of docs/api.md run against a real server.

Only their names in capitals are replaced.
"""

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.homes import Home as OpenClawHome
from tests.homes import assistant, result, user
from tests.processes import Home, wait_for

DOCS = Path(__file__).parents[2] / "docs" / "api.md"
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MAKE_A_TOKEN = """
from people.accounts import services as accounts, tokens
user = accounts.create_user("root", "admin", None, by="root")
print(tokens.make_token(user, name="docs", role="admin")[1])
"""
# Each answer of curl is stored in its own file and printed as well.
PREAMBLE = """set -euo pipefail
curl() { command curl "$@" | tee "$(mktemp -p "$ANSWERS")"; }
"""


class Site:
    """A server with one session of two turns, its samples, a ready export, and a job."""

    def __init__(self, home, openclaw):
        self.home, self.folder = home, home.path.parent
        home.env["OPENCLAW_STATE_DIR"] = str(openclaw.root)
        self.token = home.python(MAKE_A_TOKEN)
        self.address = f"{home.serve('--no-watch').address()}/api/v1"
        script = openclaw.transcript(
            user("Please check the nightly import."),
            assistant("", ("call-1", "exec", {"command": "tail import.log"})),
            result("call-1", "line 12: bad quote", isError=True),
            assistant("It failed."),
            user("And the backup?"),
            assistant("It is fine."),
        )
        job = self.ask("/operations/collect", {})["id"]
        wait_for(lambda: self.ask(f"/operations/jobs/{job}")["state"] == "finished")
        sample = self.ask(f"/agents/main/sessions/{script.session}/samples", {"turns": [2]})["made"][0]
        self.ask(f"/samples/{sample}/label", {"status": "approved"})
        export = self.ask("/exports", {"name": "docs", "format": "alpaca"})["id"]
        wait_for(lambda: self.ask(f"/exports/{export}")["state"] == "ready")
        self.names = {"SESSION": script.session, "SAMPLE": sample, "EXPORT": export, "JOB": job}

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.address + path, data, headers)) as response:
            return json.load(response)

    def fill_in(self, text):
        """Returns an example with real values for its names in capitals."""
        text = text.replace("http://127.0.0.1:8765/api/v1", self.address).replace("oc_…", self.token)
        for name, value in self.names.items():
            text = re.sub(rf"\b{name}\b", value, text)
        return text

    def run(self, command, text):
        return subprocess.run(
            [*command, text], cwd=self.folder, env=self.home.env, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory, migrated):
    folder = tmp_path_factory.mktemp("docs")
    home = Home.copied(migrated, folder / "home")
    yield Site(home, OpenClawHome(folder / "openclaw"))
    home.close()


def examples(language):
    return [text for kind, text in BLOCK.findall(DOCS.read_text()) if kind == language]


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed: ./dev test installs it")
def test_curl(site):
    """Runs all examples in one shell, in the order of the page."""
    answers = site.folder / "answers"
    answers.mkdir()
    site.home.env["ANSWERS"] = str(answers)
    blocks = examples("bash")
    assert len(blocks) >= 5
    ran = site.run(["bash", "-c"], PREAMBLE + site.fill_in("\n".join(blocks)))
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    answer_texts = [path.read_text() for path in answers.iterdir()]
    assert len(answer_texts) >= 20
    for answer in answer_texts:
        for line in answer.splitlines() if answer.count("\n") > 1 else [answer]:
            assert not line or next(iter(json.loads(line))) not in ("detail", "code"), line
    assert len((site.folder / "turns.jsonl").read_text().splitlines()) == 2
    assert "It failed on line 12." in ran.stdout


def test_python(site):
    blocks = examples("python")
    assert blocks
    for block in blocks:
        ran = site.run([sys.executable, "-c"], site.fill_in(block))
        assert ran.returncode == 0, ran.stderr
        # The turn of a plugin, which an example of curl records, is before them.
        assert ran.stdout.splitlines()[-2:] == ["And the backup?", "Please check the nightly import."]
