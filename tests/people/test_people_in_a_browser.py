"""Accounts in real browsers: invited, signed in twice, signed out, locked out, audited."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.complaints import listen
from tests.processes import Home

pytestmark = [pytest.mark.browser, pytest.mark.kill]
PASSWORD = "correct horse battery"
PREPARE = """
import json
from agents import services
from people.accounts import services as accounts
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import store_decision
services.register("ada")
store_turns(1)
store_decision("d1", turn="s1:u1")
print(json.dumps(accounts.add_user("ann", "labeller")[1]))
"""


@pytest.fixture
def site(tmp_path, migrated):
    """A running `serve`: its address, and the link for the first admin."""
    home = Home.copied(migrated, tmp_path / "store")
    server = home.serve("--no-watch")
    server.address()
    link = server.invitation()
    yield link.partition("/welcome/")[0], link
    home.close()


@pytest.fixture
def open_browser(browser):
    """Opens a new browser without cookies; `complaints` collects the messages of its console."""
    contexts, complaints = [], []

    def start(**options):
        contexts.append(browser.new_context(reduced_motion="reduce", **options))
        page = contexts[-1].new_page()
        listen(page, complaints)
        return page

    start.complaints = complaints
    yield start
    for context in contexts:
        context.close()


def fill_account_form(page, name, *, button="Create account"):
    page.get_by_label("User name").fill(name)
    for field in page.locator("input[type=password]").all():
        field.fill(PASSWORD)
    page.get_by_role("button", name=button).click()


def check_page(page):
    """Checks a page with axe in both themes, and its width on a phone."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        violations = Axe().run(page).response["violations"]
        assert not violations, [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in violations]
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, page.url
    page.set_viewport_size({"width": 1280, "height": 800})


# One long test with three browsers, because each part needs all parts before it.
def test_from_the_first_admin_to_the_audit_log(site, open_browser):
    origin, link = site
    admin = open_browser()
    admin.goto(link)
    check_page(admin)
    fill_account_form(admin, "root")
    admin.goto(f"{origin}/operations/invitations/")
    check_page(admin)
    admin.get_by_label("Recipient").fill("the new colleague")
    admin.get_by_label("Role").select_option("labeller")
    admin.get_by_label("Recipient").press("Enter")
    invitation = admin.locator(".command code").inner_text()
    check_page(admin)

    lena = open_browser()
    lena.goto(invitation)
    check_page(lena)
    fill_account_form(lena, "ROOT")
    expect(lena.locator("main")).to_contain_text("already a user")
    check_page(lena)
    fill_account_form(lena, "lena")
    expect(lena.locator(".menu__name")).to_have_text("lena")

    phone = open_browser(user_agent="Mozilla/5.0 (iPhone) Version/18.0 Safari/604.1")
    phone.goto(f"{origin}/sign-in/?next=/account/")
    fill_account_form(phone, "lena", button="Sign in")
    expect(phone.locator("main")).to_contain_text("Safari on iPhone")
    check_page(phone)
    lena.locator("summary").filter(has_text="lena").press("Enter")
    lena.get_by_role("link", name="Your account").press("Enter")
    lena.get_by_role("button", name="Sign out Safari on iPhone").press("Enter")
    expect(lena.locator("#messages")).to_contain_text("Safari on iPhone is signed out.")
    phone.reload()
    expect(phone).to_have_url(re.compile("/sign-in/"))

    for _ in range(5):
        phone.get_by_label("User name").fill("lena")
        phone.get_by_label("Password").fill("wrong")
        phone.get_by_label("Password").press("Enter")
        phone.wait_for_load_state()
    expect(phone.locator("main")).to_contain_text("Try again in 15 minutes")
    check_page(phone)
    admin.goto(f"{origin}/operations/users/")
    check_page(admin)
    admin.get_by_role("button", name="Unlock").press("Enter")
    expect(admin.locator("#messages")).to_contain_text("lena can try to sign in again now.")

    admin.goto(f"{origin}/operations/tokens/")
    admin.get_by_label("Purpose").fill("nightly")
    admin.get_by_label("Purpose").press("Enter")
    check_page(admin)
    admin.get_by_role("link", name="Back to tokens").click()
    check_page(admin)
    admin.goto(f"{origin}/operations/audit/")
    check_page(admin)
    for words in ("invited", "accepted", "signed in", "was locked out", "unlocked", "signed out a browser"):
        expect(admin.locator("[data-rows] tbody")).to_contain_text(words)
    admin.locator(".boxes > summary").click()
    admin.locator("select[name=action]").select_option("invited")  # filters at once: a click as well would ask twice
    expect(admin.locator("[data-rows] tbody tr")).to_have_count(1)
    admin.locator(".chip").press("Enter")
    expect(admin).to_have_url(f"{origin}/operations/audit/?")
    admin.goto(f"{origin}/operations/audit/?action=labelled")
    expect(admin.locator("main")).to_contain_text("No matches for these filters")
    check_page(admin)
    # Browsers log answers with 409, 422 and 429 themselves.
    assert [words for words in open_browser.complaints if "Failed to load resource" not in words] == []


def test_forms_lead_back_to_their_pages(tmp_path, browser, migrated):
    home, complaints = Home.copied(migrated, tmp_path / "store"), []
    address = home.serve("--no-watch").address()
    page = browser.new_context(reduced_motion="reduce").new_page()
    listen(page, complaints)
    page.goto(address + json.loads(home.python(PREPARE)))
    for field in page.locator("main input[type=password]").all():
        field.fill(PASSWORD)
    page.locator("main form button").first.click()
    page.wait_for_url(f"{address}/")

    def sign_in_again():
        expect(page).to_have_url(re.compile("/sign-in/"))
        page.get_by_label("User name").fill("ann")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")

    # A form that HTMX sends, on a page of an agent.
    page.goto(f"{address}/agents/ada/gate/d1/?decision=UPDATE_USER")
    button = page.locator("#decision-verdict [value=right]")
    expect(button).to_be_visible()
    page.context.clear_cookies(name="openclaw_web_session")
    button.click()
    sign_in_again()
    expect(page).to_have_url(f"{address}/agents/ada/gate/d1/?decision=UPDATE_USER")
    expect(page.locator("#decision-verdict")).to_contain_text("Nobody has judged this decision.")

    # A form that the browser sends itself.
    page.goto(f"{address}/account/")
    page.context.clear_cookies(name="openclaw_web_session")
    page.locator("main").get_by_role("button", name="Sign out everywhere").click()
    sign_in_again()
    expect(page).to_have_url(f"{address}/account/")
    assert not complaints
    home.close()
