"""Pages of the ledger in a real browser, on a desk and on a phone."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.complaints import listen
from tests.processes import Home

pytestmark = [pytest.mark.browser, pytest.mark.kill]
PHONE = {"width": 390, "height": 844}
PREPARE = """
from agents import services
from people.accounts import services as accounts
from tests.episodes.ledger_events import store_event
db = services.register("ada").db
for number in range(3):
    refs = {"toolCallId": f"k{number}"}
    store_event(db=db, event_id=f"u{number}", summary=f"bread {number} <script>alert(1)</script>")
    store_event(db=db, event_id=f"c{number}", type="tool.call", summary="exec", payload={"tool": "exec"}, refs=refs)
    store_event(db=db, event_id=f"r{number}", type="tool.result", summary="done", refs=refs)
store_event(db=db, event_id="other", scope="kitchen", summary="bread elsewhere")
print(accounts.add_user("root", "admin")[1])
"""
ADDRESSES = (
    "",
    "scope/?scope=global",
    "statistics/?scope=global",
    "retention/?scope=global&preview=1",
    "event/c1/?scope=global",
    "replay/s1/?scope=global",
    "redact/?scope=global&session_id=s1",
)


@pytest.fixture
def page(tmp_path, migrated, browser):
    """A tab of an admin on the scopes of an agent, without complaints at the end."""
    home = Home.copied(migrated, tmp_path / "store")
    link, complaints = home.python(PREPARE), []
    address = home.serve("--no-watch").address()
    context = browser.new_context(base_url=address, reduced_motion="reduce")
    tab = context.new_page()
    listen(tab, complaints)
    tab.goto(link)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url(f"{address}/")
    tab.goto("/agents/ada/episodes/")
    yield tab
    context.close()
    home.close()
    assert complaints == []


def test_from_the_scopes_to_a_redaction_and_its_proof(page):
    page.get_by_role("button", name="Create a proof").click()
    head = page.locator("code[id^=head-]").inner_text()
    assert re.fullmatch(r"10:[0-9a-f]{64}", head)
    page.get_by_role("link", name="global", exact=True).click()
    page.get_by_role("combobox", name="Filter").fill("bread")
    page.get_by_role("combobox", name="Filter").press("Enter")
    expect(page.locator("[data-rows] tbody tr")).to_have_count(3)
    expect(page.locator("tbody")).not_to_contain_text("elsewhere")
    page.locator("[data-rows] tbody td").first.get_by_role("link").click()
    page.get_by_role("link", name="s1", exact=True).click()
    expect(page.get_by_role("article")).to_have_count(9)
    page.get_by_role("link", name="Redact session").click()
    expect(page.get_by_role("heading", name="9 events will be redacted")).to_be_visible()
    page.get_by_role("button", name="Redact now").click()
    expect(page.locator("#messages")).to_contain_text("9 events were redacted.")
    expect(page.get_by_text("[REDACTED]")).to_have_count(9)
    page.goto("/agents/ada/episodes/")
    page.get_by_role("button", name="Check the ledger").click()
    expect(page.locator("#messages")).to_contain_text("Unchanged", timeout=120_000)
    page.get_by_role("link", name="kitchen").click()
    expect(page.locator("tbody")).to_contain_text("bread elsewhere")


def test_an_admin_switches_capture_and_sets_days(page):
    page.get_by_label("Capture events of this agent").check()
    page.get_by_role("button", name="Save capture").click()
    expect(page.locator("#capture")).to_contain_text("agent:ada")
    page.goto("/agents/ada/episodes/retention/?scope=global")
    page.get_by_label("tool.call").fill("7")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("tool.call")).to_have_value("7")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="A run now would remove")).to_contain_text("9 events")


def test_pages_fit_on_a_phone_and_are_accessible(page):
    for width, height in ((1280, 900), PHONE.values()):
        page.set_viewport_size({"width": width, "height": height})
        for address in ADDRESSES:
            page.goto(f"/agents/ada/episodes/{address}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
            results = Axe().run(page)
            assert results.violations_count == 0, (address, results.generate_report())
