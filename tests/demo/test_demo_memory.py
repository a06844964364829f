"""The demo's story of a wrong memory: on disk, in the store and on pages."""

import json
import re
import sqlite3
import urllib.request
from contextlib import closing

import pytest

from agents.models import CollectorSource
from benchmarks.corpus import UNTIL_MS
from demo import wrong_memory
from demo.recording import Recording
from demo.showcase import MARKER
from demo.wrong_memory import FLAGGED, REFUSED
from guardian.corrections import patterns
from tests.processes import Home

TOKEN = """
from people.accounts import tokens
print(tokens.make_token_for("demo", name="test", role="operator", days=1)[1])
"""


class Site:
    """A demo that a process of its own prepared, with its dates kept."""

    def __init__(self, path):
        self.home, self.openclaw = Home(path / "home"), path / "openclaw"
        self.home.env["OPENCLAW_STATE_DIR"] = str(self.openclaw)
        Recording(UNTIL_MS).write_home(self.openclaw)
        (self.openclaw / MARKER).write_text(json.dumps({"complete": True, "until_ms": UNTIL_MS}))
        self.said = self.prepare()

    def prepare(self):
        run = self.home.start("demo", "--no-serve")
        assert run.end() == 0, run.said
        return run.said

    def rows(self, sql, agent="main"):
        file = self.home.path / "agents" / agent / "agent" / "openclaw-agent.sqlite"
        with closing(sqlite3.connect(file)) as db:
            return db.execute(sql).fetchall()

    def file(self):
        return (self.openclaw / "workspace" / "MEMORY.md").read_text()

    def message(self, session_id, record_id):
        """Return the words of a record of a transcript."""
        file = next((self.openclaw / "agents" / "main" / "sessions").glob(f"{session_id}*.jsonl"))
        records = (json.loads(line) for line in file.read_text().splitlines())
        record = next(record for record in records if record["id"] == record_id)
        return record["message"]["content"][0]["text"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("memory"))
    yield site
    site.home.close()


@pytest.mark.kill
def test_the_wrong_line_is_gone_and_later_lines_stay(site):
    lines = site.file().split("\n")
    (copy,) = (site.home.path / "rollback-copies" / "main").iterdir()
    wrong = f"- {wrong_memory.WRONG}"
    earlier = copy.read_text().split("\n")
    assert wrong in earlier and earlier.index(wrong) < len(earlier) - 2
    assert [line for line in lines if line != f"- {FLAGGED}"] == [line for line in earlier if line != wrong]


@pytest.mark.kill
def test_it_was_written_rolled_back_and_corrected(site):
    sql = f"SELECT id, status, lines_added FROM write_guardian_audit WHERE candidate_fact = '{wrong_memory.WRONG}'"
    [(audit_id, status, added)] = site.rows(f"{sql} AND origin = 'recorded'")
    assert (status, added) == ("rolled_back", 1)
    condition = f"WHERE audit_id = '{audit_id}'"
    assert site.rows(f"SELECT status, given_by, reason FROM guardian_statuses {condition} ORDER BY id") == [
        ("written", "plugin", ""),
        ("rolled_back", "demo", wrong_memory.WHY_BACK),
    ]
    assert site.rows(f"SELECT rolled_back_by, way FROM rollbacks {condition}") == [("demo", "merged")]
    rule = "SELECT corrected_status, correction_pattern, correction_reason, switched_off_at FROM behavior_corrections"
    assert site.rows(f"{rule} {condition}") == [
        ("refused", patterns.write_pattern(wrong_memory.CONTAINS), wrong_memory.WHY_RULE, None)
    ]
    decided = f"SELECT prompt_version FROM memory_gate_decisions WHERE candidate_fact = '{wrong_memory.WRONG}'"
    assert site.rows(decided) == [("gate-8",)]  # this version of the prompt keeps passing remarks


@pytest.mark.kill
def test_the_rule_stops_the_next_ones(site):
    named = "SELECT candidate_fact, status, origin, reason FROM write_guardian_audit WHERE rule_id IN"
    assert site.rows(f"{named} (SELECT id FROM behavior_corrections) ORDER BY created_at") == [
        (FLAGGED, "written", "recorded", None),
        (REFUSED, "refused", "own", wrong_memory.WHY_RULE),
    ]
    assert REFUSED not in site.file()
    assert FLAGGED in site.file()
    assert site.rows("SELECT count(*) FROM guardian_steps") == [(0,)]  # no model was asked


