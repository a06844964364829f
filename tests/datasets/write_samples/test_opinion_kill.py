"""Verdict and correction are in two files; after a kill in between, sending again completes both."""

import signal
import sqlite3
from contextlib import closing

import pytest

from tests import processes
from tests.homes import Home, assistant, user

pytestmark = [pytest.mark.kill, pytest.mark.nightly]
PLANT = """
from agents.models import Agent
from ledger.models import ConversationTurn
from tests.guardian.write_rows import create_write
db = Agent.objects.get().db
turn = ConversationTurn.objects.using(db).get()
columns = {"turn_id": turn.id, "session_id": turn.session_id}
print(create_write(db, 1, b"# Facts\\n", b"# Facts\\nLikes tea.\\n", **columns).id)
"""
ACT = """
import os
from agents.models import Agent
from datasets.write_samples.opinions import Opinion, give_opinion
from datasets.models import DatasetSample
from datasets.review import undo
from django.db import connections, transaction
main = Agent.objects.get()
alias = {alias!r} and (main.db if {alias!r} == "agent" else "default")
def passing(execute, sql, params, many, context):
    if alias and sql.startswith(("INSERT", "UPDATE", "DELETE")):  # after this file's commit, before the other's
        transaction.on_commit(lambda: os.kill(os.getpid(), 9), using=alias)
    return execute(sql, params, many, context)
with connections[alias or "default"].execute_wrapper(passing):
    {act}
print("done")
"""
WRONG = "give_opinion(main, 'w1', Opinion('should_not_be_there', reason='In jest.', expected=''), by='ann')"
RIGHT = "give_opinion(main, 'w1', Opinion('right', expected={expected!r}), by='ann')"
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


def read_stored(site):
    """The stored corrections, samples and labels."""
    (file,) = (site.path / "agents").rglob("*.sqlite")
    corrections = [row[0] for row in rows(site, CORRECTIONS, file.relative_to(site.path))]
    return corrections, rows(site, SAMPLES), [label for label, is_own in rows(site, LABELS) if is_own]


def kill_and_send_again(site, act, *, first):
    """Run code that is killed after the commit of `first`, then run it again.

    Returns the stored state afterwards.
    """
    before = read_stored(site)
    process = site.start("shell", "--no-imports", "-c", ACT.format(act=act, alias=first))
    assert process.end() == -signal.SIGKILL, process.said
    between = read_stored(site)
    assert between != before and (between[0] == before[0]) == (first == "default")
    site.python(ACT.format(act=act, alias=""))
    return read_stored(site)


def test_what_is_sent_again_completes_it_and_doubles_nothing(site):
    wrong = (["refused"], [("corrected", "approved")], ["corrected"])
    assert kill_and_send_again(site, WRONG, first="default") == wrong
    expected = rows(site, "SELECT label_id FROM dataset_samples")[0][0]
    right = (["refused", "written"], [("correct", "approved")], ["corrected", "correct"])
    assert kill_and_send_again(site, RIGHT.format(expected=expected), first="default") == right
    undo = "undo.undo('ann')"
    assert kill_and_send_again(site, undo, first="agent")[:2] == wrong[:2]
    assert kill_and_send_again(site, undo, first="agent")[:2] == ([], [(None, None)])
