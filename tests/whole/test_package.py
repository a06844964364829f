"""The built wheel serves its pages away from the checkout.

That shows that all files it needs are packaged.
"""

import os
import re
import subprocess
import sys
import urllib.request
import zipfile

import pytest

from tests.suite.sources import ROOT


@pytest.fixture
def site(tmp_path):
    """A running `serve` of the built wheel: the process and its address."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist"]
    subprocess.run(build, cwd=ROOT, check=True)
    [wheel] = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
        "OPENCLAW_WEB_HOME": str(tmp_path / "home"),
        "OPENCLAW_STATE_DIR": str(tmp_path / "no-openclaw-here"),
        "PYTHONPATH": str(tmp_path / "site"),
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
    }
    serve = [sys.executable, "-m", "openclaw_web", "serve", "--port", "0"]
    with subprocess.Popen(serve, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as process:
        answers = (re.search(r"is running at (\S+)/", line) for line in process.stdout)
        yield next(match[1] for match in answers if match)
        process.terminate()
        process.stdout.read()
    assert process.returncode == 0


def get(address):
    with urllib.request.urlopen(address) as answer:
        return answer.read().decode()


def test_it_works(site):
    page = get(f"{site}/")
    assert "<form" in page
    sheet = re.search(r'href="(/static/app\.\w+\.css)"', page)[1]
    assert "--" in get(site + sheet)
