"""Decisions of memory_gate that an older version kept: all are there afterwards, and are what the new columns ask."""

import sqlite3
from contextlib import closing

import pytest

from tests.operations.backups.backing_up import run

from .old_homes import AGENT, old_home

pytestmark = pytest.mark.kill
OLD = ("id", "turn_id", "session_id", "decision", "reason", "candidate_fact", "llm_model", "created_at", "origin")
ROWS = [
    ("plain", "s:u1", "s", "NO_WRITE", "small talk", None, "m", 1, "recorded"),
    ("whole", "s:u2", "s", "UPDATE_USER", "likes tea", "The user likes tea.", "m", 2, "recorded"),
    ("without-fact", "s:u3", "s", "UPDATE_SOUL", "is kind", None, None, 3, "recorded"),
    ("empty-fact", "s:u4", "s", "UPDATE_TOOLS", "has a tool", "", None, 4, "recorded"),
    ("without-turn", None, "s", "UPDATE_MEMORY", "was told", None, None, 5, "imported"),
    ("derived", None, "s", "NO_WRITE", "", None, None, 6, "derived"),
]
DEFAULTS = {"sources": 0, "is_window_derived": 0, "session_key": None, "window_hash": None, "saw_user": None}


@pytest.fixture
def old(tmp_path):
    home = old_home(tmp_path / "home")
    with closing(sqlite3.connect(home.path / AGENT)) as db, db:
        marks = ", ".join("?" * len(OLD))
        db.executemany(f"INSERT INTO memory_gate_decisions ({', '.join(OLD)}) VALUES ({marks})", ROWS)
    yield home
    home.close()


def decisions(home):
    with closing(sqlite3.connect(home.path / AGENT)) as db:
        db.row_factory = sqlite3.Row
        return {row["id"]: dict(row) for row in db.execute("SELECT * FROM memory_gate_decisions")}


def test_all_are_kept(old):
    for command in ("migrate", "migrate_agents"):
        status, out, err = run(old.path, command)
        assert status == 0, out + err
    found = decisions(old)
    names = [name for name in OLD if name != "origin"]
    told = [tuple(found[row[0]][name] for name in names) for row in ROWS]
    assert told == [row[:-1] for row in ROWS]
    for row in found.values():
        assert {name: row[name] for name in DEFAULTS} == DEFAULTS


def test_one_without_a_fact_counts_as_imported(old):
    for command in ("migrate", "migrate_agents"):
        assert run(old.path, command)[0] == 0
    found = decisions(old)
    assert {name: row["origin"] for name, row in found.items()} == {
        "plain": "recorded",
        "whole": "recorded",
        "without-fact": "imported",
        "empty-fact": "imported",
        "without-turn": "imported",
        "derived": "imported",
    }
    assert {name for name, row in found.items() if row["match"] == "none"} == {"without-turn", "derived"}


def test_their_sums_are_made(old):
    code = "from agents import databases\nfrom gate.statistics import sums\n"
    code += "db = databases.alias('main')\nsums.settle(db)\n"
    code += "from gate.models import GateSessionSums\nprint(GateSessionSums.objects.using(db).get().total)"
    for command in ("migrate", "migrate_agents"):
        assert run(old.path, command)[0] == 0
    assert run(old.path, "shell", "--no-imports", "-c", code)[1].strip() == str(len(ROWS))
