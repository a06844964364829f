"""The page of what imports found, left out and did not find."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from people.accounts import services as accounts
from tests.collecting.collect_runs import run
from tests.homes import Home
from tests.ledger.transcript_records import assistant, user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("real_files")]
IMPORTS = "/operations/imports/"
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "openclaw-2026.9.6"


def read_words(client):
    """The words of the page."""
    return " ".join(re.sub("<[^>]+>", " ", client.get(IMPORTS).text).split())


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "openclaw", ("main",))
    home.transcript(user("hello"), assistant("hi"))
    home.write("agents/main/sessions/sessions.json.lock", "")
    return home


def test_what_was_found_and_what_was_not(as_admin, home):
    empty = as_admin.get(IMPORTS)
    assert "Nothing imported yet" in empty.text and "Import a folder" in empty.text
    home.write("workspace/MEMORY.md", "- Tea\n")
    run(home)
    text = read_words(as_admin)
    assert f"1 agent in {home.root}" in text
    assert "main " in text and "MEMORY.md USER.md, SOUL.md, IDENTITY.md, TOOLS.md" in text
    assert "main: USER.md, SOUL.md, IDENTITY.md, TOOLS.md" in text
    assert "Logs and databases of the Reflection plugin" in text and "Scheduled tasks" in text


@pytest.mark.skipif(not REAL.is_dir(), reason="the real homes are not beside this checkout")
def test_files_of_another_workspace_are_found_and_removed_ones_are_not(as_admin, tmp_path):
    home = SimpleNamespace(root=shutil.copytree(REAL, tmp_path / "real"))
    run(home)
    assert "main: TOOLS.md" in read_words(as_admin)  # MEMORY.md is in another workspace than the one of prompts
    (home.root / "workspace/MEMORY.md").unlink()
    run(home)
    assert "main: MEMORY.md, TOOLS.md" in read_words(as_admin)


def test_a_note_of_the_same_name_is_no_memory_file(as_admin, home):
    home.write("workspace/memory/MEMORY.md", "- Tea\n")
    run(home)
    assert "main: MEMORY.md, USER.md" in read_words(as_admin)


def test_each_reason_leads_to_its_sources(as_admin, home):
    run(home)
    reasons = re.findall(r'href="(/operations/skipped/\?reason=\w+)">(\d+)<', as_admin.get(IMPORTS).text)
    assert reasons
    for address, count in reasons:
        listed = as_admin.get(f"{address}&format=json")
        assert len(list(b"".join(listed.streaming_content).splitlines())) >= int(count)


def test_it_is_the_first_page_once_for_the_first_admin(client, home):
    chosen = {"username": "lena", "password": "a good one 9", "again": "a good one 9"}
    assert client.post(accounts.make_first_admin_link(), chosen).url == "/"
    assert client.get("/").status_code == 200  # nothing was imported yet
    run(home)
    assert client.get("/", headers={"HX-Request": "true"}).headers["HX-Redirect"] == IMPORTS
    page = client.get("/")
    assert page.status_code == 200 and f'<a href="{IMPORTS}">Last import</a>' in page.text
