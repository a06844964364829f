"""The wheel is the whole product: its content, and its use without the checkout.

It is installed without a network, in a folder that cannot be written to, and used by another user.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from openclaw_web import VERSION
from openclaw_web.commands import cli
from tests.homes import Home as OpenClawHome
from tests.homes import assistant, user
from tests.installation import wheels
from tests.installation.site_client import Browser
from tests.processes import wait_for

GOLDEN = Path(__file__).parent.parent / "data" / "wheel.txt"
UNINSTALL = wheels.ROOT / "docs" / "uninstall.md"
OTHER_MACHINE = {"LC_ALL": "zh_CN.UTF-8", "TZ": "Asia/Shanghai", "SOURCE_DATE_EPOCH": "1700000000", "UMASK": "077"}
# Files that a checkout may have and nobody needs.
JUNK = ("views.py~", ".#views.py", "#views.py#", "views.py.orig", ".views.py.swp", "views.po", "notes.rst", "a.sqlite")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel, and what `./dev wheel` printed; the sources are in its folder's parent."""
    place = tmp_path_factory.mktemp("build")
    return wheels.build(wheels.copy_sources(place / "sources"), place / "environment")


@pytest.fixture(scope="module")
def installed(built):
    if not wheels.find_interpreter():
        pytest.skip("needs Python with the module ensurepip (Debian: python3-venv) that other users can run")
    installation = wheels.Installation()
    shutil.copy(built[0], installation.root)
    installation.install(installation.root / built[0].name)
    installation.described = wheels.describe_tree(installation.environment)
    yield installation
    installation.close()


@pytest.fixture
def person(installed):
    """The installation; afterwards, nothing has been written outside the person's own folder."""
    installed.hand_over()
    yield installed
    assert wheels.describe_tree(installed.environment) == installed.described
    assert list(installed.folder.iterdir()) == [] and list(installed.temporary.iterdir()) == []
    if wheels.IS_ROOT:
        find = [
            "find",
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            "/run",
            "-maxdepth",
            "3",
            "-path",
            installed.person,
            "-prune",
            "-o",
        ]
        owned = subprocess.run([*find, "-uid", str(wheels.OTHER_USER), "-print"], capture_output=True, text=True)
        assert set(owned.stdout.splitlines()) == {str(installed.folder), str(installed.temporary)}


@pytest.mark.nightly
def test_the_same_files_make_the_same_bytes(built, tmp_path):
    """In another folder, at another time, in another language, beside files that nobody needs."""
    sources = wheels.copy_sources(tmp_path / "其他 folder", built[0].parents[1], is_reversed=True)
    for folder in ("agents", "templates", "locale", "demo", "static"):
        (sources / folder / "__pycache__").mkdir()
        for name in (*JUNK, "__pycache__/views.cpython-311.pyc"):
            (sources / folder / name).write_text("nothing")
        os.utime(sources / folder, (1, 1))
    other, printed = wheels.build(sources, tmp_path / "environment", **OTHER_MACHINE)
    assert other.read_bytes() == built[0].read_bytes()
    assert printed == built[1]


@pytest.mark.nightly
def test_the_command_says_what_it_built(built):
    wheel, printed = built
    digest = subprocess.run(["sha256sum", wheel], capture_output=True, text=True).stdout.split()[0]
    assert printed == f"dist/{wheel.name}\n{wheel.stat().st_size} bytes\nsha256 {digest}\n"
    assert wheel.name == f"openclaw_web-{VERSION}-py3-none-any.whl"


def test_the_files_are_those_that_are_known(built):
    """A new file shows up in the diff of the golden file; UPDATE_GOLDEN=1 rewrites it."""
    names = "".join(f"{name}\n" for name in sorted(zipfile.ZipFile(built[0]).namelist()))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(names)
    assert names == GOLDEN.read_text(), (
        "run UPDATE_GOLDEN=1 ./dev test tests/installation/test_wheel.py, look at the diff"
    )


def test_the_metadata_are_those_of_the_project(built):
    with zipfile.ZipFile(built[0]) as archive:
        [place] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(place).decode())
        points = archive.read(place.replace("METADATA", "entry_points.txt")).decode()
    assert (metadata["Name"], metadata["Version"]) == ("openclaw-web", VERSION)
    assert (metadata["Requires-Python"], metadata.get_all("Provides-Extra")) == (">=3.11", ["mcp", "parquet"])
    assert metadata.get_payload().startswith("# OpenClaw Web\n")
    assert points == "[console_scripts]\nopenclaw-web = openclaw_web.commands.cli:main\n"


