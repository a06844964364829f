"""Measures the preview of an export, and lists of samples by who prompted them.

    python benchmarks/fitting.py [--rows 50000 1000000] [--runs 3] [--bytes 1000] [--json]

Samples are stored in a temporary home, ten to a session, each with a content of about --bytes. Figures are medians of
the runs, each of which requests everything eleven times; the bar of a count is 300 ms.
"""

import argparse
import json
import statistics
import tempfile
import time

import bulk_rows
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
    figures = []
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        start(home)
        client = signed_in()
        for rows in options.rows:
            fill(rows, options.bytes)
            runs = [measure(client) for _ in range(options.runs)]
            for name, (*_times, answer) in runs[0].items():
                ms, cpu = (round(statistics.median(run[name][number] for run in runs), 1) for number in (0, 1))
                figures.append({"rows": rows, "name": name, "ms": ms, "cpu_ms": cpu, "told": answer})
    print(json.dumps(figures, indent=1) if options.json else table(figures))


def fill(rows, length):
    """Replace all samples by `rows` new ones."""
    from agents import services
    from agents.models import Agent
    from datasets.models import DatasetSample
    from openclaw_web.sqlite import statements

    if not Agent.objects.filter(agent_id="big").exists():
        services.register("big")
    statements.run("default", "DELETE FROM dataset_samples")
    text = f"printf('%0{length}d', i)"
    bulk_rows.insert(
        "default",
        DatasetSample,
        rows,
        **bulk_rows.samples(agent="big") | {"content": f"json_object('userMessage', {text}, 'agentReply', 'Done.')"},
    )
    bulk_rows.checkpoint_wal("default")


def measure(client):
    """{name: (median wall ms, median processor ms, answer)} of every count and page."""
    from datasets.exports.export_count import count_export
    from datasets.exports.options import Options

    figures = {}
    for name, chosen in COUNTS.items():
        options = Options(**chosen)
        figures[f"count: {name}"] = measure_time(lambda options=options: describe_preview(count_export(options)))
    for name, address in PAGES.items():
        figures[name] = measure_time(lambda address=address: client.get(address).status_code)
    return figures


def describe_preview(preview):
    more = "at least " if preview.is_more else ""
    return f"{more}{preview.samples:,} samples, {preview.histories.get('session', preview.rows):,} rows"


def measure_time(ask):
    """Median milliseconds of a call, wall and processor, and its answer."""
    answer, seconds = ask(), []
    for _ in range(ROUNDS):
        started = time.perf_counter(), time.process_time()
        answer = ask()
        seconds.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    clock, worked = (statistics.median(each) * 1000 for each in zip(*seconds, strict=True))
    return clock, worked, answer


def table(rows):
    """The figures as Markdown."""
    lines = ["| samples | what | ms | of the processor | told |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {row['rows']:,} | {row['name']} | {row['ms']} | {row['cpu_ms']} | {row['told']} |" for row in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
