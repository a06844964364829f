"""Answer times as counts by bucket, which can be added up.

Bucket n holds the milliseconds from 2^(n/8) up to 2^((n+1)/8), so each is 9 % wider than the one before it. A
percentile is the middle of its bucket: at most 4.5 % from the exact value, or half a millisecond below 12 ms.
"""

import math
from collections import Counter
from collections.abc import Iterable

from openclaw_web.sqlite.json_columns import decode

PARTS = 8  # buckets for each doubling
LAST = 27 * PARTS  # a day and a half: longer times count in this bucket

# SQL: the bucket of a turn; null: its answer time is not known.
BUCKET_SQL = f"""
    CASE WHEN latency_ms > 1 THEN MIN({LAST}, CAST(FLOOR(ROUND(LN(latency_ms) / LN(2) * {PARTS}, 9)) AS INTEGER))
        WHEN latency_ms IS NOT NULL THEN 0 END
"""

Counts = Counter[int]


def bucket_start(bucket: int) -> int:
    """Return the shortest whole number of milliseconds in a bucket."""
    return math.ceil(2 ** (bucket / PARTS)) if bucket else 0


def merge_counts(packed: Iterable[str]) -> Counts:
    """Sum the counts in the texts of that column; an empty text adds nothing."""
    total: Counts = Counter()
    for text in packed:
        for bucket, count in items(text):
            total[bucket] += count
    return total


def merge_joined_counts(texts: str) -> Counts:
    """Sum the counts in texts of that column that are joined with commas."""
    total: Counter[str] = Counter()
    for counts in decode(f"[{texts}]", list):
        for bucket, count in counts.items() if isinstance(counts, dict) else ():
            total[bucket] += count
    return Counter({int(bucket): count for bucket, count in total.items()})


def items(text: str) -> list[tuple[int, int]]:
    """Return the buckets of such a text with their counts."""
    return [(int(bucket), count) for bucket, count in decode(text).items()] if len(text) > 2 else []


def percentile_bucket(counts: Counts, percent: int) -> int | None:
    """Return the bucket of a percentile; None without counts.

    The percentile is the smallest time that `percent` of all do not exceed.
    """
    rank = -(-sum(counts.values()) * percent // 100)
    for bucket in sorted(counts):
        rank -= counts[bucket]
        if rank <= 0 and counts[bucket]:
            return bucket
    return None


def percentile(counts: Counts, percent: int) -> int | None:
    """Return the percentile in milliseconds; None without counts."""
    bucket = percentile_bucket(counts, percent)
    return None if bucket is None else middle_of(bucket)


def middle_of(bucket: int) -> int:
    """Return the milliseconds that stand for a bucket."""
    return round(2 ** ((bucket + 0.5) / PARTS)) if bucket else 1
