"""Builds the image of the Containerfile, and runs containers of it with podman or docker."""

import json
import os
import shlex
import shutil
import subprocess
import uuid

from tests.processes import find_free_port, wait_for
from tests.suite.sources import ROOT

# The base image: one of Debian 13 that the engine has. Without it nothing is built.
BASE = os.environ.get("CONTAINER_BASE", "")
ENGINE = shlex.split(os.environ.get("CONTAINER_ENGINE", ""))
# Such as volumes with the settings of pip, and what a machine needs to run any container.
BUILD_OPTIONS = shlex.split(os.environ.get("CONTAINER_BUILD_OPTIONS", ""))
RUN_OPTIONS = shlex.split(os.environ.get("CONTAINER_RUN_OPTIONS", ""))
# Those of compose.yaml.
HARDENED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "all", "--security-opt", "no-new-privileges")


def find_engine():
    """The beginning of a command of podman or docker; empty without one."""
    return ENGINE or [name for name in ("podman", "docker") if shutil.which(name)][:1]


def find_obstacle():
    """The reason why no container can be run here; empty when one can."""
    if not BASE:
        return "set CONTAINER_BASE to an image of Debian 13 that podman or docker has"
    return "" if find_engine() else "needs podman or docker"


def call(*words, status=0, **more):
    """Run a command of the engine to its end; return its output and error messages."""
    process = subprocess.run([*find_engine(), *words], capture_output=True, text=True, **more)
    assert process.returncode == status, process.stdout + process.stderr
    return process.stdout + process.stderr


def build(tag, checkout=ROOT, **arguments):
    """Build an image from a checkout."""
    is_podman = "docker" not in find_engine()[-1]
    options = ["--format", "docker"] if is_podman else []  # the format of OCI has no health check
    for name, value in {"BASE": BASE, **arguments}.items():
        options += ["--build-arg", f"{name}={value}"]
    call("build", *options, *BUILD_OPTIONS, "-t", tag, "-f", f"{checkout}/Containerfile", str(checkout))
    return tag


class Volume:
    """A named volume for the time of a block."""

    def __enter__(self):
        self.name = f"openclaw-web-test-{uuid.uuid4().hex[:12]}"
        call("volume", "create", self.name)
        return self

    def __exit__(self, *_exc):
        call("volume", "rm", "-f", self.name)


class Container:
    """A running container for the time of a block."""

    def __init__(self, image, volume, openclaw, *, options=(), words=(), port=None):
        self.name = f"openclaw-web-test-{uuid.uuid4().hex[:12]}"
        self.port = port or find_free_port()
        mounts = ["-v", f"{volume.name}:/data", "-v", f"{openclaw}:/openclaw:ro"]
        published = ["-p", f"127.0.0.1:{self.port}:{self.port}"]
        words = words or ("serve", "--host", "0.0.0.0", "--port", str(self.port))
        self.command = ["run", "-d", "--name", self.name, *RUN_OPTIONS, *HARDENED, *mounts, *published, *options]
        self.command += [image, *words]

    def __enter__(self):
        call(*self.command)
        return self

    def __exit__(self, *_exc):
        call("rm", "-f", self.name)

    def read_log(self):
        """Read the output of the container so far."""
        return call("logs", self.name)

    def wait_for_line(self, pattern):
        """Wait until the log has what a pattern matches, and return the match."""
        assert wait_for(lambda: pattern.search(self.read_log()) or not self.is_running())
        match = pattern.search(self.read_log())
        assert match, self.read_log()
        return match

    def is_running(self):
        """Whether its first process runs."""
        return self.inspect()["Running"]

    def inspect(self):
        """The state of the container as the engine tells it."""
        return json.loads(call("inspect", self.name))[0]["State"]

    def run(self, *words, status=0, **more):
        """Run a command in the container to its end; return its output."""
        interactive = ["-i"] if "input" in more else []
        return call("exec", *interactive, self.name, *words, status=status, **more)

    def read_processes(self):
        """The process ids in the container by the names of the processes."""
        script = "for f in /proc/[0-9]*; do echo $(cat $f/comm) ${f#/proc/}; done"
        pairs = [line.rsplit(" ", 1) for line in self.run("sh", "-c", script).splitlines()]
        names = {}
        for name, pid in pairs:
            names.setdefault(name, []).append(int(pid))
        return names

    def stop(self):
        """Stop the container as its compose file does; return the exit status."""
        call("stop", "-t", "60", self.name)
        return self.inspect()["ExitCode"]
