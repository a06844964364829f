"""Shared by the tests of the collector."""

import os
import sys

from collecting import collect
from jobs.progress import Progress
from ledger.models import TranscriptEvent

MAIN = "agent_main"


def run(home, **params):
    return collect.run({"source": str(home.root), **params}, Progress())


def progress_of(root, **params):
    """What a collect told of how far it was: pairs of done and total."""
    told = []
    collect.run({"source": str(root), **params}, Progress(lambda done, total, message: told.append((done, total))))
    return told


def assert_honest(told):
    """Progress never falls back, never passes its total, which stays what it is, and ends there."""
    done = [one for one, _total in told]
    totals = {total or 0 for _done, total in told}
    assert done == sorted(done)
    assert totals == {done[-1]}, told


def events(kind=None, db=MAIN):
    rows = TranscriptEvent.objects.using(db)
    return (rows.filter(kind=kind) if kind else rows).count()


def opens_during(function):
    """Every path that is opened while `function` runs, by whatever means."""
    opened, listening = [], [True]

    def hook(event, args):
        if listening and event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            opened.append(os.fsdecode(args[0]))

    sys.addaudithook(hook)
    try:
        function()
    finally:
        listening.clear()
    return opened
