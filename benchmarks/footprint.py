"""Measures the footprint of the site: installation, start time and memory at rest.

    python benchmarks/footprint.py [--source FOLDER] [--runs 3] [--json]

An installation is a new virtual environment with requirements.lock and pip. A start is processor time until the code is
loaded for all forks; its floor is a Python that loads Django with no code of ours. The first page is time by the clock,
and of the processor in all processes, from the command to its answer, on a home that was served before. Memory is the
sum of the PSS of all processes of `serve`, with the watcher, on a new home after one request and the import of
--source. Bars: 160 MB, 1.3 s, 120 MB.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
REST_SECONDS = 14
FLOOR = (
    "import django.conf as c; c.settings.configure(); import django; django.setup(); import ninja, jinja2, django.test"
)
START = "import gc; gc.disable(); import django; django.setup(); "
START += "from operations.server import preparation; preparation.load_site()"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="none", help="an OpenClaw folder")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-rest-") as folder:
        rows = {"installation, MB": measure_installation(folder)}
        rows |= {
            name: statistics.median(run[name] for run in runs)
            for runs in [measure(folder, options)]
            for name in runs[0]
        }
    rows["start, times its floor"] = round(rows["start, s"] / rows["start, floor, s"], 2)
    print(
        json.dumps(rows, indent=1)
        if options.json
        else "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    )


def measure_installation(folder):
    """Megabytes of a new virtual environment for the site."""
    place = f"{folder}/venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [f"{place}/bin/python", "-m", "pip", "install", "-q", "--require-hashes", "-r", ROOT / "requirements.lock"]
    subprocess.run(pip, check=True)
    return int(subprocess.run(["du", "-sm", place], check=True, capture_output=True, text=True).stdout.split()[0])


def measure(folder, options):
    """The figures of each run, on a new home."""
    from benchmarks.site_server import SiteServer

    runs = []
    for number in range(options.runs):
        home = f"{folder}/home{number}"
        server = SiteServer(home, OPENCLAW_STATE_DIR=options.source)
        with server:
            request_page(server)
            time.sleep(REST_SECONDS)
            memory = round(sum(map(read_pss, list_family(server.process.pid))) / 1024)
        env = {"OPENCLAW_WEB_HOME": home, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
        times = {"start, s": measure_processor_time(START, env), "start, floor, s": measure_processor_time(FLOOR, {})}
        began = time.monotonic()
        with server:
            request_page(server)
            times["first page, s"] = round(time.monotonic() - began, 2)
            seconds = sum(map(read_processor_seconds, list_family(server.process.pid)))
            times["first page, of the processor, s"] = round(seconds, 2)
        runs.append(times | {"memory at rest, MB": memory})
    return runs


def request_page(server):
    host, port = server.address
    urllib.request.urlopen(f"http://{host}:{port}/sign-in/").close()


def measure_processor_time(program, env):
    """Processor seconds of a program in its own process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ | env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def list_family(pid):
    """Yield the ids of a process and all its descendants."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from list_family(int(child))
    yield pid


def read_processor_seconds(pid):
    """Processor seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def read_pss(pid):
    """Kilobytes of a process (PSS): shared memory counts with its part."""
    return int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])


if __name__ == "__main__":
    main()
