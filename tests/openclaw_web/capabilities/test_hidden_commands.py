"""Processes with OPENCLAW_WEB_DISABLED: commands and the API are hidden, tables stay."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from openclaw_web import capabilities
from tests.homes import Home as OpenClawHome
from tests.homes import user
from tests.jobs import fork_server

ROOT = Path(__file__).resolve().parents[3]
NAMES = sorted(capabilities.CAPABILITIES)
COMMANDS = {
    "gate": ("reflection gate list", "reflection --json gate list", "reflection gate --help"),
    "guardian": ("reflection guardian list", "reflection guardian list --json"),
    "artifacts": ("artifact list", "artifact list --json"),
    "datasets": ("export --help", "verify_export", "help export"),
    "episodes": ("episodes query --global", "episodic query --global"),
}
# Addresses of the API that answer 200 for an agent without anything.
API = {
    "gate": ("agents/main/gate/decisions", "agents/main/gate/statistics"),
    "guardian": ("agents/main/guardian/writes", "agents/main/guardian/rules"),
    "artifacts": ("agents/main/artifacts", "agents/main/lint"),
    "datasets": ("samples", "exports", "review/progress"),
    "automation": ("agents/main/cron", "agents/main/subagents"),
}
EVERYWHERE = ("agents/main/sessions", "overview", "operations/jobs")
# Prints the status of each address for the owner of a token, and the paths of the API's document.
ASK = """
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
import django
django.setup()
from django.test import Client
browser = Client(headers={"Authorization": f"Bearer {sys.argv[1]}", "Host": "localhost"})
answers = {place: browser.get(f"/api/v1/{place}") for place in sys.argv[2:]}
document = browser.get("/api/v1/openapi.json").json()
print(json.dumps({
    "answers": {place: [answer.status_code, answer.json().get("code", "")] for place, answer in answers.items()},
    "paths": list(document["paths"]),
}))
"""


class Site:
    """A home with one imported session, for processes with the variable."""

    def __init__(self, folder):
        openclaw = OpenClawHome(folder / "openclaw")
        openclaw.transcript(user("Hello"))
        self.home = folder / "home"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
        self.env = inherited | {"OPENCLAW_WEB_HOME": str(self.home), "OPENCLAW_STATE_DIR": str(openclaw.root)}
        self.run("collect")
        self.run("create_user", "root", "--role", "admin")
        self.token = orjson.loads(self.run("create_token", "root", "--name", "test", "--role", "admin", "--json")[1])[
            "token"
        ]

    def run(self, *words, disabled=""):
        """Run `openclaw-web`; return status, standard output and standard error."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        env = self.env | {"OPENCLAW_WEB_DISABLED": disabled}
        with fork_server.start("openclaw_web", *words, env=env, **pipes) as process:
            out, error = process.communicate()
        return process.returncode, out, error

    def ask(self, *places, disabled=""):
        """Ask the API; return statuses and codes by address, and paths of the document."""
        status, out, error = self.start([sys.executable, "-c", ASK, self.token, *places], disabled)
        assert status == 0, error
        return orjson.loads(out.splitlines()[-1])

    def read_tables(self):
        """The names of all tables in the global file and in the agent's."""
        tables = set()
        for file in (self.home / "state" / "openclaw.sqlite", *self.home.glob("agents/*/agent/*.sqlite")):
            connection = sqlite3.connect(file)
            tables |= {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            connection.close()
        return tables

    def start(self, command, disabled):
        env = self.env | {"OPENCLAW_WEB_DISABLED": disabled}
        ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return Site(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("names", [("artifacts", "gate"), ("automation", "guardian"), ("datasets", "episodes")])
def test_the_api_has_no_such_addresses(site, names):
    own = [place for name in names for place in API.get(name, ())]
    others = [*EVERYWHERE, *(place for name, places in API.items() if name not in names for place in places)]
    answers = site.ask(*own, *others, disabled=",".join(names))
    expected = {place: [404, "not_found"] if place in own else [200, ""] for place in (*own, *others)}
    assert answers["answers"] == expected
    documented = {path.removeprefix("/api/v1/").replace("{agent}", "main") for path in answers["paths"]}
    assert not documented.intersection(own) and documented.issuperset(others)


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_refused(site, name):
    for line in COMMANDS[name]:
        status, out, error = site.run(*line.split(), disabled=name)
        subject = re.search(r"(reflection) (?:--json )?(\w+)|(artifact|export|verify_export|episod\w+)", line)
        words = " ".join(filter(None, subject.groups())).replace("episodic", "episodes")
        sentence = f"{words} is disabled (OPENCLAW_WEB_DISABLED)."
        assert (status, error) == (3, f"{sentence}\n")
        if "--json" in line:
            assert orjson.loads(out)["ok"] is False and orjson.loads(out)["error"] == sentence
        else:
            assert out == ""


def test_help_lists_commands_of_enabled_capabilities_only(site):
    def list_commands(disabled):
        return set(re.findall(r"^  (\w+)  +", site.run("--help", disabled=disabled)[1], re.MULTILINE))

    before = list_commands("")
    assert before - list_commands("artifacts") == {"artifact"}
    assert before - list_commands(" Datasets , artifacts,") == {"artifact", "export", "verify_export"}
    assert before - list_commands("gate") == set()  # `reflection guardian` is left
    assert before - list_commands("gate,guardian") == set()  # `reflection dataset` is left
    assert before - list_commands("gate,guardian,datasets") == {"reflection", "export", "verify_export"}


def test_verbs_of_other_capabilities_work(site):
    status, out, _error = site.run("reflection", "--help", disabled="gate")
    assert status == 0 and "guardian" in out and not re.search(r"\bgate\b", out)
    assert site.run("reflection", "guardian", "list", disabled="gate")[0] == 0
    assert site.run("reflection", "gate", "list", disabled="guardian")[0] == 0
    status, out, _error = site.run("completion", "bash", disabled="gate,datasets")
    assert status == 0 and "verify_export" not in out and "artifact" in out and "guardian" in out
    assert "_gate_" not in out


def test_an_unknown_name_stops_the_start(site):
    # A copy has read the names before: this is a process of its own.
    status, out, error = site.start([sys.executable, "-m", "openclaw_web", "jobs"], "gate,gates")
    assert (status, out) == (2, "")
    assert error == (
        "OPENCLAW_WEB_DISABLED must hold names of artifacts, automation, datasets, episodes, gate, guardian, "
        "separated by commas, not 'gates'.\n"
    )


def test_imports_go_on_and_tables_stay(tmp_path, site):
    fresh = Site.__new__(Site)
    fresh.home, fresh.env = tmp_path / "home", site.env | {"OPENCLAW_WEB_HOME": str(tmp_path / "home")}
    assert fresh.run("collect", disabled=",".join(NAMES))[0] == 0
    assert fresh.read_tables() == site.read_tables()
    assert {"memory_gate_decisions", "write_guardian_audit", "artifacts", "dataset_samples"} <= fresh.read_tables()
