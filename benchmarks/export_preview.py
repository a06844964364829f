"""What an export would hold, counted before it is asked for, and lists of samples by who prompted them.

    python benchmarks/export_preview.py [--rows 50000 1000000] [--runs 3] [--bytes 1000] [--json]

Samples go into a temporary home, ten to a session, each with a content of about --bytes. Figures are medians of the
runs, each of which asks every question eleven times; the bar of a count is 300 ms.
"""

import argparse
import json
import statistics
import tempfile
import time

import many_rows
from pages import signed_in, start

ROUNDS = 11
BAR_MS = 300
COUNTS = {
    "Alpaca": {"format": "alpaca", "task": "reply"},
    "ShareGPT, every history": {"format": "sharegpt", "task": "reply"},
    "ShareGPT, one agent, not only approved": {
        "format": "sharegpt",
        "task": "reply",
        "agent": "big",
        "only_approved": False,
    },
    "ShareGPT, a minimum quality": {"format": "sharegpt", "task": "reply", "min_quality": 0.5},
}
PAGES = {
    "samples": "/samples/",
    "samples, of a person": "/samples/?prompted_by=person",
    "samples, of a schedule (none)": "/samples/?prompted_by=cron",
    "samples, of a person, pending": "/samples/?prompted_by=person&status=pending",
    "samples, cut off": "/samples/?ending=cut_off",
    "samples, cut off, approved, of a schedule (none)": "/samples/?ending=cut_off&status=approved&prompted_by=cron",
    "review": "/review/",
    "review, of a person": "/review/?prompted_by=person",
    "review, of a schedule (none)": "/review/?prompted_by=cron",
    "review, cut off": "/review/?ending=cut_off",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 1_000_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        start(home)
        client = signed_in()
        for rows in options.rows:
            fill(rows, options.bytes)
            runs = [measure(client) for _ in range(options.runs)]
            for name, (*_times, told_) in runs[0].items():
                ms, cpu = (round(statistics.median(run[name][number] for run in runs), 1) for number in (0, 1))
                found.append({"rows": rows, "name": name, "ms": ms, "cpu_ms": cpu, "told": told_})
    print(json.dumps(found, indent=1) if options.json else table(found))


def fill(rows, length):
    """So many samples, and no others."""
    from agents import services
    from agents.models import Agent
    from datasets.models import DatasetSample
    from openclaw_web.sqlite import statements

    if not Agent.objects.filter(agent_id="big").exists():
        services.register("big")
    statements.run("default", "DELETE FROM dataset_samples")
    text = f"printf('%0{length}d', i)"
    many_rows.insert(
        "default",
        DatasetSample,
        rows,
        **many_rows.samples(agent="big") | {"content": f"json_object('userMessage', {text}, 'agentReply', 'Done.')"},
    )
    many_rows.settle("default")


def measure(client):
    """{name: (median in ms by the clock, of processor time, what was told)} of every count and page."""
    from datasets.exports.builder.export_count import count_export
    from datasets.exports.options import Options

    found = {}
    for name, chosen in COUNTS.items():
        options = Options(**chosen)
        found[f"count: {name}"] = timed(lambda options=options: told(count_export(options)))
    for name, address in PAGES.items():
        found[name] = timed(lambda address=address: client.get(address).status_code)
    return found


def told(found):
    more = "at least " if found.is_more else ""
    return f"{more}{found.samples:,} samples, {found.histories.get('session', found.rows):,} rows"


def timed(ask):
    """Milliseconds of an answer, by the clock and of the processor, medians of many, and the answer."""
    answer, seconds = ask(), []
    for _ in range(ROUNDS):
        started = time.perf_counter(), time.process_time()
        answer = ask()
        seconds.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    clock, worked = (statistics.median(each) * 1000 for each in zip(*seconds, strict=True))
    return clock, worked, answer


def table(found):
    """The figures as Markdown."""
    lines = ["| samples | what | ms | of the processor | told |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {row['rows']:,} | {row['name']} | {row['ms']} | {row['cpu_ms']} | {row['told']} |" for row in found]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
