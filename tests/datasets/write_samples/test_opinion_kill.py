"""Verdict and correction are in two files: killed between the two commits, what is sent again completes it."""

import signal
import sqlite3
from contextlib import closing

import pytest

from tests import processes
from tests.homes import Home, assistant, user

pytestmark = pytest.mark.kill
PLANT = """
from agents.models import Agent
from ledger.models import ConversationTurn
from tests.guardian.written import wrote
db = Agent.objects.get().db
turn = ConversationTurn.objects.using(db).get()
told = {"turn_id": turn.id, "session_id": turn.session_id}
print(wrote(db, 1, b"# Facts\\n", b"# Facts\\nLikes tea.\\n", **told).id)
"""
ACT = """
import os
from agents.models import Agent
from datasets.write_samples.opinions import Opinion, give
from datasets.models import DatasetSample
from datasets.review import undo
from django.db import connections, transaction
main = Agent.objects.get()
alias = {alias!r} and (main.db if {alias!r} == "agent" else "default")
def passing(execute, sql, params, many, context):
    if alias and sql.startswith(("INSERT", "UPDATE", "DELETE")):  # once this file is committed, and the other is not
        transaction.on_commit(lambda: os.kill(os.getpid(), 9), using=alias)
    return execute(sql, params, many, context)
with connections[alias or "default"].execute_wrapper(passing):
    {act}
print("done")
"""
WRONG = "give(main, 'w1', Opinion('should_not_be_there', reason='In jest.', expected=''), by='ann')"
RIGHT = "give(main, 'w1', Opinion('right', expected={expected!r}), by='ann')"
CORRECTIONS = "SELECT corrected_status FROM behavior_corrections ORDER BY corrected_at, id"
SAMPLES = "SELECT guardian_label, annotation_status FROM dataset_samples"
LABELS = "SELECT guardian_label, undoes IS NULL FROM sample_labels ORDER BY rowid"


@pytest.fixture
def site(tmp_path, migrated):
    source = Home(tmp_path.resolve() / "openclaw")
    source.transcript(user("I like tea"), assistant("Good"))
    home = processes.Home.copied(migrated, tmp_path / "home")
    collected = home.start("collect", "--source", str(source.root), "--quiet")
    assert collected.end() == 0, collected.said
    home.python(PLANT)
    yield home
    home.close()


def rows(site, sql, file="state/openclaw.sqlite"):
    with closing(sqlite3.connect(site.path / file)) as db:
        return db.execute(sql).fetchall()


def held(site):
    """The corrections, samples and labels that are stored."""
    (file,) = (site.path / "agents").rglob("*.sqlite")
    corrections = [row[0] for row in rows(site, CORRECTIONS, file.relative_to(site.path))]
    return corrections, rows(site, SAMPLES), [label for label, is_own in rows(site, LABELS) if is_own]


def killed_and_sent_again(site, act, *, first):
    """Do something in a process that is killed once the file `first` is committed, then again; what is stored then."""
    before = held(site)
    process = site.start("shell", "--no-imports", "-c", ACT.format(act=act, alias=first))
    assert process.end() == -signal.SIGKILL, process.said
    between = held(site)
    assert between != before and (between[0] == before[0]) == (first == "default")
    site.python(ACT.format(act=act, alias=""))
    return held(site)


def test_what_is_sent_again_completes_it_and_doubles_nothing(site):
    wrong = (["refused"], [("corrected", "approved")], ["corrected"])
    assert killed_and_sent_again(site, WRONG, first="default") == wrong
    expected = rows(site, "SELECT label_id FROM dataset_samples")[0][0]
    right = (["refused", "written"], [("correct", "approved")], ["corrected", "correct"])
    assert killed_and_sent_again(site, RIGHT.format(expected=expected), first="default") == right
    undo = "undo.undo('ann')"
    assert killed_and_sent_again(site, undo, first="agent")[:2] == wrong[:2]
    assert killed_and_sent_again(site, undo, first="agent")[:2] == ([], [(None, None)])
