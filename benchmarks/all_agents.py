"""Measures lists over 200 agents against the same list of one agent.

    python benchmarks/all_agents.py [--agents 200] [--sessions 40] [--rounds 15] [--json]

A home is imported into a temporary folder; every round requests every page once, and again after one agent's file has
changed. The figures are the processor time of the first request, when nothing is known of the files, and the medians of
the others, with their ratio to one agent's list.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corpus

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"sessions": "sessions/?segment=all", "turns": "turns/", "records": "events/", "failed": "events/?failed=on"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=40, help="of each agent")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-all-agents-") as folder:
        source, home = Path(folder, "source"), Path(folder, "home")
        corpus.write_bulk_home(source, agents=options.agents, sessions=options.agents * options.sessions, turns=4)
        os.environ |= {"OPENCLAW_WEB_HOME": str(home), "OPENCLAW_WEB_LOG_LEVEL": "ERROR", "PYTHONPATH": str(ROOT)}
        for command in (["collect", "--source", str(source)], ["collectstatic", "--noinput"]):
            subprocess.run(
                [sys.executable, "-m", "openclaw_web", *command], check=True, stdout=subprocess.DEVNULL, cwd=folder
            )
        rows = measure(options.rounds)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(
            "{page:10} one {one:6.1f} ms   all {all:6.1f} ms   ratio {ratio:4.2f}   "
            "one changed {changed:6.1f} ms   ratio {changed_ratio:4.2f}   first {first:7.0f} ms".format(**row)
        )


def measure(rounds):
    """The figures of each page."""
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    import django

    django.setup()
    from django.conf import settings
    from django.test import Client

    from agents import databases
    from agents.models import Agent
    from people.models import User

    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    user = User.objects.create_user("bench", "bench", role="viewer")
    client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[-1])
    agent = Agent.objects.order_by("agent_id").first()
    file = databases.get_path(agent.agent_id)
    times = {name: {"one": [], "all": [], "changed": []} for name in PAGES}
    for number in range(rounds + 1):
        for name, page in PAGES.items():
            times[name]["one"].append(request(client, f"/agents/{agent.agent_id}/{page}"))
            times[name]["all"].append(request(client, f"/{page}"))
        os.utime(file, (settled := time.time() - 1_000 + number, settled))
        for name, page in PAGES.items():
            times[name]["changed"].append(request(client, f"/{page}"))
    rows = []
    for name, measured in times.items():
        row = {side: statistics.median(measured[side][rounds // 2 :]) for side in measured}
        ratios = {"ratio": row["all"] / row["one"], "changed_ratio": row["changed"] / row["one"]}
        rows.append({"page": name, "first": measured["all"][0]} | row | ratios)
    return rows


def request(client, address):
    """The processor time of a request, in milliseconds."""
    start = time.process_time()
    response = client.get(address)
    assert response.status_code == 200, address
    return (time.process_time() - start) * 1000


if __name__ == "__main__":
    main()
