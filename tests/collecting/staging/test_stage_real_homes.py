"""Staged copies of homes that the real program wrote: equal imports, and none of their secrets."""

import pytest

from agents.models import Agent
from collecting import collect
from jobs.progress import Progress
from tests.collecting.collect_runs import dump_tables
from tests.collecting.staging.stage_runs import assert_whole, list_files, stage
from tests.collecting.test_collect_real_homes import CANARY, HOMES, SECRET

NAMES = sorted(path.name for path in HOMES.glob("openclaw-2*"))
SECRET_FILES = ("openclaw.json*", "models.json", "device*.json", "paired.json*", "*.sqlite", "*.key")
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine"),
]


@pytest.mark.parametrize("name", NAMES)
def test_an_import_of_the_copy_is_an_import_of_the_home(real_files, tmp_path, name):
    root = HOMES / name
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    stage(root, tmp_path / "out")
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before
    assert_whole(tmp_path / "out")
    results = [
        collect.run({"source": str(source), "as": agent, "include_deleted": True}, Progress())
        for source, agent in ((root, "a"), (tmp_path / "out", "b"))
    ]
    assert results[0]["records"] == results[1]["records"] > 0
    assert results[1]["unread"] == []
    for agent in Agent.objects.filter(agent_id__startswith="a"):
        at_home, of_copy = dump_tables(agent.db), dump_tables(agent.db.replace("agent_a", "agent_b"))
        assert of_copy == at_home


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_of_a_real_home_is_in_the_copy(tmp_path, name):
    root = HOMES / name
    secrets = set()
    for path in {path for pattern in SECRET_FILES for path in root.rglob(pattern) if path.is_file()}:
        data = path.read_bytes()
        secrets |= set(CANARY.findall(data)) | set(SECRET.findall(data))
    read = b"".join(path.read_bytes() for path in root.rglob("*.jsonl")) + b"".join(
        path.read_bytes() for path in root.rglob("*.md")
    )
    stage(root, tmp_path / "out")
    staged = list_files(tmp_path / "out").values()
    leaks = {secret for secret in secrets for data in staged if secret in data}
    assert not {secret for secret in leaks if secret not in read}, "secrets that nobody wrote into a conversation"
