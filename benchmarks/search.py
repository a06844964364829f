"""Measures the search: size and filling of its indexes, and its page.

    python benchmarks/search.py --home HOME [--rounds 3] [--json]

HOME is a home with imported agents; its indexes are built anew. Texts are those that the sources yield. The page is
requested with 48 queries of one to four words, English and Chinese, of words that many or few texts have, by kind,
newest first and best first.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUERIES = 48
SAMPLED = 20_000  # texts whose words are counted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--is-filled", action="store_true", help="leave the indexes as they are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    os.environ |= {"OPENCLAW_WEB_HOME": options.home, "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    import django

    django.setup()
    figures = {} if options.is_filled else measure_filling()
    queries, figures["text_mb"], figures["texts"] = choose_queries()
    from search import fill

    size = sum(place.file.stat().st_size for place in fill.list_places())
    figures |= {"index_mb": size / 1e6, "ratio": size / 1e6 / figures["text_mb"]}
    if "processor" in figures:
        figures["mb_per_second"] = figures["text_mb"] / figures["processor"]
    figures |= measure_pages(queries, options.rounds)
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for name, figure in figures.items():
        print(f"{name:20} {figure:,.3f}" if isinstance(figure, float) else f"{name:20} {figure}")


def measure_filling():
    """The processor time that builds all indexes anew, in seconds."""
    from search import fill

    began = time.process_time()
    fill.fill_all(is_anew=True)
    return {"processor": time.process_time() - began}


def choose_queries():
    """Queries of words of the texts, and the size of all texts in MB and their number."""
    from search import fill, words
    from search.sources import get_sources

    counts, size, number = Counter(), 0, 0
    draw = random.Random(43)

    class Counting:
        """An empty index, so that a source yields everything."""

        def read_positions(self, _source, _parts):
            return {}

        def read_changed(self, _source):
            return [], 0

        def iterate_parts(self, _source):
            return []

    from search.sources import Item

    build = Item.build_entries

    def count(item):
        nonlocal size, number
        text = "\n".join(item.fields.values())
        size += len(text.encode(errors="replace"))
        number += 1
        if number % 37 == 0 and sum(counts.values()) < SAMPLED * 100:
            counts.update(set(words.split(words.fold(text[:2_000]))))
        return build.__get__(Item("", 0, item.kind, {item.kind: ""}))()

    Item.build_entries = count
    for place in fill.list_places():
        for source in get_sources(is_global=not place.agent_id).values():
            for _step in source.read_new(place.db, Counting()):
                pass
    Item.build_entries = build
    ranked = [word for word, _count in counts.most_common() if len(word) > 1]
    english = [word for word in ranked if word.isascii() and word.isalpha()]
    chinese = [word[:2] for word in ranked if words.is_unspaced(word) and "\u4e00" <= word[0] <= "\u9fff"]
    queries = []
    for pool in (english[:40], english[40:], chinese[:20], chinese[20:]):
        for length in (1, 2, 3, 4):
            queries += [" ".join(draw.sample(pool, min(length, len(pool)))) for _n in range(QUERIES // 16)]
    return queries, size / 1e6, number


def measure_pages(queries, rounds):
    """Milliseconds of the page, at the median of its rounds for each query."""
    from django.conf import settings
    from django.test import Client

    from people.models import User

    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    user = User.objects.filter(username="bench").first() or User.objects.create_user("bench", "bench", role="viewer")
    client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[-1])
    figures = {}
    for name, more in (("by_kind", {}), ("newest", {"sort": "newest"}), ("best", {"sort": "best"})):
        times = []
        for query in queries:
            each = []
            for _round in range(rounds):
                began = time.perf_counter()
                answer = client.get("/search/", {"q": query, **more})
                each.append((time.perf_counter() - began) * 1000)
                assert answer.status_code == 200, query
            times.append(statistics.median(each))
        times.sort()
        figures[f"{name}_p50_ms"], figures[f"{name}_p95_ms"] = times[len(times) // 2], times[int(len(times) * 0.95)]
    return figures


if __name__ == "__main__":
    main()
