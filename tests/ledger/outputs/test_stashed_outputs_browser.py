"""Looking inside an output that is an artifact, on the page of its session, by keyboard, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.homes import Home, assistant, result, user
from tests.ledger.browsing import Site
from tests.ledger.outputs.stashing import lines

pytestmark = [pytest.mark.browser, pytest.mark.kill]
HOSTILE = "<img src=x onerror='window.ran=true'><script>window.ran=true</script>"


@pytest.fixture
def site(tmp_path, page, migrated):
    openclaw = Home(tmp_path / "openclaw")
    script = openclaw.transcript(user("Look into the log"), assistant("", ("c1", "exec", {"command": "cat log"})))
    script.add(result("c1", lines(900, needle=f"pomegranate {HOSTILE}")), assistant("Done."))
    made = Site(tmp_path, openclaw, page, migrated)
    page.goto(made.collected(script.session))
    yield made
    made.home.close()


def test_it_works_by_keyboard(site, page):
    """Open the call, look inside, search, and come to what was found without leaving the page."""
    address = page.url
    page.locator("details.call > summary").focus()
    page.keyboard.press("Enter")
    look = page.get_by_role("link", name="View content")
    expect(look).to_be_visible()
    expect(page.locator("#transcript")).not_to_contain_text("pomegranate")
    look.focus()
    page.keyboard.press("Enter")
    shown = page.locator(".stash__part pre")
    expect(shown).to_contain_text("line 0 of the output")
    expect(shown).to_be_focused()
    mode = page.locator(".stash__part select[name=mode]")
    mode.focus()
    for _key in range(4):
        page.keyboard.press("ArrowDown")
    expect(mode).to_have_value("grep")
    page.locator(".stash__part input[name=pattern]").focus()
    page.keyboard.type("pome[a-z]+")
    page.keyboard.press("Enter")
    expect(shown).to_contain_text("pomegranate")
    expect(shown).not_to_contain_text("line 0 of the output")
    assert page.url == address
    site.check()