@pytest.mark.kill
def test_a_line_leads_to_the_message_that_put_it_there(site):
    address, token = site.home.serve("--no-watch").address(), site.home.python(TOKEN)

    def get(path):
        request = urllib.request.Request(f"{address}/api/v1/agents/main/guardian/{path}")
        request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    line = site.file().split("\n").index(f"- {FLAGGED}") + 1
    blame = get("files/MEMORY.md/blame")
    run = next(run for run in blame["runs"] if run["first"] <= line <= run["last"])
    assert run["first"] == run["last"]
    assert "no nuts near the croissants today" in site.message(run["session_id"], run["message_id"])
    assert get(f"writes/{run['audit_id']}")["candidate_fact"] == FLAGGED
    [(turn_id,)] = site.rows("SELECT turn_id FROM write_guardian_audit WHERE status = 'rolled_back'")
    assert "no sesame in the tide this week" in site.message(*turn_id.split(":"))
    # `serve` on this home ran without OPENCLAW_WEB_WORKSPACE_WRITES: it may not do what the demo may.
    assert "OPENCLAW_WEB_WORKSPACE_WRITES=1" in get(f"writes/{run['audit_id']}/rollback")["problem"]


@pytest.mark.kill
def test_five_weeks_of_writes_are_there(site):
    weeks = "SELECT count(DISTINCT created_at / 604800000) FROM write_guardian_audit WHERE status ="
    assert site.rows(f"{weeks} 'written' AND origin = 'recorded'")[0][0] >= 5
    assert site.rows(f"{weeks} 'refused'")[0][0] >= 4
    untold = "SELECT target_file, coalesce(reason, ''), lines_added, lines_removed FROM write_guardian_audit"
    assert site.rows(f"{untold} WHERE origin = 'unattributed' ORDER BY created_at") == [
        ("MEMORY.md", "consolidation", 1, 1),
        ("TOOLS.md", "", 1, 1),
    ]
    assert site.rows(f"{untold} WHERE origin = 'unattributed'", "research") == []
    for agent in ("main", "research"):
        unknown = "SELECT count(*) FROM write_guardian_audit WHERE status = 'written' AND hunks_json IS NULL"
        assert site.rows(unknown, agent) == [(0,)]


@pytest.mark.kill
def test_three_writes_wait_for_review(site):
    sample = "SELECT count(*) FROM dataset_samples WHERE sample_type = 'write_guardian_decision' AND annotation_status"
    assert (site.home.count(f"{sample} = 'needs_review'"), site.home.count(f"{sample} = 'pending'")) == (2, 1)
    corrections = "SELECT corrected_status, corrected_target_file FROM behavior_corrections WHERE apply_to_future = 0"
    assert site.rows(corrections) == [("written", "TOOLS.md")]


@pytest.mark.kill
def test_the_report_names_the_pages_and_nothing_happens_twice(site):
    everything = "SELECT id, status FROM write_guardian_audit ORDER BY id"
    before, held = site.rows(everything), site.file()
    output = site.prepare()
    assert (site.rows(everything), site.file()) == (before, held)
    for words in (site.said, output):
        assert re.search(r"rolled back: http://127\.0\.0\.1:[0-9]+/agents/main/writes/", words)
        assert "/agents/main/writes/rules/" in words
        assert "/agents/main/files/MEMORY.md/" in words
        assert "/agents/main/writes/chart/" in words


@pytest.mark.django_db
def test_the_demo_allows_itself_to_write_into_its_own_folder_only(home, settings, tmp_path):
    settings.STATE_DIR, settings.WORKSPACE_WRITES = tmp_path / "openclaw", False
    with wrong_memory.allow_own_workspaces():
        assert settings.WORKSPACE_WRITES
    assert not settings.WORKSPACE_WRITES
    columns = {"kind": CollectorSource.Kind.AGENT, "agent_id": "theirs", "root": str(tmp_path / "theirs")}
    CollectorSource.objects.create(source_key="theirs", path="agents/theirs", **columns)
    with wrong_memory.allow_own_workspaces():
        assert not settings.WORKSPACE_WRITES
