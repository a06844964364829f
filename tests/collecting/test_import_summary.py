"""The page of what imports found, left out and did not find."""

import re

import pytest

from people.accounts import services as accounts
from tests.collecting.collect_runs import run
from tests.homes import Home
from tests.ledger.transcript_records import assistant, user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("real_files")]
IMPORTS = "/operations/imports/"


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
    text = " ".join(re.sub("<[^>]+>", " ", as_admin.get(IMPORTS).text).split())
    assert f"1 agent in {home.root}" in text
    assert "main " in text and "MEMORY.md USER.md, SOUL.md, IDENTITY.md, TOOLS.md" in text
    assert "main: USER.md, SOUL.md, IDENTITY.md, TOOLS.md" in text
    assert "Logs and databases of the Reflection plugin" in text and "Scheduled tasks" in text


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
