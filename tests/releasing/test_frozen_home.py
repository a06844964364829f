"""Every version from the frozen one on migrates homes, and keeps what people judged and entered in them.

The home is data: see tests/data/frozen_home/README.md. Each run updates it as `serve` does, with a backup before and a
kill in between, and compares every row of evidence with the packed bytes.
"""

import http.cookiejar
import json
import re
import shutil
import sqlite3
import urllib.parse
import urllib.request
from contextlib import closing

import pytest

from tests.installation import upgraded_homes
from tests.processes import wait_for
from tests.releasing import frozen_home

FACTS = json.loads((frozen_home.DATA / "facts.json").read_text())
PAGES = ("/", "/samples/", "/review/", "/datasets/", "/exports/", "/findings/", "/agents/main/writes/", "/operations/")


class Site:
    """A running site, asked by a token or by somebody who signed in."""

    def __init__(self, address):
        self.address = address
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def ask(self, path, method="GET"):
        headers = {"Authorization": f"Bearer {FACTS['token']}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/api/v1{path}", headers=headers, method=method)
        if method == "POST":
            request.data = b"{}"
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read()

    def run_job(self, path):
        """Start a job and return its row when it has ended."""
        job = json.loads(self.ask(path, "POST"))
        return wait_for(lambda: next(iter([row for row in [self.find_job(job["id"])] if row["finished_at"]]), None))

    def find_job(self, job_id):
        return json.loads(self.ask(f"/operations/jobs/{job_id}"))

    def sign_in(self):
        page = self.open("/sign-in/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]
        fields = {"csrfmiddlewaretoken": token, "username": FACTS["username"], "password": FACTS["password"]}
        headers = {"Referer": f"{self.address}/sign-in/", "Origin": self.address}
        data = urllib.parse.urlencode(fields).encode()
        self.browser.open(urllib.request.Request(f"{self.address}/sign-in/", data, headers), timeout=120).close()

    def open(self, path):
        with self.browser.open(f"{self.address}{path}", timeout=120) as answer:
            assert answer.status == 200
            return answer.read().decode()


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """The home as it was packed, which nothing changes."""
    return frozen_home.unpack(tmp_path_factory.mktemp("frozen"))


@pytest.fixture(scope="module")
def updated(frozen, tmp_path_factory):
    """A copy that this version updated after a kill in the middle of its migrations, and the output of the start."""
    folder = tmp_path_factory.mktemp("updated")
    program = frozen_home.make_program(folder / "program")
    home = shutil.copytree(frozen, folder / "home")
    with upgraded_homes.start(program, home, "serve", "--port", "0", "--no-watch") as process:
        wait_for(lambda: [*home.glob(upgraded_homes.BACKUPS)] or process.poll() is not None)
        wait_for(lambda: is_migrating(home) or process.poll() is not None)
        assert process.poll() is None, process.stdout.read()
        process.kill()
    assert len(upgraded_homes.read_migrations(home / upgraded_homes.GLOBAL)) > 0
    server = upgraded_homes.start(program, home, "serve", "--port", "0", "--no-watch")
    output = ""
    for line in server.stdout:
        output += line
        if running := upgraded_homes.RUNNING.search(line):
            break
    else:
        pytest.fail(output)
    yield program, home, Site(running[1]), output
    server.terminate()
    server.stdout.read()
    server.stdout.close()
    server.wait()


def is_migrating(home):
    """Whether a migration is under way: the slow one writes much into the log of its database."""
    logs = [*home.glob("state/openclaw.sqlite-wal"), *home.glob("agents/*/agent/openclaw-agent.sqlite-wal")]
    return any(log.stat().st_size > 1_000_000 for log in logs)


def test_every_kind_of_evidence_is_in_it(frozen):
    """An empty table would prove nothing."""
    evidence = frozen_home.read_evidence(frozen)
    held = {table for (_file, table), rows in evidence.items() if rows}
    assert {table for tables in frozen_home.EVIDENCE.values() for table in tables} == held
    verdicts = {(row["scope"], row["verdict"]) for row in map(dict, evidence[frozen_home.GLOBAL, "finding_verdicts"])}
    assert {scope for scope, _verdict in verdicts} == {"value", "place", "rule"}
    assert {"confirmed", "dismissed", "added", "undone"} == {verdict for _scope, verdict in verdicts}


@pytest.mark.kill
def test_an_update_keeps_every_row_of_evidence(frozen, updated):
    program, home, _site, output = updated
    for file in (upgraded_homes.GLOBAL, upgraded_homes.AGENT):
        assert {"gate.9999_slow", "jobs.9999_slow"} & upgraded_homes.read_migrations(home / file)
    before = frozen_home.read_evidence(frozen)
    columns = frozen_home.read_columns(frozen)
    assert frozen_home.find_losses(before, frozen_home.read_evidence(home, columns)) == {}
    backups = sorted(home.glob(upgraded_homes.BACKUPS))  # another one, if the kill came after the first migration
    assert "used again" in output or "opened and verified" in output
    for backup in backups:
        assert upgraded_homes.run(program, home, "backup", "verify", str(backup))[0] == 0


def test_exports_and_releases_are_what_they_were(frozen, updated):
    _program, _home, site, _output = updated
    with closing(sqlite3.connect(frozen / frozen_home.GLOBAL)) as db:
        exports = db.execute("SELECT id, file_path FROM dataset_exports WHERE state = 'ready'").fetchall()
        releases = db.execute("SELECT dataset_id, number FROM dataset_versions").fetchall()
    assert len(exports) > 10 and len(releases) > 2
    for export_id, path in exports:
        manifest = json.loads(site.ask(f"/exports/{export_id}"))["manifest"]
        for file in manifest["files"]:
            assert site.ask(f"/exports/{export_id}/files/{file['name']}") == (frozen / path / file["name"]).read_bytes()
    jobs = [site.run_job(f"/exports/{export_id}/verify") for export_id, _path in exports]
    checks = [site.run_job(f"/datasets/{dataset}/versions/{number}/verify") for dataset, number in releases]
    assert all("Its seal was added after the release." in job["message"] for job in checks), checks
    jobs += checks
    assert [job["message"] for job in jobs if job["state"] != "finished"] == []


def test_its_main_pages_open(updated):
    _program, _home, site, _output = updated
    site.sign_in()
    for path in PAGES:
        assert "<h1" in site.open(path), path


def test_the_doctor_finds_what_it_found_then(updated):
    program, home, _site, _output = updated
    _status, output = upgraded_homes.run(program, home, "doctor", "--json")
    report = json.loads(output[output.index("{") : output.rindex("}") + 1])
    assert {finding["check"] for finding in report["store"]} <= set(FACTS["doctor"]), report["store"]
    assert report["loss_count"] == 0
