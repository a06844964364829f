"""Runs commands on a disk without a free byte, and reports them as JSON.

test_full_disk.py starts it in a mount namespace of its own.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

DISK, MIGRATED, SOURCE, OUT = map(Path, sys.argv[1:5])
HOME = DISK / "home"
ENV = {**os.environ, "OPENCLAW_WEB_HOME": str(HOME), "OPENCLAW_STATE_DIR": str(SOURCE)}
COMMANDS = (
    "--help", "doctor", "jobs", "settings", "artifact list", "artifact gc", "backup list", "backup create", "collect",
    "episodes gc --global", "episodes redact --global --session-id s", "episodes verify",
    "retention --days 9", f"archive --older-than 9d --out {OUT}", "retention --days 9 --remove",
)  # fmt: skip


def fill():
    """Fill the disk to the last byte."""
    for block in (1 << 20, 4096):
        try:
            with (DISK / "fill").open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(block))
        except OSError:
            continue
    assert shutil.disk_usage(DISK).free == 0


def write_spool():
    """Write a spool of events that are as old as retention removes, and of some that it keeps; returns its path."""
    names = {"scope": "global", "session_id": "s", "agent_id": "main", "summary": "done"}
    events = (
        names | {"event_id": f"e{n}", "ts_ms": 1_700_000_000_000, "type": kind, "payload": {"text": "bread " * 300}}
        for n, kind in enumerate(["tool.result"] * 3_000 + ["ops.decision"] * 1_000)
    )
    spool = OUT / "spool.jsonl"
    spool.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    return spool


def run(words):
    """Run a command on the full disk; returns its status and output."""
    fill()
    command = [sys.executable, "-m", "openclaw_web", *words.split()]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True)
    return {"words": words, "status": done.returncode, "said": done.stdout + done.stderr}


def serve():
    """Start a server on the full disk; returns the statuses of its pages, and its output."""
    fill()
    command = [sys.executable, "-m", "openclaw_web", "serve", "--port", "0"]
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        output, address = [], ""
        for line in server.stdout:
            output.append(line)
            if "is running at" in line:
                address = line.split()[-1]
                break
        statuses = {}
        for page in ("healthz", "sign-in/", "healthz") if address else ():
            with urllib.request.urlopen(address + page) as answer:
                statuses[page] = answer.status
            time.sleep(3)  # for its job worker and its watcher to begin
        server.terminate()
        output.append(server.communicate()[0])
    return {"status": server.returncode, "pages": statuses, "said": "".join(output)}


def main():
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=220m", "tmpfs", DISK], check=True)
    shutil.copytree(MIGRATED, HOME)
    begin = [sys.executable, "-m", "openclaw_web", "collect", "--quiet"]
    subprocess.run(begin, env=ENV, check=True, capture_output=True)
    ingest = [sys.executable, "-m", "openclaw_web", "episodes", "ingest", "--file", str(write_spool())]
    subprocess.run(ingest, env=ENV, check=True, capture_output=True)
    report = {"reserve": (HOME / "state" / "reserve").stat().st_size}
    report["served"] = serve()
    # The last commands remove sessions: first into archives elsewhere, then, in a copy of the store, for good.
    shutil.copytree(HOME, OUT / "as it was")
    report["ended"] = [run(words) for words in COMMANDS[:-1]]
    shutil.rmtree(HOME)
    (DISK / "fill").unlink()
    shutil.copytree(OUT / "as it was", HOME)
    report["ended"].append(run(COMMANDS[-1]))
    report["free"] = shutil.disk_usage(DISK).free
    report["names"] = sorted(path.name for path in HOME.iterdir())
    (HOME / "state" / "reserve").unlink()
    report["without_reserve"] = [run(words) for words in ("jobs", "artifact gc", "collect", "doctor")]
    (HOME / "secret.key").unlink()
    report["without_key"] = run("jobs")
    report["names_without_key"] = sorted(path.name for path in HOME.iterdir())
    sys.stdout.write(json.dumps(report))


main()
