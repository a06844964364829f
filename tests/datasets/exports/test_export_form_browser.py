"""The way from the list of samples to an export, in a real browser: trainer, count, create."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.datasets import browser_sessions
from tests.datasets.exports.folders.test_export_files_browser import PREPARE

pytestmark = [pytest.mark.browser, pytest.mark.kill]


@pytest.fixture
def opened(tmp_path, browser, migrated):
    """A signed-in page, and the address of the site."""
    with browser_sessions.open_page(migrated, tmp_path, browser, PREPARE) as page:
        yield page


def test_from_the_samples_to_an_export_for_a_trainer(opened):
    page, address, _export = opened
    page.goto(f"{address}/samples/")
    page.get_by_label("Filter", exact=True).fill("session:s1")
    page.keyboard.press("Enter")
    expect(page.locator("#list-count")).to_have_text("2")
    page.get_by_role("link", name="Export these").click()

    result = page.locator("#export-fits")
    expect(result).to_contain_text("2 samples fit these options")
    expect(result).to_contain_text("Messages:")
    assert not Axe().run(page).response["violations"]
    form, fits = page.locator("#new form > :first-child").bounding_box(), result.bounding_box()
    assert fits["x"] > form["x"] + form["width"]
    page.get_by_label("For which trainer?").select_option("LLaMA-Factory")
    expect(result).to_contain_text("ShareGPT:")

    line = page.get_by_label("Which samples")
    line.fill("age")
    page.get_by_role("option", name="agent:").click()
    expect(line).to_have_value("agent:")
    line.type("ada")
    line.press("Tab")
    expect(result).to_contain_text("40 samples fit these options")

    page.set_viewport_size({"width": 390, "height": 844})
    assert result.bounding_box()["x"] < 390
    assert result.bounding_box()["y"] < page.get_by_label("Name", exact=True).bounding_box()["y"]
    page.get_by_label("Name", exact=True).fill("Second try")
    page.get_by_role("button", name="Create export").click()
    expect(page.get_by_role("heading", name="Second try")).to_be_visible()
    expect(page.locator("#export-state")).to_contain_text("agent:ada")
