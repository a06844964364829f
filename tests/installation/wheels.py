"""Builds the wheel, and installs it without a network for a user who cannot change it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.suite import fixture_cache
from tests.suite.sources import ORDER, ROOT

LOCKS = ("requirements.lock", "requirements-build.lock")
# All that a build reads. A test copies it, so that the checkout can change meanwhile.
SOURCES = (*ORDER, "templates", "static", "locale", "dev", "pyproject.toml", "README.md", ".gitignore", *LOCKS)
IS_ROOT = os.geteuid() == 0
# Without an entry in /etc/passwd, as in many containers. All files that it owns are from the running test.
OTHER_USER = 61_000 + os.getpid() % 4_000
SERVED = re.compile(r"is running at (\S+)/")
INVITATION = re.compile(r"first admin[^:]*: (\S+)")
CAN_RUN = "import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 11))"


@cache
def find_interpreter():
    """The first interpreter that the other user can run: that of the tests, or the system's.

    Root's own folder is closed to others. Without root there is no other user.
    """
    own = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    for candidate in (str(own), shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if candidate and subprocess.run([*become_other_user(), candidate, "-c", CAN_RUN], check=False).returncode == 0:
            return candidate
    return None


def become_other_user():
    """The beginning of a command line that another user runs.

    `env` starts the program, because setpriv finds it with what root may read.
    """
    user = str(OTHER_USER)
    return ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--", "env"] if IS_ROOT else []


def without_network():
    """The beginning of a command line that reaches no network, where that is possible."""
    unshare = ["unshare", "--net", "--"]
    is_possible = IS_ROOT and subprocess.run([*unshare, "true"], check=False).returncode == 0
    return unshare if is_possible else []


def make_environment(**more):
    """The variables of a blank machine: nothing of the checkout, of pip or of the tests."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "PIP_CONFIG_FILE": os.devnull, **more}


def make_offline_environment(interpreter):
    """The variables with which pipx and uv use an interpreter, and only the prepared wheels."""
    pipx = {"PIPX_DEFAULT_PYTHON": interpreter, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(prepare_wheels())}
    uv = {"UV_PYTHON": interpreter, "UV_OFFLINE": "1", "UV_NO_CONFIG": "1", "UV_FIND_LINKS": pipx["PIP_FIND_LINKS"]}
    return make_environment(**pipx, **uv, UV_NO_INDEX="1")


def prepare_wheels():
    """The folder of all wheels that the locks name for the interpreter; they are downloaded once."""
    version = subprocess.run(
        [find_interpreter(), "-c", "import sys; print(sys.implementation.cache_tag)"], capture_output=True, text=True
    ).stdout.strip()
    return fixture_cache.prepare_folder(f"wheels-{version}", LOCKS, _download)


def _download(folder):
    with tempfile.TemporaryDirectory() as environment:
        subprocess.run([find_interpreter(), "-m", "venv", environment], check=True)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        for lock in LOCKS:
            pip = [f"{environment}/bin/pip", "download", "-qq", "--disable-pip-version-check", "--require-hashes"]
            chosen = ["--only-binary", ":all:", "-d", folder, "-r", ROOT / lock]
            process = subprocess.run([*pip, *chosen], env=variables, capture_output=True, text=True)
            assert process.returncode == 0, process.stderr


def copy_sources(place, checkout=ROOT, *, is_reversed=False):
    """Copy what a build reads, the files of each folder in one order or the other."""

    def copy(source, target):
        if not source.is_dir():
            shutil.copyfile(source, target)
            target.chmod(0o600 | (source.stat().st_mode & 0o100))
        elif source.name != "__pycache__":
            target.mkdir()
            for inner in sorted(source.iterdir(), reverse=is_reversed):
                copy(inner, target / inner.name)

    place.mkdir(parents=True)
    for name in sorted(SOURCES, reverse=is_reversed):
        copy(checkout / name, place / name)
    return place


def build(sources, environment, **more):
    """Run `./dev wheel` in a copy of the sources; return the wheel and the output."""
    links = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(prepare_wheels())}
    variables = make_environment(VENV=str(environment), PYTHON=find_interpreter(), HOME=str(sources), **links, **more)
    umask = int(more.get("UMASK", "022"), 8)
    process = subprocess.run([sources / "dev", "wheel"], env=variables, capture_output=True, text=True, umask=umask)
    assert process.returncode == 0, process.stderr
    [wheel] = (sources / "dist").iterdir()
    return wheel, process.stdout


def describe_tree(folder):
    """Describe everything below a folder, with times of changes that no program can set back."""
    stats = ((str(path.relative_to(folder)), path.lstat()) for path in sorted(folder.rglob("*")))
    return {name: (stat.st_size, stat.st_mode, stat.st_ctime_ns) for name, stat in stats}


class Installation:
    """An environment with the wheel, and a person who uses it from their own folder."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="openclaw web 安装 "))
        self.root.chmod(0o755)
        self.environment = self.root / "environment"
        self.person, self.folder, self.temporary = (
            self.root / name for name in ("person", "my work 我的工作", "temporary files")
        )
        for place in (self.person, self.folder, self.temporary):
            place.mkdir()
        self.variables = make_environment(HOME=str(self.person), TMPDIR=str(self.temporary), LANG="C.UTF-8")

    def install(self, wheel):
        """Install the lock and the wheel without a network, and make all files read-only."""
        subprocess.run([find_interpreter(), "-m", "venv", self.environment], env=self.variables, check=True)
        wheels = prepare_wheels()
        pip = [*without_network(), self.environment / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
        offline = [*pip, "--no-index", "--find-links", wheels]
        locked = ["--require-hashes", "-r", ROOT / "requirements.lock"]
        for words in (locked, ["--no-deps", wheel]):
            subprocess.run([*offline, *words], env=self.variables, check=True)
        self._set_modes(0o555, 0o444)

    def _set_modes(self, of_folders, of_files):
        for path in (self.environment, *self.environment.rglob("*")):
            if not path.is_symlink():
                is_program = path.is_dir() or path.parent == self.environment / "bin"
                path.chmod(of_folders if is_program else of_files)

    def hand_over(self):
        """Give the person's files to the person."""
        places = [self.person, self.folder, self.temporary]
        for path in [*places, *(file for place in places for file in place.rglob("*"))]:
            os.chown(path, OTHER_USER, OTHER_USER) if IS_ROOT else None

    def _prepare(self, words, program, more):
        command = [*become_other_user(), self.environment / "bin" / program, *words]
        return {"args": command, "cwd": self.folder, "env": self.variables | more, "text": True}

    def start(self, *words, **more):
        """Start `openclaw-web` as the person, with its output in one pipe."""
        prepared = self._prepare(words, "openclaw-web", more)
        return subprocess.Popen(**prepared, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *words, program="openclaw-web", **more):
        """Run a program of the installation as the person to its end; return its standard output."""
        process = subprocess.run(**self._prepare(words, program, more), capture_output=True)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def close(self):
        """Remove everything."""
        self._set_modes(0o755, 0o644)
        shutil.rmtree(self.root)


def read_until(process, *patterns):
    """Read lines of a server until each pattern has matched one; return what they matched."""
    words, printed = {}, ""
    while len(words) < len(patterns):
        line = process.stdout.readline()
        assert line, printed
        printed += line
        words |= {pattern: match[1] for pattern in patterns if (match := pattern.search(line))}
    return [words[pattern] for pattern in patterns]
