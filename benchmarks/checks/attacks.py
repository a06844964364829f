"""Measures texts that were made to be slow to search, and searches for slower ones.

    python benchmarks/checks/attacks.py [--megabytes N] [--entries [NAME]] [--search SECONDS] [--seed N] [--json]

Each family of `attack_texts.py` is built with N megabytes (2) and searched for personal data and secrets. The figure is
the ratio to plain text of the same length, which is searched before and after the families in the same process; a
ratio above 20 is bold. "not fully" means that the text exceeded its budget.

With `--entries` the same texts go through parsers, diffs, hashes and pages instead (`attack_entries.py`), all or those
whose name begins so. Of each, the slowest three are shown. A text that takes a hundred times as long as plain text is
stopped. Begin with few megabytes (0.02): a slow one may be quadratic.

With `--search` units of a few words are repeated to 60,000 characters instead: words of the rules and of the families,
put together by chance, of which the slowest are changed again and again. The slowest twenty are shown.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(1, str(Path(__file__).resolve().parent))  # after the root: an app has the name of a program here

from attack_texts import FAMILIES, repeat, vocabulary  # noqa: E402
from detectors import build_lines  # noqa: E402

from openclaw_web.detectors.detect import find_spans  # noqa: E402
from openclaw_web.detectors.spans import NOT_FULLY_SCANNED  # noqa: E402

BAR = 20
SEARCHED = 60_000  # characters of a text in the search
POOL, SHOWN = 60, 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=2)
    parser.add_argument("--entries", nargs="?", const="", metavar="NAME")
    parser.add_argument("--search", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.search:
        rows = search(random.Random(options.seed), options.search)
    elif options.entries is not None:
        rows = list(measure_entries(options.entries, int(options.megabytes * 1_000_000)))
    else:
        rows = measure_families(int(options.megabytes * 1_000_000))
    rows.sort(key=lambda row: -row["ratio"])
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def measure_families(size):
    first = measure_plain(size)
    rows = [{"text": name} | measure(build(size)) for name, build in FAMILIES.items()]
    plain = (first + measure_plain(size)) / 2
    return [row | {"ratio": row["seconds"] / plain} for row in rows]


def measure_entries(beginning, size):
    """Yield the slowest texts of each entry, with their ratios to plain text in the same entry."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    os.environ["OPENCLAW_WEB_HOME"] = tempfile.mkdtemp(prefix="openclaw-web-bench-")
    import django

    django.setup()
    from attack_entries import EDITS, PAIR_ENTRIES, TEXT_ENTRIES, edit_some

    signal.signal(signal.SIGPROF, stop)
    plain_text = build_plain(size)
    for name, run in {**TEXT_ENTRIES, **PAIR_ENTRIES}.items():
        if not name.startswith(beginning):
            continue
        edits = {"": None} if name in TEXT_ENTRIES else EDITS
        arguments = (plain_text,) if name in TEXT_ENTRIES else (plain_text, edit_some(plain_text))
        plain = max(min(time_run(run, arguments, 600) for _ in range(3)), 1e-5)
        rows = []
        for family, build in FAMILIES.items():
            text = build(size)
            for edit, change in edits.items():
                seconds = time_run(run, (text,) if change is None else (text, change(text)), 100 * plain)
                label = f"{name}: {family} {edit}".strip()
                rows.append({"text": label, "seconds": seconds, "ratio": seconds / plain, "is_whole": True})
        yield from sorted(rows, key=lambda row: -row["ratio"])[:3]


def time_run(run, arguments, most):
    """Seconds of processor time of a run, of several when it is short; it is stopped after about `most`."""
    signal.setitimer(signal.ITIMER_PROF, max(most, 0.2))
    started, count = time.process_time(), 0
    try:
        while not count or time.process_time() - started < 0.03:
            run(*arguments)
            count += 1
    except Stopped:
        count = max(count, 1)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return (time.process_time() - started) / count


class Stopped(Exception):
    """A run has taken too long."""


def stop(_signal, _frame):
    raise Stopped


def search(chance, seconds):
    """The slowest units that were found in so many seconds, with their ratios to plain text."""
    words, pool, tried = vocabulary(), [], 0
    plain, ends_at = measure_plain(SEARCHED), time.monotonic() + seconds
    while time.monotonic() < ends_at:
        tried += 1
        parts = choose_parts(chance, words, pool if tried > 200 else [])
        if any(parts == row["parts"] for row in pool):
            continue
        row = {"text": repr("".join(parts)), "parts": parts} | measure(repeat("".join(parts))(SEARCHED))
        pool = sorted([*pool, row | {"ratio": row["seconds"] / plain}], key=lambda row: -row["ratio"])[:POOL]
        if tried % 100 == 0:
            plain = measure_plain(SEARCHED)
    print(f"{tried:,} texts tried", file=sys.stderr)
    return pool[:SHOWN]


def choose_parts(chance, words, pool):
    """Some words by chance, or a slow unit with one word more, less or other."""
    if not pool or chance.random() < 0.3:
        return [chance.choice(words) for _ in range(chance.randint(1, 5))]
    parts = list(chance.choice(pool[:25])["parts"])
    place, kind = chance.randrange(len(parts)), chance.random()
    if kind < 0.4 and len(parts) < 8:
        parts.insert(place, chance.choice(words))
    elif kind < 0.8 or len(parts) == 1:
        parts[place] = chance.choice(words)
    else:
        del parts[place]
    return parts


def build_plain(size):
    return "\n".join(build_lines("prose", 2 * size))[:size]


def measure_plain(size):
    text = build_plain(size)
    find_spans(text[:1_000])  # patterns are compiled once
    return min(measure(text)["seconds"] for _ in range(3))


def measure(text):
    started = time.process_time()
    spans = find_spans(text)
    took = time.process_time() - started
    return {"seconds": took, "found": len(spans), "is_whole": not any(span.kind == NOT_FULLY_SCANNED for span in spans)}


def table(rows):
    lines = ["| text | ratio to plain | seconds | |", "| --- | --- | --- | --- |"]
    for row in rows:
        ratio = f"{row['ratio']:.1f}" if row["ratio"] <= BAR else f"**{row['ratio']:.1f}**"
        lines.append(f"| {row['text']} | {ratio} | {row['seconds']:.2f} | {'' if row['is_whole'] else 'not fully'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
