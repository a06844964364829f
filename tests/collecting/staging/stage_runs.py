"""Helpers for the tests of staged copies."""

import hashlib
import io
import json
import os
import subprocess

from django.core.management import call_command

from tests.jobs import fork_server


def stage(home, target, **options):
    """Run the command, and return its receipt."""
    output = io.StringIO()
    call_command("stage", to=str(target), source=str(home), json=True, stdout=output, **options)
    return json.loads(output.getvalue())


def start_stage(home, target, **environment):
    """Start the command as a process."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings", **environment}
    environment.pop("PYTHONDEVMODE", None)
    words = ("stage", "--to", str(target), "--source", str(home))
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return fork_server.start("openclaw_web", *words, env=environment, **nothing)


def read_manifest(target):
    return json.loads((target / "manifest.json").read_bytes())


def list_files(target):
    """The bytes of every file of a copy by name, without what is not sent."""
    paths = (path for path in target.rglob("*") if path.is_file() and path.name != ".stage-state.json")
    return {path.relative_to(target).as_posix(): path.read_bytes() for path in paths}


def is_whole(target):
    """Whether every file that the manifest lists is there as it says."""
    files = list_files(target)
    return all(
        name in files and len(files[name]) == file["size"] and hashlib.sha256(files[name]).hexdigest() == file["sha256"]
        for name, file in read_manifest(target)["files"].items()
    )


def assert_whole(target):
    """Assert that a copy is as its manifest says, and has nothing else."""
    assert is_whole(target)
    assert list_files(target).keys() == {*read_manifest(target)["files"], "manifest.json"}


def search(target, *words):
    """The files of a copy whose bytes or names have one of these words."""
    names = [word.encode().lower() for word in words]
    files = list_files(target).items()
    return sorted(name for name, data in files if any(word in data.lower() or word in name.encode() for word in names))
