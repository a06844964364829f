"""Measures memory writes: pages, long diffs, blame, and how fast writes are stored.

    python benchmarks/guardian.py [--rows 100000] [--snapshots 20000] [--writes 2000] [--rounds 40] [--runs 3]
                                  [--clients 8] [--seconds 10] [--bytes 4000 50000] [--way WORDS]
                                  [--only lists|files|record] [--json] [--processor] [--profile ADDRESS]

Lists: an agent with --rows writes and --snapshots versions of 50 kB, and one with a tenth of both; each page is
requested of both, growth is the ratio of the two. Files: two changes of 200 kB, and a file with --writes; blame is
requested in fresh processes. Recording: see writes/write_throughput.py. Figures are medians of --runs.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pages

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
LENGTH = 50_000  # of each version
BARS_MS = {"200 changed lines": 150, "no common line": 400, "blame": 500}
SESSION = "00000777"
FILTERS = {
    "file": "file=USER.md",
    "written": "status=written",
    "refused": "status=refused",
    "failed": "status=failed",
    "rolled back": "status=rolled_back",
    "recorded": "origin=recorded",
    "unattributed": "segment=unattributed",
    "without rollbacks": "segment=writes",
    "asked for": "segment=told",
    "rollbacks": "segment=rollbacks",
    "session": f"session={SESSION}",
    "decision": "decision=00000000000000000000007771",
    "turn": f"turn={SESSION}:r7771",
    "rule": "rule=correction-00000000000000000003",
    "flagged": "flagged=on",
    "unmatched": "unmatched=on",
}
WORDS = {"words": "q=likes+tea", "no such words": "q=nowhere"}
BOTH = {"refused in a file": "status=refused&file=USER.md", "failed and flagged": "status=failed&flagged=on"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--snapshots", type=int, default=20_000)
    parser.add_argument("--writes", type=int, default=2_000, help="of one file")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--bytes", type=int, nargs="+", default=[4_000, LENGTH])
    parser.add_argument("--way", default="", help="only ways of recording with these words in their names")
    parser.add_argument("--only", choices=("lists", "files", "record"))
    parser.add_argument("--processor", action="store_true", help="of pages the time of the processor, not of the clock")
    parser.add_argument("--profile", metavar="ADDRESS", help="print where the time of one page goes instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.timer = time.process_time if options.processor else time.perf_counter
    figures = {}
    if options.only != "record":
        with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
            pages.start(home)
            client = pages.signed_in()
            for name, measure in {"lists": measure_lists, "files": measure_files}.items():
                if options.only in (None, name):
                    figures[name] = measure(home, client, options)
    if options.only in (None, "record") and not options.profile:
        with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
            figures["record"] = measure_recording(home, options)
    print(json.dumps(figures, indent=1) if options.json else "\n\n".join(map(table, figures.values())))


def measure_lists(_home, client, options):
    """The figures and the growth of every page that grows with an agent's writes."""
    fill("small", options.rows // 10, options.snapshots // 10)
    fill("big", options.rows, options.snapshots)
    if options.profile:
        pages.profile(client, options.profile, options.rounds)
        return []
    pages_by_name = {"floor": ("/floor/", None), "agents": ("/agents/", None)}
    for agent in ("middle", "big"):
        owner, count = ("small", options.rows // 10) if agent == "middle" else ("big", options.rows)
        # First another page: the first request about an agent opens its file.
        pages_by_name[f"{agent}: sessions, first"] = (f"/agents/{owner}/sessions/", None)
        pages_by_name |= {f"{agent}: {name}": page for name, page in list_pages(owner, count).items()}
    rows = pages.median_of(
        [pages.measure(client, pages_by_name, options.rounds, options.timer) for _ in range(options.runs)]
    )
    own = ("agents", "middle: sessions", "big: sessions", "growth, sessions", f"{pages.AGENTS} agents")
    return [row for row in rows if not row["page"].startswith(own)]


def fill(agent_id, count, versions):
    """Make an agent with `count` writes."""
    from agents import services
    from benchmarks import bulk_rows
    from benchmarks.writes import rows as write_rows

    db = services.register(agent_id).db
    bulk_rows.fill_sessions(db, count // 10)
    bulk_rows.fill_agent(db, count)
    write_rows.fill(db, count, versions, LENGTH)


def list_pages(owner, count):
    """{name: (address, bar)} of every page and API list.

    Each filter is measured alone and with days.
    """
    from benchmarks.writes import rows as write_rows
    from openclaw_web import clock
    from openclaw_web.lists.paging import encode_cursor

    start = clock.now_ms() - write_rows.WEEKS_MS
    deep = f"after={encode_cursor([start + write_rows.WEEKS_MS // 2, count // 2])}"
    days = f"from={_date(start + write_rows.WEEKS_MS // 2)}&to={_date(start + write_rows.WEEKS_MS // 2 + 86_400_000)}"
    queries = {"first": "", "deep": deep, "of two days": days} | FILTERS | BOTH
    listed = {}
    for kind, root in (("list", f"/agents/{owner}/writes/"), ("API", f"/api/v1/agents/{owner}/guardian/writes")):
        listed |= {f"{kind}, {name}": (f"{root}?{query}", "list") for name, query in queries.items()}
        listed |= {f"{kind}, {name}": (f"{root}?{query}", "search") for name, query in WORDS.items()}
        if kind == "API":
            span = f"from_ts={start + write_rows.WEEKS_MS // 2}&to_ts={start + write_rows.WEEKS_MS // 2 + 86_400_000}"
            listed["API, of two days"] = (f"{root}?{span}", "list")
    root = f"/agents/{owner}/writes/"
    listed |= {f"list, {name}, two days": (f"{root}?{query}&{days}", "search") for name, query in FILTERS.items()}
    listed |= {f"chart, {weeks} weeks": (f"{root}chart/?weeks={weeks}", "detail") for weeks in (12, 52)}
    listed["chart, one file"] = (f"{root}chart/?file=USER.md", "detail")
    listed["chart in the API"] = (f"/api/v1/agents/{owner}/guardian/chart", "detail")
    listed["a write"] = (f"{root}{count // 2 // 5 * 5 + 5:026}/", "detail")
    listed["history of a file"] = (f"/agents/{owner}/files/MEMORY.md/?show=all", "detail")
    return listed | {
        "files": (f"/agents/{owner}/files/", "detail"),
        "rules": (f"{root}rules/", "detail"),
        "own guardian": (f"{root}own/", "detail"),
        "proposals": (f"{root}own/proposals/", "list"),
        "first page of System": ("/operations/", "detail"),
        "overview": ("/", "detail"),
    }


def _date(moment):
    from gate.statistics.sums import date_of

    return date_of(moment)


def measure_files(home, client, options):
    """Measure long diffs, file history, blame, previews of rollbacks, and disk usage of writes."""
    from benchmarks.writes import files

    diffs = files.fill(home, options.writes)
    if options.profile:
        pages.profile(client, options.profile, options.rounds)
        return []
    pages_by_name = list_file_pages(files.AGENT, options.writes)
    page_text = client.get(pages_by_name["no common line"][0]).content.decode()
    assert "marked less precisely" in page_text, "the page does not say that the diff is coarse"
    rows = pages.median_of(
        [pages.measure(client, pages_by_name, options.rounds // 4 + 1, options.timer) for _ in range(options.runs)]
    )
    rows = [row for row in rows if not row["page"].startswith(("agents", "big", "middle", "growth", "200 agents"))]
    for row in rows:
        limit = (
            None
            if "preview" in row["page"]
            else next((BARS_MS[name_part] for name_part in BARS_MS if name_part in row["page"]), None)
        )
        row["bar"] = f"{limit} ms" if limit else row["bar"]
    return rows + measure_cold_rows(pages_by_name, options) + [*build_diff_rows(diffs), *measure_growth_rows()]


def list_file_pages(agent_id, writes):
    """{name: (address, bar)} of the pages about long diffs, and about a file with `writes` versions."""
    root, name = f"/agents/{agent_id}/writes/", "MEMORY.md"
    pages_by_name = {"floor": ("/floor/", None), "agents": ("/agents/", None)}
    pages_by_name["big: sessions, first"] = pages_by_name["middle: sessions, first"] = (
        f"/agents/{agent_id}/sessions/",
        None,
    )
    for way, audit in (("200 changed lines", "near"), ("no common line", "far")):
        pages_by_name[way] = (f"{root}{audit}/", None)
        pages_by_name[f"{way}, unified"] = (f"{root}{audit}/?view=unified", None)
        pages_by_name[f"{way}, API"] = (f"/api/v1/agents/{agent_id}/guardian/writes/{audit}", None)
        pages_by_name[f"{way}, preview of its rollback"] = (f"{root}rollback/of/{audit}/", None)
    middle = writes // 2
    return pages_by_name | {
        f"history of {writes:,} versions": (f"/agents/{agent_id}/files/{name}/?show=all", "detail"),
        "the same in the API": (f"/api/v1/agents/{agent_id}/guardian/files/{name}/history", "detail"),
        f"write {middle:,} of them": (f"{root}w{middle}/", "detail"),
        "the lines it left": (f"{root}left/w{middle}/", None),
        "preview of its rollback": (f"{root}rollback/of/w{middle}/", None),
        "preview of the last one's": (f"{root}rollback/of/w{writes - 1}/", None),
        "blame": (f"/agents/{agent_id}/files/{name}/", None),
        "blame, API": (f"/api/v1/agents/{agent_id}/guardian/files/{name}/blame", None),
    }


def measure_cold_rows(pages_by_name, options):
    """Measure blame and long diffs in fresh processes."""
    from benchmarks.writes import files

    rows = []
    for name in ("blame", "200 changed lines", "no common line"):
        runs = files.measure_cold(pages_by_name[name][0], options.runs)
        middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for key, word in (("first", "in a fresh process"), ("again", "in it again")):
            ms, ratio = round(middle[key], 1), round(middle[key] / middle["floor"], 1)
            rows.append({"page": f"{name}, {word}", "ms": ms, "ratio": ratio, "bar": f"{BARS_MS[name]} ms", "kb": None})
    return rows


def build_diff_rows(diffs):
    """Rows with the time of making each diff, which is outside of any lock."""
    about = {"ratio": "", "bar": None, "kb": None}
    return [{"page": f"making the diff: {name}", "ms": round(ms, 1), **about} for name, ms in diffs.items()]


def measure_growth_rows():
    """Yield the growth of the database by a write, in kB and file lengths."""
    from benchmarks.writes import files

    for name, size in files.measure_growth(LENGTH).items():
        ratio, kb = round(size / LENGTH, 2), round(size / 1000, 1)
        yield {"page": f"database, a write of 50 kB, {name}", "ms": None, "ratio": ratio, "bar": None, "kb": kb}


def measure_recording(home, options):
    """The figures of stored writes in a second."""
    from benchmarks.writes import write_throughput

    with write_throughput.Site(home, options) as site:
        return write_throughput.measure_throughput(site, options)


def table(rows):
    """The figures beside their bars, as Markdown."""
    names = list(rows[0]) if rows else []
    lines = [[str("" if row.get(name) is None else row[name]) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *lines])


if __name__ == "__main__":
    main()
