"""Corrections of a write: a part of its page, and a page without scripts."""

import pytest

from tests.guardian.write_rows import create_rollback, create_write

from .correction_rows import create_correction

pytestmark = pytest.mark.django_db
DB = "agent_ada"
PAGE = "/agents/ada/corrections/w1/"


@pytest.fixture(autouse=True)
def write(ada):
    return create_write(DB, 1, None, b"Likes tea.\n")


def test_a_flagged_write_says_so(as_stranger):
    rule = create_correction(apply_to_future=True)
    create_write(DB, 2, None, b"x", candidate_fact="likes tea", rule_id=rule.id)
    page = as_stranger.get("/agents/ada/corrections/w2/").content.decode()
    assert "This breaks a rule." in page and "Nobody has corrected" in page
    assert "writes/correct/w2" not in page and "Reason: " in page
    create_rollback(DB, 3, ["w2"], b"x", b"Likes tea.\n")
    page = as_stranger.get("/agents/ada/corrections/w2/").content.decode()
    assert "Broke a rule; rolled back." in page and "A rule decided" not in page


@pytest.mark.parametrize("page", [PAGE, "/agents/ada/writes/correct/w1/", "/agents/ada/write-verdicts/w1/"])
def test_pages_about_a_write_keep_the_tabs_and_lead_back(as_reviewer, page):
    page = as_reviewer.get(page).content.decode()
    assert '<a class="button" href="/agents/ada/writes/w1/">View write</a>' in " ".join(page.split())
    assert 'href="/agents/ada/writes/" aria-current="true"' in page


def test_corrections_are_shown_the_last_one_first(as_reviewer):
    create_correction(reason="In jest.")
    create_correction(status="written", file="USER.md", reason="About the user.")
    page = as_reviewer.get(PAGE).content.decode()
    assert page.index("About the user.") < page.index("Replaced") < page.index("In jest.")
    assert "Correct again" in page and "writes/correct/w1" in page


def test_the_part_for_the_page_of_the_write(as_stranger):
    part = as_stranger.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith('<section id="corrections"')


def test_unknown_writes(as_stranger):
    assert as_stranger.get("/agents/ada/corrections/nowhere/").status_code == 404
