"""Asks the site on this machine whether it works: the health check of a container.

    python -m operations.server.health_check

The exit status is 0 when the site answers, else 1 with the reason. The program runs twice a minute, so it does not
import Django or the settings. It needs no option for the port: `serve` writes into the home where it listens.
"""

import os
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path

HOME = "OPENCLAW_WEB_HOME"
HOSTS = "OPENCLAW_WEB_ALLOWED_HOSTS"
ADDRESS_FILE = "state/serve.address"  # written by openclaw_web/disk/site_address.py
SECONDS = 8


def main() -> int:
    """Print whether the site answers, and return the exit status."""
    try:
        host, port = read_listener(Path(os.environ.get(HOME) or "~/.openclaw-web").expanduser())
        status = request_health(host, port, choose_name(os.environ.get(HOSTS, "")))
    except (OSError, HTTPException, ValueError) as exc:
        return _report(f"the site does not answer: {exc}", 1)
    return _report(f"the site answers with {status}", 0 if status == 200 else 1)


def read_listener(home: Path) -> tuple[str, int]:
    """Read the host and the port that the running site listens on. Raises OSError or ValueError."""
    _address, listener = (home / ADDRESS_FILE).read_text().splitlines()
    host, port = listener.split()
    return host, int(port)


def choose_name(allowed_hosts: str) -> str:
    """Choose a name that the site accepts from the value of OPENCLAW_WEB_ALLOWED_HOSTS."""
    names = [name.strip() for name in allowed_hosts.split(",") if name.strip()]
    return next((name.removeprefix(".") for name in names if name != "*"), "localhost")


def request_health(host: str, port: int, name: str) -> int:
    """Request the health page over plain HTTP, and return the status of the answer."""
    connection = HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz", headers={"Host": name})
        return connection.getresponse().status
    finally:
        connection.close()


def _report(sentence, status):
    sys.stdout.write(f"{sentence}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
