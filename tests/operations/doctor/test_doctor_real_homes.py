"""`doctor --fix` on homes that real versions wrote, against plain sqlite3 and plain counts of lines."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.collecting.test_collect_real_homes import HOMES, count_records
from tests.operations.doctor.doctor_homes import assert_sound, doctor, read_tree, rows, unmigrate

pytestmark = [
    pytest.mark.kill,
    pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine"),
]
TRANSCRIPT = re.compile(r"(?P<id>[0-9a-f-]{36})\.jsonl(\.(deleted|reset)\.[^/]+)?")
LAYOUTS = {
    "openclaw-2026.2.26": "files",
    "openclaw-2026.7.1-hybrid": "hybrid",
    "openclaw-2026.7.2-beta.7": "database",
    "openclaw-2026.9.6": "database",
}


def count_source_records(root, agent):
    """Count the records of an agent by session and type."""
    database = root / "agents" / agent / "agent" / "openclaw-agent.sqlite"
    if database.exists():
        return count_records(database)
    counts = Counter()
    for file in (root / "agents" / agent / "sessions").iterdir():
        if match := TRANSCRIPT.fullmatch(file.name):
            counts.update((match["id"], json.loads(line)["type"]) for line in file.read_text().splitlines())
    return counts


@pytest.mark.parametrize("name", LAYOUTS)
def test_counts_are_those_of_the_source(name, tmp_path):
    root, home = HOMES / name, tmp_path / "home"
    before = read_tree(root)
    words = ("--source", str(root), "--include-deleted")
    looked, _status = doctor(home, *words, status=1)
    assert (looked["source"]["layout"], looked["rejected_count"]) == (LAYOUTS[name], 0)
    fixed, _status = doctor(home, "--fix", *words, status=0)
    assert read_tree(root) == before
    agents = sorted(folder.name for folder in (root / "agents").iterdir())
    assert agents == [agent_plan["agent"] for agent_plan in fixed["agents"]]
    for agent in agents:
        stored = Counter(rows(home, "SELECT session_id, event_type FROM transcript_event_identities", agent))
        assert stored == count_source_records(root, agent) != {}
        assert rows(home, "SELECT count(*) FROM transcript_events", agent) == [(stored.total(),)]
        assert rows(home, "SELECT count(*) FROM rejected_records", agent) == [(0,)]
        assert rows(home, "PRAGMA integrity_check", agent) == [("ok",)]
    source_rows = rows(home, "SELECT status, source_sha256, source_path FROM migration_sources")
    assert len(source_rows) == fixed["run"]["imported"] == looked["to_read"]
    for status, sha256, path in source_rows:
        assert (status, sha256) == ("imported", before[path][0]), path
    assert Path(fixed["run"]["backup"]["path"]).is_file()
    again, _status = doctor(home, "--fix", *words)
    assert again["run"] is None and assert_sound(home, *words, "--deep")["losses"] == []
    unmigrate(home, "gate", agents[0])  # one file waits for an update
    looked, _status = doctor(home, *words, "--deep", status=1)
    assert ("schema", agents[0]) in [(finding["check"], finding["agent"]) for finding in looked["store"]]
    assert "Every row of sessions was compared" not in looked["message"] and "not compared" in looked["message"]
