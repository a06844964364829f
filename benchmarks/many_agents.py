"""Counts open files, memory and processor time of imports of homes with 1, 100 and 1,000 agents.

    python benchmarks/many_agents.py [--agents 1 100 1000] [--json]

Each agent has one session of about four turns. Three imports run in processes of their own: the first one, and two
without changes, of which the last one counts. It fails where open files or memory at their peak are above the bars,
whatever the number of agents: 64 files, 150 MB for the first import and 120 MB for one without changes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import sleep

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
MOST_FILES, MOST_MB = 64, {"first": 150, "unchanged": 120}
LOOK_SECONDS = 0.01  # between two counts of open files


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for count in options.agents for row in measure(count)]
    if options.json:
        print(json.dumps(rows, indent=1))
    for values in [] if options.json else [rows[0], *(row.values() for row in rows)]:
        print(f"| {' | '.join(map(str, values))} |")
    sys.exit(any(row["files"] > MOST_FILES or row["MB"] > MOST_MB[row["import"]] for row in rows))


def measure(agents):
    """Yield the figures of the first import of a home with so many agents, and of one without changes."""
    from benchmarks import corpus

    with tempfile.TemporaryDirectory(prefix="openclaw-web-agents-") as folder:
        source = Path(folder, "openclaw")
        corpus.write_bulk_home(source, agents=agents, sessions=agents, turns=4)
        env = os.environ | {"OPENCLAW_WEB_HOME": f"{folder}/home", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "openclaw_web", "collect", "--source", str(source)]
        runs = [watch(command, env) for _import in range(3)]
        for name, figures in (("first", runs[0]), ("unchanged", runs[2])):
            yield {"agents": agents, "import": name} | figures


def watch(command, env):
    """Run a command; return its processor time, memory and open files at their peak."""
    process, files = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        files = max(files, len(os.listdir(f"/proc/{process.pid}/fd")))
        sleep(LOOK_SECONDS)
    if status:
        raise SystemExit(f"The import ended with {os.waitstatus_to_exitcode(status)}.")
    return {"processor, s": round(usage.ru_utime + usage.ru_stime, 2), "MB": usage.ru_maxrss // 1024, "files": files}


if __name__ == "__main__":
    main()
