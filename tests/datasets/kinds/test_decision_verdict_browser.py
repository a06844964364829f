"""Verdicts by keyboard in a real browser, on a decision's page and in a list."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.datasets import browser_sessions

pytestmark = [pytest.mark.browser, pytest.mark.kill]
PREPARE = """
import json
from agents import services
from people.accounts import services as accounts
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import store_decision, make_window
services.register("ada")
store_turns(3)
for number in (1, 2, 3):
    store_decision(f"d{number}", turn=f"s1:u{number}",
                   candidate_fact="<b>likes</b> <script>document.title='owned'</script>")
store_decision("loose", turn=None, session_id="channel:irc:al",
               window=make_window(("user", "I get up early."), reply="Noted."))
print(json.dumps(accounts.add_user("ann", "labeller")[1:2]))
"""


@pytest.fixture
def opened(tmp_path, browser, migrated):
    """A signed-in page on a site with three decisions."""
    with browser_sessions.open_page(migrated, tmp_path, browser, PREPARE) as page:
        yield page


def press(page, key):
    """Press a key, once a script has taken over its button."""
    page.wait_for_function("'htmx-internal-data' in document.querySelector('form:has([name=verdict])')")
    page.keyboard.press(key)


def test_a_decision_is_judged_by_keyboard(opened):
    page, address = opened
    page.goto(f"{address}/agents/ada/verdicts/d1/")
    place = page.locator("#decision-verdict")
    press(page, "r")
    expect(place.get_by_role("status")).to_have_text("Saved: right.")
    press(page, "1")
    expect(place.get_by_role("status")).to_have_text("Saved: wrong.")
    place.locator("summary").click()
    place.get_by_label("Decision").select_option("NO_WRITE")
    place.get_by_label("Why is it wrong?").fill("Said once.")
    place.locator("[value=wrong]").click()
    expect(place).to_contain_text("What would have been right")
    expect(place).to_contain_text("Said once.")
    place.locator("[value=undo]").click()
    expect(place).to_contain_text("Nobody has said what would have been right")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Right and wrong")
    page.keyboard.press("Escape")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        report = Axe().run(page)
        assert not report.response["violations"], report.generate_report()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert "owned" not in page.title()


def test_a_decision_without_a_turn_is_judged_by_keyboard_and_seen_in_review(opened):
    page, address = opened
    page.goto(f"{address}/agents/ada/verdicts/loose/")
    place = page.locator("#decision-verdict")
    press(page, "2")
    expect(place.get_by_role("status")).to_have_text("Saved: wrong.")
    page.goto(f"{address}/review/")
    sample = page.locator("#review-sample")
    expect(sample).to_contain_text("I get up early.")
    expect(sample).to_contain_text("Not found: judge the decision by what the gate saw")
    page.wait_for_function("() => performance.now() - shownAt > LOOK_MS")  # earlier presses are ignored
    page.keyboard.press("a")
    expect(page.locator("#main")).to_contain_text("Approved")


def test_a_row_is_judged_where_the_focus_is(opened):
    page, address = opened
    page.goto(f"{address}/agents/ada/gate/?segment=all")
    expect(page.locator("tr .row-verdict [data-row-key=r]")).to_have_count(4)
    rows = page.locator("[data-rows] tbody tr:has(.row-verdict)")
    page.keyboard.press("r")  # ignored: no row has the focus
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(rows.nth(1).locator(".row-verdict .badge")).to_have_text("Right")
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.keyboard.press("1")  # the reason
    expect(rows.nth(2).locator(".row-verdict .badge")).to_have_text("Wrong")
    expect(page.locator(".row-verdict .badge")).to_have_count(2)
    page.keyboard.press("u")
    expect(page.locator(".row-verdict .badge")).to_have_count(1)
    expect(page.locator("#last-verdict")).to_contain_text("Undone")


# Verdicts are sent when the test says so: `held` has those that wait, in the order of their keys. The page holds them
# itself: a browser that intercepts requests for a test sometimes tells of one never, on a machine with much to do.
HOLD = """() => {
    window.held = [];
    const { open, send } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.open = function (method, address, ...rest) {
        this.isVerdict = address.includes("/judge/");
        return open.call(this, method, address, ...rest);
    };
    XMLHttpRequest.prototype.send = function (body) {
        if (this.isVerdict && window.held) window.held.push(() => send.call(this, body));
        else send.call(this, body);
    };
}"""


def wait_for_held(page, count):
    """Wait until a page has tried to send `count` verdicts."""
    page.wait_for_function("count => held.length === count", arg=count)


def test_keys_wait_for_a_slow_answer_in_their_order(opened):
    page, address = opened
    page.goto(f"{address}/agents/ada/gate/?segment=all")
    expect(page.locator("tr .row-verdict [data-row-key=r]")).to_have_count(4)
    badges = page.locator(".row-verdict .badge")
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(badges).to_have_text(["Right"])
    page.evaluate(HOLD)
    page.keyboard.press("j")
    for key in "w1ur":  # before the first answer: “u” is meant for “w” with a reason, and not for the verdict before
        page.keyboard.press(key)
    # Another request that fails meanwhile (the number in the rail) keeps the waiting keys.
    page.evaluate("htmx.trigger(document.body, 'htmx:afterRequest', { successful: false, xhr: { status: 0 } })")
    for count in (1, 2, 3):
        wait_for_held(page, count)
        page.evaluate("held.at(-1)()")
    expect(badges).to_have_text(["Right", "Right"])
    page.keyboard.press("u")
    wait_for_held(page, 4)
    page.locator(".boxes > summary").click()
    page.locator("#id_decision").select_option("NO_WRITE")  # the row is gone when the answer comes
    expect(page.locator("[data-rows] tbody tr:has(.row-verdict)")).to_have_count(0)
    page.evaluate("held.at(-1)()")
    expect(page.locator("#last-verdict")).to_contain_text("Undone")
    page.evaluate("held = null")
    page.keyboard.press("u")  # also undoes a verdict on a row that was never on this page
    expect(page.locator("#last-verdict")).to_contain_text("Undone: “Approved” on “prefers mornings”.")
    expect(page.locator("#last-verdict [data-key=u]")).to_have_count(0)
