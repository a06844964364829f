"""Files, logs, databases and a plugin tell of the same writes in any order: the same rows come of it."""

import hashlib
from dataclasses import dataclass

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian import services
from guardian.collectors.source_writes import SourceWrite, compute_write_id
from guardian.models import FileSnapshot, GuardianStatus, WriteGuardianAudit
from guardian.recording import log_import, snapshot_matching, write_store
from guardian.recording.reports import FileChange, Origin, Report, Source
from tests import factories

DB, T0, NAME = "agent_ada", 1_770_000_000_000, "MEMORY.md"
pytestmark = pytest.mark.django_db
SECOND = 1_000
MANY = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])  # each is undone


@dataclass(frozen=True)
class Step:
    """Something that changed the file (or a fact that was refused), and who saw it."""

    after: int  # seconds
    content: str
    is_told: bool
    is_seen: bool  # by a collect, before the next step
    is_refused: bool = False
    words: str = ""  # of the fact; several changes may add them


STEPS = st.lists(
    st.builds(
        Step,
        after=st.one_of(st.integers(3, 9), st.integers(3, 600)),
        content=st.sampled_from(["a\n", "a\nb\n", "b\n", "c\nb\n", ""]),
        is_told=st.booleans(),
        is_seen=st.booleans(),
        is_refused=st.booleans(),
        words=st.sampled_from(["", "a", "b"]),
    ),
    min_size=1,
    max_size=5,
)


def history(steps):
    """What each source can tell: versions that collects saw, lines of the log, what a plugin sends."""
    at, now = T0, "start\n"
    seen, told = [(at, now)], []
    for number, step in enumerate(steps):
        at += step.after * SECOND
        before = now
        now = before if step.is_refused else step.content
        if step.is_told or step.is_refused:
            fact = step.words or f"Fact {number}"
            told.append((number, at, step.is_refused, before, now, fact))
        if step.is_seen and seen[-1][1] != now:
            seen.append((at, now))
    return seen, told


def files(seen, _told):
    for at, content in seen:
        services.store_version(DB, NAME, content.encode(), modified_ms=at)
    snapshot_matching.match_new_snapshots(DB, NAME)


def log(_seen, told):
    agent = factories.AgentFactory(agent_id="ada")
    found = []
    for _number, at, is_refused, _before, _after, fact in told:
        status = "refused" if is_refused else "written"
        name = compute_write_id(at + 1, "UPDATE_MEMORY", NAME, (status, None, fact), 0)
        found.append(SourceWrite(id=name, at=at + 1, target_file=NAME, status=status, fact=fact))
    log_import.import_writes(agent, found, Source.LOG)


def plugin(_seen, told):
    for number, at, is_refused, before, after, fact in told:
        row = WriteGuardianAudit(
            id=f"w{number}", session_id="s1", target_file=NAME, candidate_fact=fact, created_at=at,
            status="refused" if is_refused else "written", origin=Origin.RECORDED,
        )  # fmt: skip
        change = None if is_refused else FileChange(before.encode(), after.encode())
        write_store.store_reports(
            DB, [Report(row, Source.API, change, body_sha256=hashlib.sha256(b"%d" % number).hexdigest())]
        )


def rows():
    """Everything that matters of each write, without the names of versions."""
    hashes = dict(FileSnapshot.objects.using(DB).values_list("id", "content_hash"))
    columns = ("origin", "status", "candidate_fact", "sources", "is_diff_shared", "diff", "hunks_json", "reason")
    found = []
    for row in WriteGuardianAudit.objects.using(DB).order_by("created_at", "id"):
        sides = (hashes.get(row.before_snapshot_id), hashes.get(row.after_snapshot_id))
        name = None if row.origin == Origin.UNATTRIBUTED else row.id
        found.append((name, *(getattr(row, column) for column in columns), *sides, row.statuses.count()))
    return sorted(found, key=str)


def outcome(steps, *sources):
    try:
        with transaction.atomic(using=DB):
            for source in sources:
                source(*history(steps))
            found = rows()
            snapshot_matching.match_snapshots(DB, NAME)
            assert rows() == found  # doing it again, from the start, does no harm
            for source in sources:
                source(*history(steps))
            assert rows() == found  # and neither does telling it again
            assert GuardianStatus.objects.using(DB).count() == len(found)
            raise Undone
    except Undone:
        return found


class Undone(Exception):
    """So that the next order begins with nothing."""


def as_it_happens(seen, told):
    """Both tell of everything in its moment; where both do, whoever comes first in the list."""
    for _at, tell in sorted(
        [*((at, ("seen", (at, content))) for at, content in seen), *((one[1], ("told", one)) for one in told)],
        key=lambda event: event[0],
    ):
        if tell[0] == "seen":
            files([tell[1]], [])
        else:
            plugin([], [tell[1]])


# Sources, and the same in another order.
ORDERS = {
    "files and log": ((files, log), (log, files)),
    "log and plugin": ((plugin, log), (log, plugin)),
    "files and plugin": ((files, plugin), (as_it_happens,)),
    "all three": ((files, log, plugin), (as_it_happens, log)),
}


@pytest.mark.parametrize("name", ORDERS)
@given(steps=STEPS)
@MANY
def test_the_order_does_not_matter(ada, name, steps):
    first, second = ORDERS[name]
    assert outcome(steps, *first) == outcome(steps, *second)


@given(steps=STEPS)
@MANY
def test_every_change_that_was_seen_belongs_to_a_write(ada, steps):
    found = outcome(steps, files, log)
    seen, _told = history(steps)
    wanted = {hashlib.sha256(content.encode()).hexdigest() for _at, content in seen[1:]}
    assert wanted <= {row[-2] for row in found}
