"""Verdicts that repeat a note of somebody else: the doctor names them once, and leaves them as they are."""

from pathlib import Path

import pytest

from tests.homes import Home
from tests.operations.backups.backing_up import run
from tests.operations.doctor.doctoring import change, doctor, fill, rows

pytestmark = pytest.mark.kill
COPY = """
from agents import services as agents
from datasets.models import DatasetSample
from datasets.review import verdicts
DatasetSample.objects.create(id="one", sample_type="annotated_turn", agent_id="main", session_id="s", content="{}",
    created_at=1)
verdicts.label_sample("one", "needs_review", by="ann", notes="Ask the bakery.")
verdicts.label_sample("one", "approved", by="mei", notes="Ask the bakery.")
"""
LATER = "UPDATE django_migrations SET applied = '2100-01-01 00:00:00' WHERE name LIKE '%drafts_and_reasons'"


def test_they_are_named_until_a_run_has_them_on_its_receipt(tmp_path):
    home = tmp_path / "home"
    fill(Home(Path(f"{home}-source"), agents=("main",)))
    doctor(home, "--fix", status=0)
    assert run(home, "shell", "--no-imports", "-c", COPY)[0] == 0
    change(home, LATER)
    before = rows(home, "SELECT * FROM sample_labels ORDER BY id")
    looked, _status = doctor(home, status=0)  # a note is no finding
    (note,) = looked["store"]
    assert (note["check"], note["level"]) == ("copied_notes", "note")
    assert "sample one, verdict of mei, note of ann" in note["sentence"]
    fixed, _status = doctor(home, "--fix", status=0)
    (repair,) = fixed["run"]["repairs"]
    assert repair["is_done"] and "sample one, verdict of mei" in repair["sentence"]
    assert doctor(home, status=0)[0]["store"] == []
    assert rows(home, "SELECT * FROM sample_labels ORDER BY id") == before
