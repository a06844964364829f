"""Several sources report the same writes in any order, always with the same result.

The sources are files, logs, databases and a plugin.
"""

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
    """A change of the file, or a refused fact, and the sources that saw it."""

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


def build_history(steps):
    """Return what each source reports: versions that imports saw, and reported writes.

    The log has lines of the reported writes, and the plugin sends them.
    """
    at, now = T0, "start\n"
    seen, reported = [(at, now)], []
    for number, step in enumerate(steps):
        at += step.after * SECOND
        before = now
        now = before if step.is_refused else step.content
        if step.is_told or step.is_refused:
            fact = step.words or f"Fact {number}"
            reported.append((number, at, step.is_refused, before, now, fact))
        if step.is_seen and seen[-1][1] != now:
            seen.append((at, now))
    return seen, reported


def import_files(seen, _reported):
    for at, content in seen:
        services.store_version(DB, NAME, content.encode(), modified_ms=at)
    snapshot_matching.match_new_snapshots(DB, NAME)


def import_log(_seen, reported):
    agent = factories.AgentFactory(agent_id="ada")
    entries = []
    for _number, at, is_refused, _before, _after, fact in reported:
        status = "refused" if is_refused else "written"
        name = compute_write_id(at + 1, "UPDATE_MEMORY", NAME, (status, None, fact), 0)
        entries.append(SourceWrite(id=name, at=at + 1, target_file=NAME, status=status, fact=fact))
    log_import.import_writes(agent, entries, Source.LOG)


def report_by_plugin(_seen, reported):
    for number, at, is_refused, before, after, fact in reported:
        row = WriteGuardianAudit(
            id=f"w{number}", session_id="s1", target_file=NAME, candidate_fact=fact, created_at=at,
            status="refused" if is_refused else "written", origin=Origin.RECORDED,
        )  # fmt: skip
        change = None if is_refused else FileChange(before.encode(), after.encode())
        write_store.store_reports(
            DB, [Report(row, Source.API, change, body_sha256=hashlib.sha256(b"%d" % number).hexdigest())]
        )


def read_rows():
    """Return everything that matters of each write, without the ids of versions."""
    hashes = dict(FileSnapshot.objects.using(DB).values_list("id", "content_hash"))
    columns = ("origin", "status", "candidate_fact", "sources", "is_diff_shared", "diff", "hunks_json", "reason")
    tuples = []
    for row in WriteGuardianAudit.objects.using(DB).order_by("created_at", "id"):
        sides = (hashes.get(row.before_snapshot_id), hashes.get(row.after_snapshot_id))
        name = None if row.origin == Origin.UNATTRIBUTED else row.id
        tuples.append((name, *(getattr(row, column) for column in columns), *sides, row.statuses.count()))
    return sorted(tuples, key=str)


def import_steps(steps, *sources):
    try:
        with transaction.atomic(using=DB):
            for source in sources:
                source(*build_history(steps))
            first_result = read_rows()
            snapshot_matching.match_snapshots(DB, NAME)
            assert read_rows() == first_result  # matching again from the start changes nothing
            for source in sources:
                source(*build_history(steps))
            assert read_rows() == first_result  # and neither do the same reports again
            assert GuardianStatus.objects.using(DB).count() == len(first_result)
            raise Undone
    except Undone:
        return first_result


class Undone(Exception):
    """Raised so that the next order begins with an empty database."""


def report_in_time_order(seen, reported):
    """Report every event at its time; where both sources do, the first listed is first."""
    for _at, event_data in sorted(
        [
            *((at, ("seen", (at, content))) for at, content in seen),
            *((write[1], ("told", write)) for write in reported),
        ],
        key=lambda event: event[0],
    ):
        if event_data[0] == "seen":
            import_files([event_data[1]], [])
        else:
            report_by_plugin([], [event_data[1]])


# Sources, and the same in another order.
ORDERS = {
    "files and log": ((import_files, import_log), (import_log, import_files)),
    "log and plugin": ((report_by_plugin, import_log), (import_log, report_by_plugin)),
    "files and plugin": ((import_files, report_by_plugin), (report_in_time_order,)),
    "all three": ((import_files, import_log, report_by_plugin), (report_in_time_order, import_log)),
}


@pytest.mark.parametrize("name", ORDERS)
@given(steps=STEPS)
@MANY
def test_the_order_does_not_matter(ada, name, steps):
    first, second = ORDERS[name]
    assert import_steps(steps, *first) == import_steps(steps, *second)


@given(steps=STEPS)
@MANY
def test_every_change_that_was_seen_belongs_to_a_write(ada, steps):
    write_rows = import_steps(steps, import_files, import_log)
    seen, _reported = build_history(steps)
    seen_hashes = {hashlib.sha256(content.encode()).hexdigest() for _at, content in seen[1:]}
    assert seen_hashes <= {row[-2] for row in write_rows}
