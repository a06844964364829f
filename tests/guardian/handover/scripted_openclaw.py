"""Stands for the command of OpenClaw, and changes the file as a script says.

It notes how it was started.

The script lies beside it, as JSON: `does`, and `pause`, seconds before it does so.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__)


def note(**facts):
    with HERE.with_suffix(".log").open("a") as log:
        log.write(json.dumps(facts) + "\n")


def apply_change(text, data):
    if "content" in data:
        return data["content"]
    for edit in data["edits"]:
        assert text.count(edit["old_text"]) == 1, edit
        text = text.replace(edit["old_text"], edit["new_text"])
    return text


def record(name, data, origin):
    """Store the record that OpenClaw has of a file after its own tools wrote it."""
    fields = {"fileHash": sha256(data).hexdigest(), "originClass": origin, "observedAt": time.time_ns() // 1_000_000}
    store = sqlite3.connect(Path(os.environ["OPENCLAW_STATE_DIR"]) / "state" / "openclaw.sqlite")
    with store:
        for key, text in store.execute("SELECT entry_key, value_json FROM plugin_state_entries").fetchall():
            value = json.loads(text)
            if value.get("relativePath") == name:
                value |= fields | {"sessionKey": sys.argv[sys.argv.index("--session-key") + 1]}
                sql = "UPDATE plugin_state_entries SET value_json = ? WHERE entry_key = ?"
                store.execute(sql, (json.dumps(value), key))
    store.close()


def act(does, data):
    file = Path(os.environ["OPENCLAW_STATE_DIR"]) / "workspace-ada" / data["file"]
    new = apply_change(file.read_bytes().decode(), data).encode()
    if does == "other":
        new += b"And more.\n"
    if does in ("obeys", "other", "untrusted", "shell"):
        file.write_bytes(new)
    if does in ("obeys", "other", "untrusted"):
        record(data["file"], new, "untrusted" if does == "untrusted" else "agent")


def main():
    script = json.loads(HERE.with_suffix(".json").read_text())
    path = Path(sys.argv[sys.argv.index("--message-file") + 1])
    message = path.read_text()
    mode = oct(path.stat().st_mode & 0o777)
    note(argv=sys.argv[1:], environment=dict(os.environ), message=message, mode=mode, pid=os.getpid())
    if script["does"] == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if script["does"] == "leaves":  # a process that does not end by itself
        deaf = (
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('', flush=True); time.sleep(600)"
        )
        child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
        child.stdout.readline()
        note(pid=child.pid)
    if script["does"] == "floods":
        for _number in range(100):
            sys.stdout.write("x" * 65_536)
    time.sleep(script.get("pause", 0))
    if script["does"] == "fails":
        sys.exit("The gateway is not there.")
    act(script["does"], json.loads(message.split("---")[2]))
    sys.stdout.write(json.dumps({"status": "ok", "result": {"payloads": [{"text": "Done."}]}}))


if __name__ == "__main__":
    main()
