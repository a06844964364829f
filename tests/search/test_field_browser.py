"""The field of the search by keyboard, on every page."""

import pytest
from playwright.sync_api import expect

from tests.whole.conftest import full

pytestmark = [pytest.mark.browser, pytest.mark.kill]
__all__ = ["full"]


def test_keys_lead_from_any_page_to_a_text(full):
    page = full.page
    page.goto(f"{full.address}/agents/main/turns/")
    page.keyboard.press("/")
    field = page.get_by_role("searchbox", name="Search all texts")
    expect(field).to_be_focused()
    answers = page.locator(".find__list a")
    expect(answers.first).to_be_visible()  # what people want to do, before they type
    page.keyboard.type("flour")
    expect(page.locator(".find__list mark").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(answers.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(answers.first).not_to_be_visible()
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("flour")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/?q=flour")
    hit = page.locator(".hit a").first
    expect(hit).to_be_visible()
    page.keyboard.press("Tab")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    expect(hit).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_visible()
    page.goto(f"{full.address}/agents/main/turns/")
    page.keyboard.press("f")
    expect(page.get_by_role("combobox", name="Filter")).to_be_focused()
