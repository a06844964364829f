"""Starts and stops the command of our unit file, as `systemctl` where no systemd runs.

It is an outside program for the code under test. It notes its arguments in `calls` of the folder SYSTEMCTL_STATE.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

STATE = Path(os.environ["SYSTEMCTL_STATE"])


def find_unit(is_user):
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path(os.environ["HOME"]) / ".config") / "systemd/user"
    return (folder if is_user else Path("/etc/systemd/system")) / "openclaw-web.service"


def read_words(unit, key):
    """The words of all lines of a setting, without quotes and escapes."""
    lines = re.findall(rf"^{key}=(.*)$", unit.read_text(), re.MULTILINE)
    return [word.replace("%%", "%") for line in lines for word in shlex.split(line)]


def start(unit):
    program, *words = read_words(unit, "ExecStart")
    environment = os.environ | dict(word.split("=", 1) for word in read_words(unit, "Environment"))
    command_line = shlex.join([program.removeprefix(":"), *words])
    # The shell outlives the signal of a stop, which goes to the whole group, to write how the command ended.
    code = f"trap : TERM; {command_line}; echo $? >{shlex.quote(str(STATE / 'status'))}"
    (STATE / "status").unlink(missing_ok=True)
    with (STATE / "journal").open("a") as journal:
        command = ["sh", "-c", code]
        process = subprocess.Popen(command, env=environment, stdout=journal, stderr=journal, start_new_session=True)
    (STATE / "pid").write_text(str(process.pid))


def stop():
    if not (STATE / "pid").exists() or (STATE / "status").exists():
        return
    os.killpg(int((STATE / "pid").read_text()), signal.SIGTERM)
    while not (STATE / "status").exists():
        time.sleep(0.02)


def get_active_state():
    if not (STATE / "pid").exists():
        return "inactive"
    if not (STATE / "status").exists():
        return "active"
    return "inactive" if (STATE / "status").read_text().strip() == "0" else "failed"


def run(unit, verb, words):
    if (STATE / "broken").exists() and verb == (STATE / "broken").read_text():
        sys.exit(f"Failed to {verb} unit: Access denied")
    if verb in ("start", "restart"):
        stop()
        start(unit)
    elif verb == "enable":
        (STATE / "enabled").touch()
    elif verb == "disable":
        stop()
        (STATE / "enabled").unlink(missing_ok=True)
    elif verb == "show":
        enabled = ("enabled" if (STATE / "enabled").exists() else "disabled") if unit.exists() else ""
        sys.stdout.write({"ActiveState": get_active_state(), "UnitFileState": enabled}.get(words[1], ""))


def main():
    words = sys.argv[1:]
    with (STATE / "calls").open("a") as calls:
        calls.write(f"{' '.join(words)}\n")
    if (STATE / "unreachable").exists():
        sys.exit("Failed to connect to bus: No medium found")
    is_user = words[0] == "--user"
    verb, *words = words[1:] if is_user else words
    run(find_unit(is_user), verb, words)


main()
