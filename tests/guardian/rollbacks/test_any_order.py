"""Writes to a real file, rolled back in any order and checked against a model.

Each rollback gives what the model confirms, or a conflict.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models import Agent
from guardian.models import Rollback, RollbackIntent, WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
from guardian.rollbacks import rollback_plan, service
from guardian.rollbacks.service import FileChanged, RollbackRequest
from openclaw_web import clock

DB, NAME, WISH = "agent_ada", "MEMORY.md", RollbackRequest("otto", "wrong", keeps_copy=False)
pytestmark = pytest.mark.django_db
LINE = st.sampled_from([b"new\n"] * 10 + [b"tea\n", b"\n", b"crlf\r\n", b"\xff\xfe\n", b"nul\x00\n", b"no end"])
EDIT = st.tuples(st.sampled_from(["insert", "insert", "append", "delete", "replace"]), st.sampled_from(range(30)), LINE)
EDITS = st.lists(EDIT, min_size=1, max_size=2)
START = st.sampled_from([b"new\n" * 20, b"new\n" * 15 + b"no end", b"new\nnew\ntea\n" * 6, b"", None])
WHOLE = (
    st.lists(LINE, min_size=1, max_size=8).map(b"".join),
    st.binary(max_size=30),
    st.just(b"\xef\xbb\xbfbegins with a mark\r\n"),
    st.none(),
)
# `one_of` would drop the repetitions, which give each kind its weight.
CHANGE = st.sampled_from([EDITS] * 20 + [*WHOLE]).flatmap(lambda kind: kind)
BACK = st.sampled_from(range(30))
EVENT = st.sampled_from(["told", "told", "back", "back", "untold"]).flatmap(
    lambda kind: st.tuples(st.just(kind), BACK if kind == "back" else CHANGE)
)
EVENTS = st.lists(EVENT, min_size=4, max_size=12)


@dataclass
class World:
    """The file, the content that the test expects, and every write that stands.

    A write is kept as its contents before and after.
    """

    ada: Agent
    file: Path
    now: bytes | None
    writes: dict[str, tuple[bytes | None, bytes | None]]
    seen: Counter[str]
    fresh: int = 0

    def put(self, data):
        self.now = data
        if data is None:
            self.file.unlink(missing_ok=True)
        else:
            self.file.write_bytes(data)

    def holds(self):
        return self.file.read_bytes() if self.file.exists() else None

    def changed(self, change):
        """Return the content after a change; each line `new` becomes a line of its own."""
        if isinstance(change, list):
            lines = split(self.now)
            for kind, at, line in change:
                place = len(lines) if kind == "append" else at % (len(lines) + 1)
                lines[place : place + (kind in ("delete", "replace"))] = [] if kind == "delete" else [line]
            change = b"".join(lines)
        while change is not None and b"new\n" in change:
            self.fresh += 1
            change = change.replace(b"new\n", b"line %d\n" % self.fresh, 1)
        return change


def split(data):
    return re.findall(rb"[^\n]*\n|[^\n]+", data or b"")


def report_write(world, change):
    before, after = world.now, world.changed(change)
    if (before, after) == (None, None):
        return
    row = WriteGuardianAudit(
        id=f"w{world.fresh}-{len(world.writes)}-{sum(world.seen.values())}", session_id="s1", target_file=NAME,
        candidate_fact=f"fact {len(world.writes)}", status="written", created_at=clock.now_ms(),
    )  # fmt: skip
    world.put(after)
    write_store.store_reports(DB, [Report(row, Source.API, FileChange(before, after), body_sha256="1")])
    world.writes[row.id] = (before, after)
    world.seen["told"] += 1


def take_back(world, number):
    if not world.writes:
        return
    name = list(world.writes)[number % len(world.writes)]
    before, after = world.writes[name]
    try:
        result = service.roll_back(world.ada, name, WISH, seen=rollback_plan.plan_rollback(world.ada, name).seen)
    except FileChanged as refused:
        assert world.holds() == world.now, "a refusal changed the file"
        assert world.now != after, "nobody changed the file, and it was refused"
        assert "Choose" in refused.sentence
        world.seen["refused"] += 1
        return
    final = world.holds()
    world.seen[confirm_rollback(before, after, world.now, final)] += 1
    own = Rollback.objects.using(DB).get(id=result.rollback_id).own_audit_id
    del world.writes[name]
    world.writes[own] = (world.now, final)  # taken back as well: that redoes it
    world.now = final


def confirm_rollback(before, after, now, final):
    """Return the kind of this rollback; fails unless it takes back exactly this write."""
    if now == after:
        assert final == before
        return "exact"
    before_lines, after_lines, current_lines, final_lines = (split(content) for content in (before, after, now, final))
    assert b"".join(final_lines) == (final or b"") and set(final_lines) <= {*before_lines, *current_lines}, (
        "a line that nobody wrote"
    )
    counts = [Counter(lines) for lines in (before_lines, after_lines, current_lines, final_lines)]
    assert all(counts[3][line] >= counts[2][line] for line in current_lines if line not in after_lines), (
        "somebody's line is lost"
    )
    is_double = any(max(count.values(), default=0) > 1 for count in counts[:3]) or (
        set(before_lines) - set(after_lines)
    ) & set(current_lines)
    if is_double or is_reordered(before_lines, after_lines) or is_reordered(after_lines, current_lines):
        return "merged among doubles"
    assert set(final_lines) == (set(current_lines) - (set(after_lines) - set(before_lines))) | (
        set(before_lines) - set(after_lines)
    )
    assert (
        len(final_lines) == len(set(final_lines))
        and not is_reordered(current_lines, final_lines)
        and not is_reordered(before_lines, final_lines)
    )
    return "merged"


def is_reordered(first, second):
    """Whether lines that both have stand in another order in one of them."""
    return [line for line in first if line in second] != [line for line in second if line in first]


class Undone(Exception):
    """Raised so that the next example begins with an empty database."""


def play_events(world, events):
    for kind, value in events:
        if kind == "untold":
            world.put(world.changed(value))
        elif kind == "told":
            report_write(world, value)
        else:
            take_back(world, value)
        assert world.holds() == world.now
    assert [path.name for path in world.file.parent.iterdir()] == ([] if world.now is None else [NAME])
    assert not RollbackIntent.objects.using(DB).filter(ended_at=None).exists()
    for name in world.writes:
        assert WriteGuardianAudit.objects.using(DB).get(id=name).status == "written"


def test_what_a_rollback_leaves_is_what_a_model_confirms(ada, file):
    seen = Counter()

    @given(start=START, events=EVENTS)
    @settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def run(start, events):
        try:
            with transaction.atomic(using=DB), transaction.atomic():
                world = World(ada, file, None, {}, seen)
                world.put(world.changed(start))
                play_events(world, events)
                raise Undone
        except Undone:
            return

    run()
    assert min(seen[kind] for kind in ("exact", "merged", "merged among doubles", "refused")) >= 1, seen
