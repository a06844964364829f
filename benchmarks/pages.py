"""The list of sessions and the session page against the page floor: a bare view behind the same middleware and login.

    python benchmarks/pages.py [--sessions 1000000] [--records 10000] [--rounds 100] [--json] [--profile NAME]

Rows go into a temporary home. Every round asks for every page once, so that all of them meet the same noise; the
figures are medians of server time in process. Without --json a table.
"""

import argparse
import cProfile
import json
import os
import pstats
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMALL = 10_000
BARS = {"list": 3, "detail": 6, "growth": 1.1}
T0 = 1_767_571_200_000
TOOLS = ("exec", "read", "web_fetch", "browser", "grep", "process", "message", "memory_search")
SUMS = ("call_count", "result_count", "chars", "stashed_count", "stashed_chars", "kept_chars", "carried_chars")
UNSEEN = "session, first, its Markdown never rendered before"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--artifacts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", metavar="PAGE", help="print where the time of one page goes instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        start(home)
        pages = fill(options)
        client = signed_in()
        if options.profile:
            profile(client, pages[options.profile][0], options.rounds)
            return
        rows = measure(client, pages, options.rounds)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def start(home):
    """Django on an empty home, set up as `serve` does it."""
    sys.path.insert(0, str(ROOT))
    os.environ |= {
        "OPENCLAW_WEB_HOME": home,
        "OPENCLAW_WEB_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
    }
    import django
    from django.conf import settings

    settings.ROOT_URLCONF = "page_floor"
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)


def fill(options):
    """Write the rows; returns every page's address and kind."""
    from agents import services

    small, big = services.register("small"), services.register("big")
    insert_sessions(small.db, SMALL)
    insert_sessions(big.db, options.sessions)
    insert_transcript(big.db, "long", options.records)
    long = "/agents/big/sessions/long/"
    return {
        "floor": ("/floor/", None),
        "list, 10k, first": ("/agents/small/sessions/", "list"),
        "list, 10k, end": (f"/agents/small/sessions/?after={place(20)}", "list"),
        "list, 10k, deep": (f"/agents/small/sessions/?after={place(SMALL // 2)}", "list"),
        "list, big, first": ("/agents/big/sessions/", "list"),
        "list, big, deep": (f"/agents/big/sessions/?after={place(options.sessions // 2)}", "list"),
        "list, big, end": (f"/agents/big/sessions/?after={place(20)}", "list"),
        "list, big, back from the end": (f"/agents/big/sessions/?before={place(20)}", "list"),
        "list, big, by cost": ("/agents/big/sessions/?sort=-cost", "list"),
        "list, big, cheapest first, of some cost": ("/agents/big/sessions/?sort=cost&cost=0.3", "list"),
        "list, big, days": ("/agents/big/sessions/?from=2026-06-01&to=2026-06-02", "list"),
        "list, big, channel and errors": ("/agents/big/sessions/?channel=telegram&errors=on", "list"),
        "list, big, by cost, no such model": ("/agents/big/sessions/?sort=-cost&model=none&errors=on", "list"),
        "records": ("/agents/big/events/", "list"),
        "records, failed": ("/agents/big/events/?failed=on", "list"),
        "records, words": ("/agents/big/events/?q=nowhere", "list"),
        "turns": ("/agents/big/turns/", "list"),
        "list, big, errors": ("/agents/big/sessions/?errors=on", "list"),
        "list, big, channel": ("/agents/big/sessions/?channel=telegram", "list"),
        "list, big, words": ("/agents/big/sessions/?q=number+77", "list"),
        "list, big, no such words": ("/agents/big/sessions/?q=nowhere", "list"),
        "session, first": (long, "detail"),
        UNSEEN: (long, "detail"),
        "session, deep": (f"{long}?after={options.records * 9 // 10}", "detail"),
        "session, a turn": (f"{long}?turn={options.records // 5}", "detail"),
        "session, every branch": (f"{long}?branch=all&after={options.records // 2}", "detail"),
        "record": (f"{long}records/r{options.records // 2}/", "detail"),
        **artifact_pages(small.db, big.db, options.artifacts, long),
    }


