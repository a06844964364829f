"""The page of all agents' memory files in prompts, its exports and its API."""

import pytest
from django.urls import reverse

from tests.collecting.collect_runs import run
from tests.guardian.standing.recorded_homes import RecordedHome
from tests.sqlite_homes import T0

pytestmark = pytest.mark.django_db
URL, API = "/files/", "/api/v1/operations/memory"
LATER = T0 + 10**12


@pytest.fixture
def home(tmp_path, real_files):
    home = RecordedHome(tmp_path / "openclaw", ("main", "other"))
    home.file("MEMORY.md", "two\n", "main")
    home.record("MEMORY.md", "one\n", agent="main").prompt([("MEMORY.md", 3, 3)], agent="main", at=LATER)
    home.file("USER.md", "x" * 5_000, "other")
    home.file("MEMORY.md", "one\n", "other")
    home.record("MEMORY.md", "one\n", "untrusted", agent="other", session="w9")
    home.prompt([("USER.md", 5_000, 4_000)], agent="other", at=LATER, session="p2")
    run(home)
    return home


def test_it_works(as_admin, home):
    assert reverse("overview:memory_list") == URL
    old = as_admin.get("/operations/memory/?state=cut")
    assert (old.status_code, old.url) == (302, f"{URL}?state=cut")
    page = as_admin.get(URL).text
    for words in ("10 memory files", "Left out of the prompt", "Will be left out", "4,000 of 5,000", "1,000"):
        assert words in page
    assert page.index("Left out of the prompt</span>") < page.index("Will be left out</span>")
    assert "/agents/other/sessions/w9/" in page


def test_the_api_tells_the_worst_first(as_admin, home):
    first, second, third, *_rest = as_admin.get(API).json()["items"]
    assert (first["agent_id"], first["file_name"], first["state"]) == ("other", "MEMORY.md", "left_out")
    assert (first["session_key"], first["since"], first["record_class"]) == ("agent:other:w9", T0, "untrusted")
    assert (second["state"], second["is_equal"]) == ("will_be_left_out", False)
    assert (third["state"], third["lost_chars"]) == ("cut", 1_000)


def test_an_import_brings_it_up_to_date(as_admin, home):
    home.file("MEMORY.md", "one\n", "main")
    run(home)
    states = {row["file_name"]: row["state"] for row in as_admin.get(API, {"agent": "main"}).json()["items"]}
    assert states["MEMORY.md"] == "in_prompt"
