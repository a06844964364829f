"""The number beside “Review” in the rail follows every act, in real browsers.

It follows the acts of other people and on other pages too.
"""

import pytest
from playwright.sync_api import expect

from tests.datasets.review.people import Person

pytestmark = pytest.mark.browser


def badge(page):
    return page.locator(".rail__count b[aria-hidden]")


def test_it_follows_verdicts_undo_and_bulk_acts(site, complaints):
    ann = Person(site, "ann", complaints)
    expect(badge(ann.page)).to_have_text("30")
    number = ann.page.locator(".review-top__numbers strong")
    # Approve, reject, skip, undo, and "needs review", which leaves its sample in the queue.
    for key, count in (("a", "29"), ("r", "28"), ("s", "27"), ("u", "28"), ("n", "28")):
        ann.press(key)
        expect(badge(ann.page)).to_have_text(count)
        expect(number).to_have_text(count)
    ann.page.goto(f"{site.address}/samples/s10/")
    ann.page.locator("button[name=status][value=approved]").click()
    expect(badge(ann.page)).to_have_text("27")
    ann.page.goto(f"{site.address}/samples/bulk/?verdict=approved&status=pending")
    ann.page.locator("main button[type=submit]").last.click()
    expect(badge(ann.page)).to_have_text("1")  # the one that needs a review
    ann.page.goto(f"{site.address}/review/")
    ann.page.keyboard.press("u")
    expect(badge(ann.page)).to_have_text("27")


def test_another_tab_follows_when_somebody_comes_back_to_it(site, complaints):
    ann = Person(site, "ann", complaints)
    other = ann.page.context.new_page()
    other.goto(f"{site.address}/exports/")
    expect(badge(other)).to_have_text("30")
    ann.press("a")
    ann.settled()
    other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(badge(other)).to_have_text("29")