def artifact_pages(small, db, count, long):
    """Write the rows of artifacts; the addresses of the pages about them, `long` is that of a session."""
    insert_artifacts(small, SMALL)
    insert_artifacts(db, count)
    return {
        "artifacts, 10k, first": ("/agents/small/artifacts/", "list"),
        "artifacts, big, first": ("/agents/big/artifacts/", "list"),
        "artifact": (f"/agents/big/artifacts/{stashed_example(db)}/", "detail"),
        "savings": ("/agents/big/savings/", "detail"),
        "savings of a year": ("/agents/big/savings/?days=365", "detail"),
        "savings of a session": (f"{long}?view=savings", "detail"),
    }


def insert_sessions(db, count):
    """Sessions a minute apart, over four channels, every twentieth with errors."""
    from django.db import connections, transaction

    from ledger.models import Session

    names = [field.column for field in Session._meta.concrete_fields]
    numbers = random.Random(7)
    channels = ("telegram", "webchat", "irc", "discord")
    plain = {field.column: field.get_default() for field in Session._meta.concrete_fields}

    def row(n):
        turns = numbers.randrange(1, 60)
        return plain | {
            "id": f"{n:08}",
            "channel_id": channels[n % 4],
            "origin": ("direct", "group", "cron")[n % 3],
            "created_at": T0 + n * 60_000,
            "last_activity_at": T0 + n * 60_000,
            "title": f"Session number {n}: 请分析 data.csv and say what is wrong with it",
            "session_key": f"agent:main:direct:{n}",
            "turn_count": turns,
            "record_count": turns * 4,
            "total_tokens": turns * 9_000,
            "cost_usd": turns * 0.01,
            "error_count": int(n % 20 == 0),
        }

    sql = f"INSERT INTO sessions ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    with transaction.atomic(using=db):  # past Django's cursor, which keeps every row until the last is in
        connections[db].connection.executemany(sql, ([*map(row(n).get, names)] for n in range(count)))
    with connections[db].cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def insert_transcript(db, session_id, count):
    """One session of `count` records: of every four a question, a call, its output of 3.5 kB, and a reply."""
    from ledger import services

    records = [{"type": "session", "id": session_id, "version": 3, "timestamp": T0}]
    records += [record(n) for n in range(1, count)]
    for n in range(100, count, 1000):  # here and there a branch that was left
        records[n]["parentId"] = f"r{n - 9}"
    transcript = services.Transcript(session_id, "long.jsonl", T0)
    services.store_transcript(db, transcript, lines(records))


def insert_artifacts(db, count):
    """Outputs a minute apart, every fifth content twice, of eight tools; their files are not there."""
    from django.db import connections, transaction

    from artifacts.models import Artifact
    from ledger.models import ToolDay

    sums = {}
    plain = {field.column: field.get_default() for field in Artifact._meta.concrete_fields}
    sql = f"INSERT INTO artifacts ({', '.join(plain)}) VALUES ({', '.join('?' * len(plain))})"
    with transaction.atomic(using=db):
        rows = ((plain | artifact(n, sums)).values() for n in range(count))
        connections[db].connection.executemany(sql, map(list, rows))
        ToolDay.objects.using(db).bulk_create(
            ToolDay(date=day, tool=tool, channel_id="telegram", **sums[day, tool]) for day, tool in sums
        )


def artifact(n, sums):
    """The columns of the use number n; it is counted in the sums of its day and tool."""
    from ledger.turns import utc_day

    at, chars, tool = T0 + n * 60_000, 8_000 + n * 7919 % 60_000, TOOLS[n % len(TOOLS)]
    day = sums.setdefault((utc_day(at), tool), dict.fromkeys(SUMS, 0))
    for name, amount in zip(SUMS, (1, 1, chars, 1, chars, 600, chars * 9), strict=True):
        day[name] += amount
    return {
        "id": f"{n:032x}",
        "handle": f"ocm_artifact:v1:sha256:{n - (n % 5 == 4):064x}",
        "kind": "tool_output",
        "bytes": chars,
        "stored_bytes": chars // 5,
        "chars": chars,
        "lines": chars // 60,
        "tool": tool,
        "summary": f"text/plain, {chars:,} characters, exit code 0",
        "created_at": at,
        "content_type": "text/plain",
        "session_id": f"{n:08}",
        "turn_id": f"{n:08}:r1",
        "record_id": f"r{n}",
        "preview": "GET /items 200\n" * 30,
    }


def stashed_example(db):
    """The hash of an output of 20 kB whose file is there."""
    from artifacts import services

    text = "".join(f"{line:05}: GET /items/{line * 31 % 9973} 200\n" for line in range(800))
    place = services.Place("long", None, "r3", "exec", "call_2")
    return services.stash(db, text, place=place, is_compressed=True)[0].sha256


