"""Preferences in real browsers: the browser's time zone, and a theme before the first paint."""

import re

import pytest
from playwright.sync_api import expect

from tests.complaints import listen
from tests.processes import Home

pytestmark = [pytest.mark.browser, pytest.mark.kill]


@pytest.fixture(scope="module")
def site(tmp_path_factory, migrated):
    """A running `serve` with one user: its address, and its home."""
    home = Home.copied(migrated, tmp_path_factory.mktemp("prefer") / "store")
    server = home.serve("--no-watch")
    address = server.address()
    process = home.start("create_user", "mei", "--role", "admin")
    assert process.end() == 0, process.said
    yield address, home
    home.close()


@pytest.fixture
def open_page(browser, site):
    contexts, complaints = [], []

    def start(**options):
        process = site[1].start("sign_in_link", "mei")
        assert process.end() == 0, process.said
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        listen(page, complaints)
        page.goto(site[0].rstrip("/") + re.search(r"/welcome/\S+", process.said)[0])
        page.locator("form.form button").click()
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def theme(page):
    return page.locator("html").get_attribute("data-theme")


def test_times_are_in_the_zone_of_the_browser_until_another_is_chosen(open_page, site):
    page = open_page(timezone_id="America/St_Johns")
    page.goto(f"{site[0]}/account/")
    expect(page.locator(".foot")).to_contain_text("America/St_Johns (UTC-0")
    page.get_by_label("Time zone").fill("asia/shanghai")
    page.get_by_role("button", name="Save preferences").click()
    expect(page.locator(".foot")).to_contain_text("Asia/Shanghai (UTC+08:00)")
    page.get_by_label("Time zone").fill("")
    page.get_by_role("button", name="Save preferences").click()
    expect(page.locator(".foot")).to_contain_text("America/St_Johns")


def test_without_javascript_times_are_utc_and_the_form_does_all(open_page, site):
    page = open_page(java_script_enabled=False, timezone_id="Asia/Tokyo")
    page.goto(f"{site[0]}/account/")
    expect(page.locator(".foot")).to_have_text(re.compile(r"Times:\s+UTC"))
    expect(page.locator("[data-theme-switch]")).to_be_hidden()
    for chosen in ("dark", ""):
        page.get_by_label("Theme").select_option(chosen)
        page.get_by_role("button", name="Save preferences").click()
        assert theme(page) == (chosen or None)


def test_a_theme_goes_with_the_person_and_comes_with_the_page(open_page, site):
    page, other = open_page(), open_page()
    switch = page.locator("[data-theme-switch]")
    for expected_theme in ("light", "dark"):
        with page.expect_response("**/account/theme/") as answer:
            switch.click()
        assert answer.value.status == 204
        assert theme(page) == expected_theme
    other.goto(f"{site[0]}/agents/")
    assert theme(other) == "dark"
    assert '<html lang="en" data-theme="dark">' in other.request.get(f"{site[0]}/agents/").text()
    assert page.evaluate("localStorage.length") == 0
    with page.expect_response("**/account/theme/"):
        switch.click()
    other.reload()
    assert theme(other) is None


def test_a_language_is_chosen_before_sign_in(browser, site):
    context = browser.new_context(locale="en-GB", java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site[0]}/sign-in/")
    assert page.locator("html").get_attribute("lang") == "en"
    page.get_by_role("button", name="简体中文").click()
    assert page.locator("html").get_attribute("lang") == "zh-Hans"
    assert page.url.endswith("/sign-in/")
    context.close()
