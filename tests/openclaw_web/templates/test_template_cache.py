"""The cache of compiled templates in the home.

A file of it is read only when it is intact and ours; pages work without it.
"""

import os
import stat
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import pytest
import zstandard
from jinja2 import DictLoader

from openclaw_web.pages import templates
from openclaw_web.pages.template_cache import TemplateCache
from tests.operations.backups import backup_homes

SOURCE = {"a.html": "{% for one in found %}<p>{{ one }}</p>{% endfor %}"}


def env(home, **source):
    return templates.environment(kept_in=home, loader=DictLoader(source or SOURCE), autoescape=True)


def draw(home):
    """Renders the template; returns its text, and whether it was compiled for that."""
    made = env(home)
    compiled = []
    compile_it = made.compile
    made.compile = lambda *args, **more: compiled.append(args) or compile_it(*args, **more)
    return made.get_template("a.html").render(found=["<1>", 2]), bool(compiled)


@pytest.fixture
def compiled_file(tmp_path):
    """The file of the compiled template."""
    assert draw(tmp_path) == ("<p>&lt;1&gt;</p><p>2</p>", True)
    (folder,) = tmp_path.glob("templates-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (file,) = folder.iterdir()
    return file


def test_it_works(tmp_path, compiled_file):
    assert stat.S_IMODE(compiled_file.stat().st_mode) == 0o600
    assert draw(tmp_path) == ("<p>&lt;1&gt;</p><p>2</p>", False)


def test_another_source_is_compiled(tmp_path, compiled_file):
    assert env(tmp_path, **{"a.html": "{{ 1 }}"}).get_template("a.html").render() == "1"


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def lead_elsewhere(place):
    elsewhere = place.parent.parent / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)


def exchange(file, make):
    file.unlink()
    make(file)


# Changes of the file or of its folder after which it is not trusted; none of them delays a page.
NOT_BELIEVED = {
    **{f"damaged at {place}": partial(flip, place=place) for place in (0, 5, 31, 32, 40, -1)},
    **{f"cut off after {length}": partial(os.truncate, length=length) for length in (0, 10, 32, 100)},
    "others may write it": lambda file: file.chmod(0o620),
    "others may write its folder": lambda file: file.parent.chmod(0o770),
    "a link": lead_elsewhere,
    "a link to its folder": lambda file: lead_elsewhere(file.parent),
    "a folder": lambda file: exchange(file, Path.mkdir),
    "a pipe": lambda file: exchange(file, os.mkfifo),
}


@pytest.mark.parametrize("damage", NOT_BELIEVED)
def test_what_is_not_whole_and_our_own_is_compiled_again(tmp_path, compiled_file, damage):
    NOT_BELIEVED[damage](compiled_file)
    assert draw(tmp_path) == ("<p>&lt;1&gt;</p><p>2</p>", True)
    if damage.startswith(("damaged", "cut")):
        assert draw(tmp_path)[1] is False


def test_without_a_place_it_is_compiled_each_time(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for _ in range(2):
        assert draw(tmp_path / "file") == ("<p>&lt;1&gt;</p><p>2</p>", True)
        assert draw(tmp_path / "missing" / "folder") == ("<p>&lt;1&gt;</p><p>2</p>", True)


FULL = """
import sys
from pathlib import Path
from tests.openclaw_web.templates.test_template_cache import draw
home = Path(sys.argv[1])
(home / "ballast").write_bytes(b"x" * (home.stat().st_blksize * 10))
try:
    with (home / "ballast").open("ab") as ballast:
        while True:
            ballast.write(b"x" * 4096)
            ballast.flush()
except OSError:
    pass
assert draw(home) == ("<p>&lt;1&gt;</p><p>2</p>", True)
assert not [file for folder in home.glob("templates-*") for file in folder.iterdir()]
(home / "ballast").unlink()
assert draw(home)[1] is True and draw(home)[1] is False
"""


def test_a_full_disk_costs_nothing_but_time(tmp_path):
    if subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system has no user namespaces")
    mounted = f'mount -t tmpfs -o size=256k none {tmp_path} && exec "$@"'
    words = ["unshare", "-Urm", "sh", "-c", mounted, "sh", sys.executable, "-c", f"import django;django.setup(){FULL}"]
    done = subprocess.run([*words, str(tmp_path)], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


def test_those_of_other_versions_go(tmp_path, compiled_file):
    for name in ("templates-0123456789abcdef", "templates-old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code").write_bytes(b"x")
    old, new = compiled_file.with_name(".killed"), compiled_file.with_name(".being-written")
    old.write_bytes(b"")
    new.write_bytes(b"")
    os.utime(old, (0, 0))
    env(tmp_path).bytecode_cache.tidy()
    assert list(tmp_path.glob("templates-*")) == [compiled_file.parent]
    assert set(compiled_file.parent.iterdir()) == {compiled_file, new}


def test_options_have_folders_of_their_own(tmp_path):
    assert TemplateCache(tmp_path, ["a"]).folder != TemplateCache(tmp_path, ["b"]).folder


def test_a_home_that_was_served_keeps_them_and_no_backup_has_them(tmp_path):
    home = tmp_path / "own"
    backup_homes.fill(home)
    backup_homes.run_python(home, "from openclaw_web.pages import templates; templates.compile_all()")
    (folder,) = (home / "state").glob("templates-*")
    assert len(list(folder.iterdir())) > 80
    archive = backup_homes.run_backup(home, "create")["backup"]["path"]
    with zstandard.open(archive) as packed, tarfile.open(fileobj=packed, mode="r|") as members:
        names = members.getnames()
    assert "state/openclaw.sqlite" in str(names) and "templates-" not in str(names)