def lines(records):
    import orjson

    from ledger.collectors.jsonl import Line

    offset = 0
    for each in records:
        raw = orjson.dumps(each)
        yield Line(offset, offset + len(raw) + 1, raw, each)
        offset += len(raw) + 1


def record(n):
    """The record number n of a made-up session."""
    about = {"type": "message", "id": f"r{n}", "parentId": f"r{n - 1}" if n > 1 else None, "timestamp": T0 + n * 1000}
    usage = {"input": 6400, "output": 180, "totalTokens": 6580, "cost": {"total": 0.0165}}
    agent = {"role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5", "usage": usage}
    if n % 4 == 1:
        text = f"Question {n}: 用表格列出前十个最慢的请求。 Which of them are slow because the cache was cold?"
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
    elif n % 4 == 2:
        call = {"type": "toolCall", "id": f"call_{n}", "name": "exec", "arguments": {"command": f"rg -n slow log.{n}"}}
        thought = {"type": "thinking", "thinking": "The log has what is asked for; search it first."}
        message = agent | {"content": [thought, {"type": "text", "text": "Searching."}, call], "stopReason": "toolUse"}
    elif n % 4 == 3:
        output = "".join(
            f"{line:05}: GET /items/{line * n % 9973} 200 {line * 7 % 991} ms 重试\n" for line in range(90)
        )
        details = {"status": "completed", "exitCode": int(n % 100 == 3), "durationMs": 50, "cwd": "/srv"}
        message = {"role": "toolResult", "toolCallId": f"call_{n - 1}", "toolName": "exec", "details": details}
        message["content"] = [{"type": "text", "text": output}]
    else:
        text = (
            f"Three of them:\n\n1. `GET /items/{n}`\n2. **cold cache**, see `log.{n}`\n3. 重试\n\nAll others are fine."
        )
        message = agent | {"content": [{"type": "text", "text": text}], "stopReason": "stop"}
    return about | {"message": message}


def place(n):
    """The cursor after session number n."""
    from openclaw_web.paging import cursor

    return cursor([T0 + n * 60_000, f"{n:08}"])


def signed_in():
    """A browser of somebody who may look and label."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    person = get_user_model().objects.create(username="bench", role="labeller")
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


def measure(client, pages, rounds):
    """Median milliseconds of every page, its size, and its ratio to the floor."""
    from ledger import markdown

    remembered, rendered_anew = markdown.render, markdown.render.__wrapped__
    times = {name: [] for name in pages}
    sizes = {}
    for number in range(rounds + 3):  # the first three warm templates and caches up
        for name, (url, _) in pages.items():
            markdown.render = rendered_anew if name == UNSEEN else remembered
            started = time.perf_counter()
            response = client.get(url)
            spent = (time.perf_counter() - started) * 1000
            assert response.status_code == 200, (url, response.status_code)
            sizes[name] = len(response.content)
            if number >= 3:
                times[name].append(spent)
    medians = {name: statistics.median(spent) for name, spent in times.items()}
    return [
        {
            "page": name,
            "ms": round(medians[name], 2),
            "ratio": round(medians[name] / medians["floor"], 2),
            "bar": BARS.get(kind),
            "kb": round(sizes[name] / 1000, 1),
        }
        for name, (_, kind) in pages.items()
    ] + [growth(medians, which) for which in ("first", "deep", "end")]


def growth(medians, which):
    ratio = medians[f"list, big, {which}"] / medians[f"list, 10k, {which}"]
    return {
        "page": f"growth, 10k to big, {which}",
        "ms": None,
        "ratio": round(ratio, 2),
        "bar": BARS["growth"],
        "kb": None,
    }


def profile(client, url, rounds):
    """Where the time of one page goes."""
    client.get(url)
    recorder = cProfile.Profile()
    recorder.enable()
    for _ in range(rounds):
        client.get(url)
    recorder.disable()
    pstats.Stats(recorder).sort_stats("tottime").print_stats(45)


def table(rows):
    """The figures beside their bars, as Markdown."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    body = [
        f"| {row['page']} | {row['ms'] or ''} | {row['ratio']} | {row['bar'] or ''} | {row['kb'] or ''} |"
        for row in rows
    ]
    head = ["| page | median, ms | ratio | bar | kB |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *body, f"| peak memory, MB | {peak:.0f} | | | |"])


if __name__ == "__main__":
    main()