@pytest.mark.nightly
def test_it_names_its_versions(person):
    ask = "import platform, sqlite3; print(f'Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}')"
    expected = f"openclaw-web {VERSION} ({person.run('-c', ask, program='python').strip()})\n"
    assert person.run("--version") == expected
    assert person.run("-m", "openclaw_web", "--version", program="python") == expected
    assert list(person.person.iterdir()) == []


@pytest.mark.nightly
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_its_commands(person, shell):
    script = person.run("completion", shell)
    assert [verb for verb in cli.OURS if verb not in script] == []


@pytest.mark.nightly
def test_migrations_and_settings_are_those_of_the_checkout(person):
    assert "no issues" in person.run("check")
    assert person.run("makemigrations", "--check", "--dry-run") == "No changes detected\n"
    shutil.rmtree(person.person / ".openclaw-web")


@pytest.mark.nightly
def test_the_demo_is_there(person):
    assert "/welcome/" in person.run("demo", "--no-serve")
    assert not (person.person / ".openclaw-web").exists() and not (person.person / ".openclaw").exists()
    demo = person.person / ".openclaw-web-demo"
    places = {"OPENCLAW_WEB_HOME": f"{demo}/home", "OPENCLAW_STATE_DIR": f"{demo}/openclaw"}
    person.run("collect", **places)  # the demo changed memory files after its import
    assert json.loads(person.run("doctor", "--json", **places))["ok"] is True


@pytest.mark.nightly
@pytest.mark.parametrize(("tool", "words"), [("pipx", "install"), ("uv", "tool install")])
def test_other_installers_install_and_remove_it(built, tmp_path, tool, words):
    """docs/uninstall.md names the command that removes the program, and it does."""
    if not (program := shutil.which(tool)):
        pytest.skip(f"needs {tool}")
    if not (interpreter := wheels.find_interpreter()):
        pytest.skip("needs Python with the module ensurepip (Debian: python3-venv)")
    env = wheels.make_offline_environment(interpreter) | {"HOME": str(tmp_path), "LANG": "C.UTF-8"}
    env["PATH"] += f":{Path(program).parent}:{tmp_path}/.local/bin"

    def run(command):
        process = subprocess.run(command, env=env, cwd=tmp_path, shell=True, capture_output=True, text=True)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    run(f"{tool} {words} {built[0]}")
    assert run("openclaw-web --version").startswith(f"openclaw-web {VERSION} (")
    command = tmp_path / ".local" / "bin" / "openclaw-web"
    environment = command.resolve().parents[1]
    assert (environment / "pyvenv.cfg").is_file()
    run(re.search(rf"^\| {tool} \| `(.+)` \|$", UNINSTALL.read_text(), re.MULTILINE)[1])
    assert not environment.exists() and not os.path.lexists(command)


@pytest.fixture
def site(person):
    """A running `serve` as (browser, link that makes the first admin)."""
    openclaw = OpenClawHome(person.person / ".openclaw")
    openclaw.transcript(user("Why did the import fail?"), assistant("The last line was cut off."))
    person.hand_over()
    assert "3 records" in person.run("collect")
    openclaw.transcript(user("早上好"), assistant("早上好！今天有三件事。"))
    person.hand_over()
    server = person.start("serve", "--port", "0", "--no-watch")
    address, link = wheels.read_until(server, wheels.SERVED, wheels.INVITATION)
    with Browser(address) as browser:
        yield browser, link
    server.send_signal(signal.SIGTERM)
    printed = server.communicate()[0]
    assert server.returncode == 0, printed


def test_a_person_imports_judges_and_exports(site):
    browser, link = site
    browser.make_admin(link)
    check_pages(browser)
    job = browser.ask("/operations/collect", {})
    wait_for(lambda: browser.ask(f"/operations/jobs/{job['id']}")["state"] == "finished")
    assert browser.approve() == 2
    assert browser.export() == {"The last line was cut off.", "早上好！今天有三件事。"}


def check_pages(browser):
    """Check the languages and that static files have hashed names."""
    english, chinese = (browser.get("/", headers={"Accept-Language": code}).text for code in ("en", "zh-hans"))
    sheets = re.findall(r'(?:href|src)="(/static/\w+\.[0-9a-f]{12}\.(?:css|js))"', english)
    assert len(sheets) >= 2 and all(browser.get(sheet).status_code == 200 for sheet in sheets)
    assert 'lang="en"' in english and 'lang="zh-hans"' in chinese.lower() and "今天" in chinese
