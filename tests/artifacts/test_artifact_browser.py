"""From the list to a line of an artifact by keyboard alone, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.homes import Home, user
from tests.ledger.browser_site import Site

pytestmark = [pytest.mark.browser, pytest.mark.kill]
EVIL = "<img src=x onerror='window.ran=true'><script>window.ran=true</script>"
STASH = """
from agents import databases
from artifacts import services
db = databases.get_alias("main")
services.stash(db, "a short one")
text = "".join(f"line {n} of a log\\n" for n in range(3000))
services.stash(db, text.replace("line 1700 of", "pomegranate %s in"), kind="log")
services.stash(db, "<html><title>%s</title><script>window.ran=true</script>" + "<p>x</p>" * 900)
print("done")
"""


@pytest.fixture
def site(tmp_path, page, migrated):
    openclaw = Home(tmp_path / "openclaw")
    script = openclaw.transcript(user("Hello"))
    running_site = Site(tmp_path, openclaw, page, migrated)
    running_site.wait_for_session(script.session)
    running_site.home.python(STASH % (EVIL, EVIL))
    yield running_site
    running_site.home.close()


def test_it_works_by_keyboard(site, page):
    page.goto(f"{site.origin}/agents/main/artifacts/?kind=log")
    expect(page.get_by_role("heading", level=1)).to_have_text("Artifacts of main")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/artifacts/*/")
    excerpt = page.locator(".look pre")
    expect(excerpt).to_contain_text("line 0 of a log")
    expect(excerpt).not_to_contain_text("pomegranate")
    expect(page.get_by_label("Pattern", exact=True)).to_be_hidden()
    mode = page.get_by_label("Part to show", exact=True)
    mode.focus()
    for _key in range(4):
        page.keyboard.press("ArrowDown")
    expect(mode).to_have_value("grep")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Pattern", exact=True)).to_be_focused()
    page.keyboard.type("pome(")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").get_by_text("This pattern cannot be used")).to_be_visible()
    expect(page.get_by_label("Pattern", exact=True)).to_be_focused()
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    expect(excerpt).to_contain_text(f"1701:pomegranate {EVIL} in a log")
    expect(excerpt).to_be_focused()
    site.complaints[:] = [message for message in site.complaints if "422" not in message]  # reported by Chromium
    site.check()


def test_going_on_shows_what_comes_next(site, page):
    page.goto(f"{site.origin}/agents/main/artifacts/?kind=log")
    page.get_by_role("link", name="Log", exact=True).click()
    excerpt = page.locator(".look pre")
    page.get_by_role("link", name="Show more").focus()
    page.keyboard.press("Enter")
    expect(excerpt).to_contain_text("line 250 of a log")
    expect(excerpt).not_to_contain_text("line 0 of a log")
    page.get_by_role("link", name="Link to this part").click()
    expect(excerpt).to_contain_text("line 250 of a log")
    assert "offset=" in page.url
    site.check()


def test_a_page_that_was_stashed_never_runs(site, page):
    page.goto(f"{site.origin}/agents/main/artifacts/?content_type=text/html")
    page.get_by_role("link", name="Web page", exact=True).click()
    expect(page.locator(".look pre")).to_contain_text("<script>window.ran=true</script>")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download (").click()
    assert download.value.suggested_filename.endswith(".txt")
    site.check()


def test_without_javascript(site, browser):
    context = browser.new_context(java_script_enabled=False, storage_state=site.page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{site.origin}/agents/main/artifacts/?kind=log")
    plain.get_by_role("link", name="Log", exact=True).click()
    plain.get_by_label("Part to show", exact=True).select_option("range")
    plain.get_by_label("Line range").fill("1700:1702")
    plain.get_by_role("button", name="Show part").click()
    expect(plain.locator(".look pre")).to_contain_text("pomegranate")
    context.close()
