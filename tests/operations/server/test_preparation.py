"""Modules that `serve` loads for all of its processes, and modules it does not.

The latter are those that few processes need.
"""

import os
import subprocess
import sys

import pytest

from tests.processes import CHECKOUT

FEW_NEED = {
    "datasets.api": "the API, which its first request imports",
    "markdown_it": "texts with marks",
    "ninja": "the API",
    "openclaw_web.detectors.keys": "texts that are searched for secrets",
    "pydantic": "the API, backups and packs",
    "datasketch": "signatures are made without it",
    "demo.showcase": "demonstration data",
    "httpx": "asking a language model",
    "jsonpath": "a JSONPath through an artifact",
    "numpy": "nothing of ours",
    "operations.backups.home_restore": "restoring a backup",
    "pyjson5": "a configuration that is no plain JSON",
    "scipy": "nothing of ours",
    "shtab": "completion in a shell",
}


@pytest.fixture(scope="module")
def loaded():
    code = "import django, sys; django.setup(); import openclaw_web.urls, operations.server.supervisor; "
    code += "print(*sys.modules)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings_test"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, env=environment, capture_output=True, check=True, text=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", FEW_NEED)
def test_what_few_need_is_not_loaded_for_all(loaded, module):
    assert "datasets.views" in loaded and module not in loaded, FEW_NEED[module]


@pytest.mark.parametrize(
    ("work", "status", "output"),
    [
        ("print('done')", 0, "done\nafter\n"),
        ("sys.exit(3)", 3, ""),
        ("os.kill(os.getpid(), 9)", 1, "The preparation of the site was ended by signal 9.\n"),
    ],
)
def test_a_preparation_apart_ends_as_its_child_where_nobody_waits_for_children(work, status, output):
    code = "import django, os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); django.setup()\n"
    code += (
        f"from operations.server import preparation\nwith preparation.run_apart(lambda: {work}): pass\nprint('after')"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings_test"}
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.rpartition(": ")[2]) == (status, output)
