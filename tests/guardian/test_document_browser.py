"""A memory file as a document in a real browser: versions by keyboard, a line, its write, and the undoing of it."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.homes import Home, assistant, user
from tests.ledger.browser_site import Site
from tests.processes import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.kill]
HOSTILE = "<img src=x onerror='window.ran=true'><script>window.ran=true</script>"
STATES = (f"# Memory\n\n- Likes tea. {HOSTILE}\n", "- Likes milk.\n", "- Likes salt.\n")


@pytest.fixture
def site(tmp_path, page, migrated):
    """A site that has imported three versions of a MEMORY.md, and may write to it."""
    openclaw = Home(tmp_path / "openclaw")
    openclaw.transcript(user("I like tea"), assistant("Noted."))
    file = openclaw.root / "workspace" / "MEMORY.md"
    file.parent.mkdir()
    file.write_text(STATES[0])
    site = Site(tmp_path, openclaw, page, migrated, OPENCLAW_WEB_WORKSPACE_WRITES="1")
    site.file, site.address = file, f"{site.origin}/agents/main/files/MEMORY.md/"
    wait_for(lambda: "Likes tea." in page.request.get(site.address).text())
    for number, fact in ((2, "Likes milk."), (3, "Likes salt.")):
        file.write_text("".join(STATES[:number]))
        wait_for(lambda fact=fact: fact in page.request.get(site.address).text())
    yield site
    site.home.close()


def test_versions_and_lines_by_keyboard(site, page):
    page.goto(site.address)
    document = page.get_by_role("table", name=re.compile("Content at"))
    expect(document).to_contain_text("Likes salt.")
    expect(document).to_contain_text("<script>")
    slider = page.get_by_role("slider", name="Version 3 of 3")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    slider = page.get_by_role("slider", name="Version 2 of 3")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", re.compile("2 of 3, 20"))
    expect(document).not_to_contain_text("Likes salt.")
    expect(page).to_have_url(f"{site.address}?at=2")
    page.keyboard.press("ArrowLeft")
    expect(document).not_to_contain_text("Likes milk.")
    page.go_back()
    expect(document).to_contain_text("Likes milk.")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        report = Axe().run(page)
        assert not report.response["violations"], report.generate_report()
    site.check()


def test_a_line_opens_its_write_which_is_undone(site, page):
    page.goto(site.address)
    row = page.locator(".doc tr", has_text="Likes salt.")
    row.get_by_role("link").first.focus()
    page.keyboard.press("o")
    panel = page.get_by_role("complementary", name="The chosen row")
    expect(panel).to_contain_text("Likes salt.")
    panel.get_by_role("link", name="Preview rollback").first.click()
    page.get_by_label("Reason").fill("Nobody said so.")
    page.locator("main form button.button--primary").click()
    wait_for(lambda: "salt" not in site.file.read_text())
    page.goto(site.address)
    expect(page.locator(".doc")).not_to_contain_text("Likes salt.")
    expect(page.locator(".doc")).to_contain_text("Likes milk.")


def test_without_scripts(site, browser, page):
    plain = browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state()).new_page()
    plain.goto(site.address)
    plain.get_by_role("slider").fill("2")
    plain.get_by_role("button", name="Show version").click()
    expect(plain.locator(".doc")).to_contain_text("Likes milk.")
    expect(plain.locator(".doc")).not_to_contain_text("Likes salt.")
    plain.locator(".doc tr", has_text="Likes milk.").get_by_role("link").first.click()
    expect(plain.locator("h1")).to_contain_text("Write to MEMORY.md")
