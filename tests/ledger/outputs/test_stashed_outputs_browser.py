"""Reading an output that is an artifact on its session's page, by keyboard, in a browser."""

import pytest
from playwright.sync_api import expect

from tests.homes import Home, assistant, result, user
from tests.ledger.browser_site import Site
from tests.ledger.outputs.stored_outputs import make_output

pytestmark = [pytest.mark.browser, pytest.mark.kill]
HOSTILE = "<img src=x onerror='window.ran=true'><script>window.ran=true</script>"


@pytest.fixture
def site(tmp_path, page, migrated):
    openclaw = Home(tmp_path / "openclaw")
    script = openclaw.transcript(user("Look into the log"), assistant("", ("c1", "exec", {"command": "cat log"})))
    script.add(result("c1", make_output(900, needle=f"pomegranate {HOSTILE}")), assistant("Done."))
    made = Site(tmp_path, openclaw, page, migrated)
    page.goto(made.wait_for_session(script.session))
    yield made
    made.home.close()


def test_it_works_by_keyboard(site, page):
    """Open the call, look inside, search, and reach a match without leaving the page."""
    address = page.url
    page.locator("details.call > summary").focus()
    page.keyboard.press("Enter")
    look = page.get_by_role("link", name="View content")
    expect(look).to_be_visible()
    expect(page.locator("#transcript")).not_to_contain_text("pomegranate")
    look.focus()
    page.keyboard.press("Enter")
    content = page.locator(".stash__part pre")
    expect(content).to_contain_text("line 0 of the output")
    expect(content).to_be_focused()
    mode = page.locator(".stash__part select[name=mode]")
    mode.focus()
    for _key in range(4):
        page.keyboard.press("ArrowDown")
    expect(mode).to_have_value("grep")
    page.locator(".stash__part input[name=pattern]").focus()
    page.keyboard.type("pome[a-z]+")
    page.keyboard.press("Enter")
    expect(content).to_contain_text("pomegranate")
    expect(content).not_to_contain_text("line 0 of the output")
    assert page.url == address
    site.check()
