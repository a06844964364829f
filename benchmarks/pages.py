"""Measures pages against the page floor: a bare view behind the same middleware.

    python benchmarks/pages.py [--rows 1000000] [--records 10000] [--rounds 100] [--runs 3] [--json] [--profile NAME]

Rows are stored in a temporary home: --rows sessions, turns, records, samples, jobs and entries of the audit log, an
agent with a tenth of that, and 200 agents. Every round requests every page once, so that all have the same noise; the
figures are medians of server time in this process, or medians of the medians of several runs. Without --json the result
is a table.
"""

import argparse
import cProfile
import json
import os
import pstats
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import bulk_rows

ROOT = Path(__file__).resolve().parent.parent
SMALL = 10_000
AGENTS = 200
BARS = {"list": 3, "search": 7, "detail": 6, "growth": 1.1, "agents": 2}
T0 = bulk_rows.T0
UNSEEN = "session, first, its Markdown never rendered before"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--artifacts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=1, help="3 for NOTES.md")
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
        rows = median_of([measure(client, pages, options.rounds) for _ in range(options.runs)])
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def start(home):
    """Set up Django on an empty home, as `serve` does."""
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
    """Write the rows; return every page's address and kind."""
    from agents import databases, services
    from agents.models import Agent
    from tests.datasets.dataset_rows import fill_datasets

    for name, count in (("small", SMALL), ("middle", options.rows // 10), ("big", options.rows)):
        db = services.register(name).db
        bulk_rows.fill_sessions(db, count)
        bulk_rows.fill_agent(db, count)
        bulk_rows.fill_artifacts(db, min(count, options.artifacts))
        bulk_rows.checkpoint_wal(db)
    bulk_rows.fill_site(options.rows, agent="big")
    fill_datasets(options.rows, agent="big", db=db)
    bulk_rows.fill_agents(AGENTS)
    for agent_id in Agent.objects.filter(agent_id__startswith="agent-").values_list("agent_id", flat=True):
        databases.create(agent_id)  # a page says which files are missing
    fill_newest(Agent.objects.filter(agent_id__startswith="agent-").order_by("agent_id")[:6])
    bulk_rows.checkpoint_wal("default")
    insert_transcript(db, "long", options.records)
    long = "/agents/big/sessions/long/"
    return {
        "floor": ("/floor/", None),
        **list_agent_pages("small", SMALL),
        **list_agent_pages("middle", options.rows // 10),
        **list_agent_pages("big", options.rows),
        **LISTS,
        "session, first": (long, "detail"),
        UNSEEN: (long, "detail"),
        "session, deep": (f"{long}?after={options.records * 9 // 10}", "detail"),
        "session, a turn": (f"{long}?turn={options.records // 5}", "detail"),
        "session, every branch": (f"{long}?branch=all&after={options.records // 2}", "detail"),
        "record": (f"{long}records/r{options.records // 2}/", "detail"),
        "artifact": (f"/agents/big/artifacts/{stash_example(db)}/", "detail"),
        "savings": ("/agents/big/savings/", "detail"),
        "savings of a year": ("/agents/big/savings/?days=365", "detail"),
        "savings of a session": (f"{long}savings/", "detail"),
    }


def fill_newest(agents):
    """Add sessions and writes for a few agents, which the first page links to."""
    from overview import memory_sums
    from overview.first_page import newest_sessions

    for agent in agents:
        bulk_rows.fill_sessions(agent.db, 60)
        bulk_rows.fill_agent(agent.db, 600)
        bulk_rows.fill_guardian(agent.db, 600)
        newest_sessions.refresh(agent)
        memory_sums.refresh(agent)


def list_agent_pages(agent, count):
    """The pages that grow with an agent, for agents of three sizes."""
    root = f"/agents/{agent}"
    return {
        f"{agent}: sessions, first": (f"{root}/sessions/", "list"),
        f"{agent}: sessions, deep": (f"{root}/sessions/?after={build_cursor(count // 2)}", "list"),
        f"{agent}: sessions, end": (f"{root}/sessions/?after={build_cursor(20)}", "list"),
        f"{agent}: sessions, back from the end": (f"{root}/sessions/?before={build_cursor(20)}", "list"),
        f"{agent}: sessions, by cost": (f"{root}/sessions/?sort=-cost", "list"),
        f"{agent}: turns": (f"{root}/turns/", "list"),
        f"{agent}: turns, with errors": (f"{root}/turns/?errors=on", "search"),
        f"{agent}: turns, no such model": (f"{root}/turns/?model=none", "search"),
        f"{agent}: turns, no such words": (f"{root}/turns/?q=nowhere", "search"),
        f"{agent}: records": (f"{root}/events/", "list"),
        f"{agent}: records, failed": (f"{root}/events/?failed=on", "search"),
        f"{agent}: records, no such tool": (f"{root}/events/?tool=none", "search"),
        f"{agent}: records, no such words": (f"{root}/events/?q=nowhere", "search"),
        f"{agent}: artifacts": (f"{root}/artifacts/", "list"),
    }


LISTS = {
    "sessions, cheapest first, of some cost": ("/agents/big/sessions/?sort=cost&cost=0.3", "search"),
    "sessions, of two days": ("/agents/big/sessions/?from=2026-06-01&to=2026-06-02", "list"),
    "sessions, of a channel": ("/agents/big/sessions/?channel=telegram", "list"),
    "sessions, with errors": ("/agents/big/sessions/?errors=on", "list"),
    "sessions, of a channel, with errors": ("/agents/big/sessions/?channel=telegram&errors=on", "search"),
    "sessions, by cost, no such model": ("/agents/big/sessions/?sort=-cost&model=none&errors=on", "search"),
    "sessions, words": ("/agents/big/sessions/?q=number+77", "search"),
    "sessions, no such words": ("/agents/big/sessions/?q=nowhere", "search"),
    "turns, of two days": ("/agents/big/turns/?from=2026-01-20&to=2026-01-21", "list"),
    "turns, of two days, no such model": ("/agents/big/turns/?from=2026-01-20&to=2026-01-21&model=none", "search"),
    "artifacts, by size, no such tool": ("/agents/big/artifacts/?sort=size&tool=none", "search"),
    "samples": ("/samples/", "list"),
    "samples, none of a type": ("/samples/?type=memory_gate_positive", "search"),
    "samples, none of a type and status": ("/samples/?type=memory_gate_positive&status=pending", "list"),
    "samples, of a session": ("/samples/?session=00000007", "list"),
    "samples, by nobody": ("/samples/?by=nobody", "search"),
    "review": ("/review/", "list"),
    "review, none of a type": ("/review/?type=memory_gate_positive", "list"),
    "findings": ("/findings/", "list"),
    "findings, by places": ("/findings/?sort=-places", "list"),
    "findings, of a kind": ("/findings/?kind=email", "list"),
    "findings, none of a kind and state": ("/findings/?kind=key&state=open", "list"),
    "findings, of an agent": ("/findings/?agent=big", "search"),
    "findings, of no rule": ("/findings/?rule=none", "search"),
    "finding": (f"/findings/{0:032x}/", "detail"),
    "datasets": ("/datasets/", "list"),
    "dataset": (f"/datasets/{0:026d}/", "detail"),
    "release": (f"/datasets/{0:026d}/1/", "detail"),
    "members": (f"/datasets/{0:026d}/1/members/", "list"),
    "members, of a side": (f"/datasets/{0:026d}/1/members/?side=test", "list"),
    "members not to be used": (f"/datasets/{0:026d}/1/taints/", "list"),
    "uses of a sample": (f"/samples/{7:026d}/uses/", "detail"),
    "sample": (f"/samples/{7:026d}/", "detail"),
    "statistics of samples": ("/datasets/statistics/", "detail"),
    "jobs": ("/operations/jobs/", "list"),
    "jobs, none of a kind": ("/operations/jobs/?kind=doctor", "list"),
    "jobs, none of a state": ("/operations/jobs/?state=refused", "list"),
    "audit log": ("/operations/audit/", "list"),
    "audit log, of no agent": ("/operations/audit/?agent=nobody", "search"),
    "exports": ("/exports/", "list"),
    "rejected records, no such file": ("/operations/rejected/?agent=big&file=nowhere", "search"),
    "doctor": ("/operations/doctor/", "detail"),
    "backups": ("/operations/backups/", "detail"),
    "retention": ("/operations/retention/", "detail"),
    "overview": ("/", "detail"),
    "overview, 24 h": ("/?range=24h", "detail"),
    "overview, 35 days": ("/?range=35d", "detail"),
    "agents of 35 days": ("/agents/?from=2026-03-01&to=2026-04-04", None),
    "agents": ("/agents/", None),
}


def insert_transcript(db, session_id, count):
    """Store a session of `count` records.

    Of every four, one is a question, one a call, one its output of 3.5 kB, and one a reply.
    """
    from ledger.transcripts import transcript_store as services

    records = [{"type": "session", "id": session_id, "version": 3, "timestamp": T0}]
    records += [build_record(n) for n in range(1, count)]
    for n in range(100, count, 1000):  # a few abandoned branches
        records[n]["parentId"] = f"r{n - 9}"
    transcript = services.Transcript(session_id, "long.jsonl", T0)
    services.store_transcript(db, transcript, build_lines(records))


def stash_example(db):
    """Stash an output of 20 kB; return its hash."""
    from artifacts import services

    text = "".join(f"{line:05}: GET /items/{line * 31 % 9973} 200\n" for line in range(800))
    place = services.Place("long", None, "r3", "exec", "call_2")
    return services.stash(db, text, place=place, is_compressed=True)[0].sha256


def build_lines(records):
    import orjson

    from ledger.collectors.jsonl import Line

    offset = 0
    for each in records:
        raw = orjson.dumps(each)
        yield Line(offset, offset + len(raw) + 1, raw, each)
        offset += len(raw) + 1


def build_record(n):
    """Record number n of an invented session."""
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


def build_cursor(n):
    """The cursor after session number n."""
    from openclaw_web.lists.paging import encode_cursor

    return encode_cursor([T0 + n * 60_000, f"{n:08}"])


def signed_in():
    """A test client of an admin."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    person = get_user_model().objects.create(username="bench", role="admin")
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


def measure(client, pages, rounds, timer=time.perf_counter):
    """Median milliseconds and size of every page, and its ratio to the floor.

    `timer` may be `time.process_time`.
    """
    from ledger.markup import markdown
    from operations.server import preparation

    preparation.load_site()  # as `serve` does: the garbage collector then ignores objects that exist already
    remembered, rendered_anew = markdown.render, markdown._render_text
    times = {name: [] for name in pages}
    sizes = {}
    for number in range(rounds + 3):  # the first three rounds warm up templates and caches
        for name, (url, _) in pages.items():
            markdown.render = rendered_anew if name == UNSEEN else remembered
            started = timer()
            response = client.get(url)
            spent = (timer() - started) * 1000
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
    ] + compare_pages(medians)


OF_ALL_AGENTS = ("agents", "overview", "overview, 24 h", "overview, 35 days")


def compare_pages(medians):
    """Compare pages of a million rows with a tenth, and pages of all agents with sessions."""
    rows = [
        {
            "page": f"growth, {name.partition(': ')[2]}",
            "ms": None,
            "ratio": round(medians[name] / medians[name.replace("big", "middle", 1)], 2),
            "bar": BARS["growth"],
            "kb": None,
        }
        for name in medians
        if name.startswith("big: ")
    ]
    for name in [name for name in OF_ALL_AGENTS if name in medians]:
        ratio = round(medians[name] / medians["big: sessions, first"], 2)
        page = f"{name} of {AGENTS} agents, against sessions"
        rows.append({"page": page, "ms": None, "ratio": ratio, "bar": BARS["agents"], "kb": None})
    return rows


def median_of(runs):
    """Merge the rows of several runs into medians."""
    names = ("ms", "ratio")
    return [
        same[0]
        | {name: round(statistics.median(row[name] for row in same), 2) for name in names if same[0][name] is not None}
        for same in zip(*runs, strict=True)
    ]


def profile(client, url, rounds):
    """Print where the time of one page goes."""
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
