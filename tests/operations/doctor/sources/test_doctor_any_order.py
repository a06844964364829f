"""Deletions and repairs in any order end with the findings of a plain comparison."""

import json
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.homes import Home, assistant, result, user
from tests.operations.backups.backup_homes import run
from tests.suite import fixture_cache

pytestmark = pytest.mark.kill
SESSIONS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, 4)]
SESSION, NUMBER = st.sampled_from(SESSIONS), st.integers(1, 9)
ROWS = st.tuples(
    st.just("lose_rows"), st.sampled_from(["events", "events", "identities", "both"]), st.integers(2, 6), NUMBER
)
DAMAGE = st.one_of(
    ROWS,
    ROWS,
    st.tuples(st.just("lose_store")),
    st.tuples(st.just("lose_session"), SESSION),
    st.tuples(st.just("swap"), SESSION, NUMBER),
    st.tuples(st.just("lose_source"), SESSION),
    st.tuples(st.just("lose_piece"), SESSION, NUMBER),
    st.tuples(st.sampled_from(["retention", "undo"])),
)
REPAIR = st.tuples(st.sampled_from(["collect", "again", "fix", "fix", "accept"]))
STEPS = st.lists(st.one_of(DAMAGE, REPAIR), min_size=1, max_size=6)
EXAMPLES = 40


def fill(root):
    """Write three sessions, the first old enough for retention, and an index of them."""
    source = Home(root)
    recent = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for number, session in enumerate(SESSIONS):
        at = {"timestamp": recent} if number else {}
        talk = [user("Question"), assistant("", ("c", "exec", {})), result("c"), assistant("Answer")]
        source.transcript(*(record | at for record in (talk * 2)[: 4 + 2 * number]), session=session)
    source.index(
        {
            f"agent:main:irc:direct:p{n}": {"sessionId": session_id, "updatedAt": 1}
            for n, session_id in enumerate(SESSIONS)
        }
    )
    return source


def read_source_ids(root):
    """Return the record ids of each session, read from every line of every transcript."""
    ids = {}
    for file in (root / "agents" / "main" / "sessions").glob("*.jsonl"):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        ids[file.stem] = {record["id"] for record in records}
    return ids


def find_owed(states):
    """Return the ids that each session must have, and the removed sessions.

    Those are the ids that were imported, and neither removed nor given up since.
    """
    owed, removed = {}, set()
    for state in states:
        step, held = state["step"][0], state["held"]
        removed = set(state["removed"])
        if step in ("collect", "again", "fix", "accept"):
            for session, records in held.items():
                owed.setdefault(session, set()).update(
                    record_id for record_id in records if not record_id.startswith("swapped-")
                )
        if step == "accept":
            for loss in (state["losses"] or {}).get("losses") or []:
                if not loss["where"]:
                    accept_loss(owed, held, loss)
        owed = {session: records for session, records in owed.items() if session not in removed}
    return owed, removed


def accept_loss(owed, held, loss):
    session = loss["session_id"]
    owed[session] = set(held.get(session, {}))


@pytest.mark.nightly
def test_any_order_ends_with_what_a_plain_comparison_finds(tmp_path):
    seen = Counter()

    @given(STEPS)
    @settings(max_examples=EXAMPLES)
    def any_order(steps):
        seen[play_and_compare(tmp_path / str(seen.total()), steps)] += 1

    any_order()
    assert seen.total() >= EXAMPLES and seen["lost"] and seen["whole"], seen


def play_and_compare(folder, steps):
    """Return whether records are lost after the steps; fails when the doctor disagrees."""
    home, source = folder / "home", fill(folder / "home-source")
    fixture_cache.copy_home(home)
    steps = [("fix",), *steps, ("fix",), ("look",)]
    plan_json = json.dumps({"home": str(home), "source": str(source.root), "steps": steps})
    code = f"from tests.operations.doctor.sources.repair_steps import play; play({plan_json!r})"
    status, out, err = run(home, "shell", "--no-imports", "-c", code)
    assert status == 0, err
    states = [json.loads(line) for line in out.splitlines()]
    owed, removed = find_owed(states[:-1])
    held, look = states[-1]["held"], states[-1]["losses"]
    in_sources = read_source_ids(source.root)
    for session in in_sources.keys() - removed:
        assert in_sources[session] <= held.get(session, {}).keys(), (session, steps)
    lost = {session: missing for session, ids in owed.items() if (missing := ids - held.get(session, {}).keys())}
    assert {loss["session_id"] for loss in look["losses"]} == lost.keys(), steps
    if not any(step[0] == "swap" for step in steps):
        assert look["lost_records"] == sum(map(len, lost.values())), steps
    empty = set(SESSIONS) - removed - held.keys()
    named = {finding["path"] for finding in look["store"] if finding["check"] == "index_entry"}
    assert named == {f"agent:main:irc:direct:p{SESSIONS.index(session)}" for session in empty}, steps
    checks = {finding["check"] for finding in look["store"] if finding["level"] == "finding"}
    assert checks <= {"lost", "index_entry"}, steps
    assert look["to_read"] == 0, steps
    shutil.rmtree(folder)
    return "lost" if lost else "whole"
