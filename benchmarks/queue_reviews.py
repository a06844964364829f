"""Measures reviewers of one queue who judge at the same time, while processes are killed.

    python benchmarks/queue_reviews.py [--clients 16] [--items 1000] [--reviewers 2] [--kill-every 2] [--json]

Each client is another person with a token, who requests the next item and judges it through the API of a real gunicorn.
A worker of the server is killed every few seconds; a client whose connection breaks requests its item again. Afterwards
the store is read: every item must have exactly N verdicts of N people, and each answered verdict must be there.
"""

import argparse
import http.client
import json
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from pathlib import Path

from labelling import Person, Site, table

PREPARE = """
from datasets.queues import queue_store
queue = queue_store.create_queue("Bench", by="bench", reviewers=reviewers)
print("PREPARED", queue.id)
"""
ITEMS = """SELECT count(*), sum(n = {n} AND people = {n}), sum(n) FROM (
SELECT i.id, count(l.id) AS n, count(DISTINCT l.labelled_by) AS people FROM queue_items i
LEFT JOIN queue_seats s ON s.item_id = i.id AND s.label_id IS NOT NULL LEFT JOIN sample_labels l ON l.id = s.label_id
GROUP BY i.id)"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument(
        "--items", type=int, default=1_000, help="a multiple of 1,000; every second thousand is approved"
    )
    parser.add_argument("--reviewers", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=0, help="seconds between two kills of a worker; 0: none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.seconds, options.samples = 0, options.items
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home, Site(home, options) as site:
        print(json.dumps(row := measure(site, options)) if options.json else table([row := measure(site, options)]))
    return row["wrong"] + row["lost"]


def measure(site, options):
    """Let people judge until nothing waits; return the figures."""
    queue_id = site.prepare(f"reviewers = {options.reviewers}\n{PREPARE}").strip()
    people = [Reviewer(site, number, queue_id) for number in range(options.clients)]
    ended = threading.Event()
    killer = threading.Thread(target=kill_workers, args=(site.process.pid, options.kill_every, ended))
    started, processor = time.perf_counter(), site.read_processor_ms()
    threads = [threading.Thread(target=person.work, args=(started + 600,)) for person in people]
    for thread in [*threads, killer]:
        thread.start()
    for thread in threads:
        thread.join()
    spent = max(person.last for person in people) - started
    ended.set()
    killer.join()
    times = sorted(took for person in people for took in person.times)
    labels = {label for person in people for label in person.labels}
    items, exact, verdicts = site.query(ITEMS.format(n=options.reviewers))[0]
    stored = set(site.query("SELECT sample_id, labelled_by FROM sample_labels"))
    return {
        "row": f"{options.clients} reviewers, N = {options.reviewers}",
        "items": items,
        "per_second": round(verdicts / spent),
        "p50_ms": round(statistics.median(times) * 1000, 1),
        "p95_ms": round(times[len(times) * 95 // 100] * 1000, 1),
        "server_ms": round((site.read_processor_ms() - processor) / verdicts, 1),
        "errors": sum(person.errors for person in people),
        "wrong": items - exact,
        "lost": len(labels - stored),
    }


def kill_workers(server, seconds, ended):
    """Kill a random worker of the server every few seconds."""
    while seconds and not ended.wait(seconds):
        workers = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        if workers:
            os.kill(int(random.choice(workers)), signal.SIGKILL)


class Reviewer(Person):
    """A person who judges what the queue gives them."""

    def __init__(self, site, number, queue_id):
        super().__init__(site, number)
        self.headers = {"Authorization": f"Bearer {site.tokens[number]}", "Content-Type": "application/json"}
        self.path, self.labels, self.empty, self.sample = f"/api/v1/review/queues/{queue_id}", [], 0, None
        self.dice, self.last = random.Random(number), 0.0

    def judge(self):
        """One verdict; False once nothing has waited for a while."""
        try:
            if self.sample is None:
                self.sample = json.loads(self.ask("GET", f"{self.path}/next")[1])["sample"]
            if self.sample is None:
                self.empty += 1
                time.sleep(0.1)
                return self.empty < 30
            status = "approved" if self.dice.random() < 0.9 else "rejected"
            started = time.perf_counter()
            body = json.dumps({"sample_id": self.sample["id"], "status": status})
            response, answer = self.ask("POST", f"{self.path}/verdict", body)
        except (OSError, http.client.HTTPException, KeyError, ValueError):  # the worker was killed
            self.connection.close()
            self.errors, self.sample = self.errors + 1, None
            time.sleep(0.05)
            return True
        self.sample, self.empty = None, 0
        if response.status != 200:
            self.errors += 1
            return True
        self.last = time.perf_counter()
        self.times.append(self.last - started)
        judged = json.loads(answer)
        self.labels.append((judged["judged"]["id"], f"person{self.number}"))
        self.sample = judged["sample"]
        return True


if __name__ == "__main__":
    raise SystemExit(main())
