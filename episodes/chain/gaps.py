"""Gaps: what is left of neighbouring events that a retention run removed."""

from collections.abc import Iterable

from openclaw_web.sqlite import dialect, rows, statements
from openclaw_web.sqlite.json_columns import encode

from ..models import EpisodeGap, EpisodeHead
from .hashes import hash_gaps

GAPS = "SELECT first_id, last_id, count, chain_before, chain_after FROM episode_gaps ORDER BY first_id"
NEIGHBOURS = f"""SELECT first_id, last_id, count, chain_before, chain_after FROM episode_gaps
    WHERE last_id IN (SELECT value FROM {dialect.json_array("ends")})
    OR first_id IN (SELECT value FROM {dialect.json_array("starts")})"""  # noqa: S608 - constants
DELETE = f"DELETE FROM episode_gaps WHERE first_id IN (SELECT value FROM {dialect.json_array('listed')})"  # noqa: S608
INSERT = rows.insert_sql(EpisodeGap._meta.db_table, ("first_id", "last_id", "count", "chain_before", "chain_after"))
Gap = tuple[int, int, int, bytes, bytes]


def add_removed(db: str, removed: Iterable[tuple[int, bytes, bytes]]) -> None:
    """Add removed events to the gaps; the caller has a transaction.

    `removed` are the number of each event, in order, and the values of the chain before and after it. Neighbouring
    gaps become one, but never across a head that was given out.
    """
    added = [(row_id, row_id, 1, before, after) for row_id, before, after in removed]
    ends = encode([row_id - 1 for row_id, *_ in added]), encode([row_id + 1 for row_id, *_ in added])
    neighbours = {row[0]: row for row in statements.read_rows(db, NEIGHBOURS, ends)}
    heads = set(EpisodeHead.objects.using(db).values_list("last_id", flat=True))
    joined: list[Gap] = []
    for gap in sorted([*neighbours.values(), *added]):
        if joined and joined[-1][1] + 1 == gap[0] and joined[-1][1] not in heads:
            first_id, _last_id, count, before, _after = joined[-1]
            joined[-1] = (first_id, gap[1], count + gap[2], before, gap[4])
        else:
            joined.append(gap)
    statements.run(db, DELETE, [encode(list(neighbours))])
    statements.run_many(db, INSERT, joined)


def read_gaps_hash(db: str) -> str:
    """Return the hash of all gaps of a ledger.

    The event of each retention run carries it.
    """
    with statements.undecodable_texts(db):
        return hash_gaps(statements.iterate_rows(db, GAPS))
