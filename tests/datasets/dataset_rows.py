"""Adds any number of datasets, releases, members, benchmarks and found values."""

import json

from benchmarks.bulk_rows import T0, insert
from datasets.collection.strategies import INITIAL
from datasets.models import (
    Benchmark,
    CollectionRun,
    CollectionStrategy,
    Dataset,
    DatasetMember,
    DatasetVersion,
    FindingValue,
    FindingValueAgent,
    Guideline,
    QueueItem,
    QueueSeat,
    ReviewQueue,
    TurnOutcome,
    VersionTaint,
)
from findings.models import Finding

VALUES = {"notRolledBackWithinDays": 7, "minQualityScore": 0.7}
DATASET, VERSION, VALUE, QUEUE = f"{0:026d}", f"{0:026d}", f"{0:032x}", f"{0:026d}"


# Long, as it names the columns of eight tables.
def fill_datasets(count, *, agent, db):
    """Insert `count` rows of each table.

    One dataset has all releases, and the first release all members.
    """
    moment = f"{T0} + i * 6000"
    ids = "printf('%026d', i)"
    insert(
        "default",
        Dataset,
        count,
        id=ids,
        name="'dataset ' || i",
        options_json="'{}'",
        created_by="'user1'",
        created_at=moment,
    )
    fill_collection(count, agent)
    insert(
        "default",
        DatasetVersion,
        count,
        id=ids,
        dataset_id=f"'{DATASET}'",
        number="i + 1",
        state="'released'",
        options_json="'{}'",
        counts_json="""'{"members": 1}'""",
        member_count="1",
        released_by="'user1'",
        released_at=moment,
    )
    insert(
        "default",
        DatasetMember,
        count,
        id=_follow(DatasetMember),
        version_id=f"'{VERSION}'",
        sample_id=ids,
        agent_id=f"'{agent}'",
        session_id="printf('%08d', i / 10)",
        turn_number="i % 10",
        side="CASE WHEN i % 5 THEN 'train' ELSE 'test' END",
        status="'approved'",
        content_hash="printf('%064x', i)",
    )
    insert(
        "default",
        VersionTaint,
        count,
        id=_follow(VersionTaint),
        version_id=f"'{VERSION}'",
        sample_id=ids,
        reason="'removed'",
        noted_at=moment,
    )
    insert(
        "default",
        Benchmark,
        count,
        id=ids,
        name="'benchmark ' || i",
        questions="1",
        grams="x''",
        sha256="printf('%064x', i)",
        added_by="'user1'",
        added_at=moment,
    )
    hashes = "printf('%032x', i)"
    insert(
        "default",
        FindingValue,
        count,
        value_hash=hashes,
        kind="CASE WHEN i % 2 THEN 'phone' ELSE 'email' END",
        rule="'rule-1'",
        confidence="1.0",
        state="CASE WHEN i % 3 THEN 'open' ELSE 'dismissed' END",
        places="1",
        agents="1",
        first_found_at=moment,
    )
    insert(
        "default",
        FindingValueAgent,
        count,
        id=_follow(FindingValueAgent),
        value_hash=hashes,
        agent_id=f"'{agent}'",
        places="1",
    )
    insert(
        db,
        Finding,
        count,
        id=_follow(Finding),
        source="'record'",
        source_id="printf('%08d', 1) || '/' || i",
        session_id="printf('%08d', 1)",
        turn_number="1",
        path="'$'",
        start="i",
        end="i + 4",
        kind="'phone'",
        rule="'rule-1'",
        confidence="1.0",
        value_hash=f"'{VALUE}'",
        found_at=moment,
    )
    fill_queues(count)


def fill_queues(count):
    """Insert `count` review queues, and items of the first with a claim each."""
    moment, ids = f"{T0} + i * 6000", "printf('%026d', i)"
    about = {"created_by": "'user1'", "created_at": moment}
    insert("default", ReviewQueue, count, id=ids, name="'queue ' || i", reviewers="2", guideline="1", **about)
    written = {"number": "1", "written_by": "'user1'", "written_at": moment}
    insert("default", Guideline, count, id=_follow(Guideline), queue_id=ids, text="'Be fair.'", **written)
    ranked = {"value": "i", "reason": "'new'", "sample_created_at": moment, "twins_json": "'[]'"}
    item_ids, sample_ids = _follow(QueueItem), "printf('%08d', i)"
    insert("default", QueueItem, count, id=item_ids, queue_id=f"'{QUEUE}'", sample_id=sample_ids, **ranked)
    held = {"since": moment, "expires_at": moment, "with_twins": "0"}
    insert("default", QueueSeat, count, id=_follow(QueueSeat), item_id="i + 1", reviewer="'user1'", **held)


def _follow(model):
    """Ids after those that a demonstration has."""
    return f"i + 1 + (SELECT coalesce(max(id), 0) FROM {model._meta.db_table})"


def fill_collection(count, agent):
    """Insert `count` runs of one strategy, and turns that the first one looked at."""
    moment = f"{T0} + i * 6000"
    criteria = json.dumps(INITIAL | {"positiveCriteria": INITIAL["positiveCriteria"] | VALUES})
    columns = {"name": "'default'", "created_by": "'user1'", "created_at": f"{T0}"}
    insert("default", CollectionStrategy, 1, id="1", version="1", criteria_json=f"'{criteria}'", **columns)
    run = {"strategy_id": "1", "state": "'finished'", "is_dry": "0", "options_json": "'{}'", "started_by": "'user1'"}
    counts = f"""'{{"sample": {count}, "no_criterion": 1}}'"""
    insert("default", CollectionRun, count, id="i + 1", counts_json=counts, started_at=moment, **run)
    place = {"agent_id": f"'{agent}'", "session_id": "printf('%08d', i / 10)", "turn_number": "i % 10", "at": moment}
    bits = {"outcome": "1", "yes": "(i % 64) | 131072", "unknown": "i % 7", "mark": "0", "run_id": "1"}
    insert("default", TurnOutcome, count, id="i + 1", turn_id="'t' || i", score="(i % 100) / 100.0", **place, **bits)
