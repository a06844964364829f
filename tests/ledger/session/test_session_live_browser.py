"""A line appended to a transcript appears on the open page, in a real browser.

`serve` and its watcher run as in use.
"""

import pytest
from playwright.sync_api import expect

from tests.homes import Home, assistant, result, user
from tests.ledger.browser_site import Site
from tests.ledger.transcript_records import working_turns

pytestmark = [pytest.mark.browser, pytest.mark.kill]
HIDE = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => window.isHidden === true});"


@pytest.fixture
def openclaw(tmp_path):
    return Home(tmp_path / "openclaw")


@pytest.fixture
def script(openclaw):
    """A transcript that is longer than the window."""
    return openclaw.transcript(*working_turns(12))


@pytest.fixture
def site(tmp_path, openclaw, script, page, migrated):
    page.add_init_script(HIDE)
    made = Site(tmp_path, openclaw, page, migrated)
    page.goto(made.wait_for_session(script.session))
    expect(page.locator("section.turn")).to_have_count(13)
    yield made
    made.home.close()


def polls(page):
    """Return a list that collects the address of every poll from now on."""
    seen = []
    page.on("request", lambda request: seen.append(request.url) if "/live/?" in request.url else None)
    return seen


def test_records_arrive_and_nothing_moves(site, script, page):
    page.keyboard.press("n")
    page.keyboard.press("n")
    focused = page.evaluate("document.activeElement.textContent")
    before = page.evaluate("window.scrollY")
    script.add(assistant("", ("late", "exec", {"command": "ls late"})))
    expect(page.locator("#r-r49")).to_be_attached()
    expect(page.locator("#announce")).to_have_text("1 new record")
    script.add(result("late", "late output"), user("And who are you?"), assistant("Your agent."))
    expect(page.locator("#r-r52")).to_be_attached()
    assert page.locator("#r-r49 #r-r50").count() == 1
    assert page.locator("section#t-12 article").last.get_attribute("id") == "r-r49"
    expect(page.locator("section.turn")).to_have_count(14)
    expect(page.locator("#session-note")).to_contain_text("13 turns, 53 records")
    assert page.evaluate("document.activeElement.textContent") == focused
    assert page.evaluate("window.scrollY") == before
    below = page.locator("[data-live-new]")
    expect(below).to_be_visible()
    below.click()
    expect(below).to_be_hidden()
    site.check()


def test_a_record_that_got_its_result_keeps_focus_and_open_folds(site, script, page):
    script.add(assistant("", ("late", "exec", {"command": "ls late"})))
    call = page.locator("#r-r49 details.call")
    expect(call).to_be_attached()
    call.locator("summary").click()
    script.add(result("late", "late output"))
    expect(page.locator("#r-r50")).to_be_visible()
    expect(page.locator("#r-r49 details.call")).to_have_attribute("open", "")
    assert page.evaluate("document.activeElement.closest('article').id") == "r-r49"
    site.check()


def test_a_hidden_tab_asks_nothing_until_it_is_seen_again(site, script, page):
    seen = polls(page)
    page.wait_for_event("response", lambda response: "/live/?" in response.url)
    page.evaluate("window.isHidden = true; document.dispatchEvent(new Event('visibilitychange'))")
    script.add(user("Are you there?"))
    with page.expect_response(lambda response: "/live/?" in response.url and response.status == 200):
        page.request.get(page.url)  # the site answers; the page does not ask
        page.evaluate("new Promise((done) => setTimeout(done, 2500))")  # two polls long
        poll_count = len(seen)
        assert page.locator("#r-r49").count() == 0
        page.evaluate("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    assert len(seen) - poll_count <= 2
    expect(page.locator("#r-r49")).to_be_attached()
    site.check()


def test_keys_walk_through_turns_errors_calls_and_pages(site, script, page):
    focused = "document.activeElement.closest('section.turn').id"
    page.keyboard.press("n")
    assert page.evaluate(focused) == "t-1"
    page.keyboard.press("t")
    assert page.evaluate("document.activeElement.matches('.call > summary')")
    page.keyboard.press("n")
    page.keyboard.press("p")
    assert page.evaluate(focused) == "t-1"
    page.keyboard.press("f")
    expect(page.get_by_label("Words", exact=True)).to_be_focused()
    page.keyboard.type("question 7")
    page.keyboard.press("Enter")
    expect(page.locator("article.record")).to_have_count(1)
    page.locator(".record__gutter").click()
    expect(page.locator("#r-r25")).to_be_in_viewport()
    page.locator("#map a[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "after=" in address)
    page.keyboard.press("Shift+G")
    page.wait_for_url(lambda address: address.endswith("#end"))
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Next and previous compaction")
    site.check()
