"""Keyboard keys: `?` lists exactly those that work, `/` opens the search.

test_accessibility.py asks every page for its keys.
"""

import pytest
from playwright.sync_api import expect

from tests.whole.pages import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.kill]

ROW_KEYS = {"j", "k", "Enter"}
ARROWS = {"ArrowLeft": "←", "ArrowRight": "→"}
# The keys that a page lists, the keys of its controls, and whether it has rows, jumps, changes and a search.
FACTS = """() => {
    const listed = [...document.querySelectorAll("#keys dt")].filter((term) => term.checkVisibility());
    const keys = (term) => [...term.querySelectorAll("kbd")].map((key) => key.textContent);
    const controls = [...document.querySelectorAll("[data-key]")];
    return {
        listed: listed.map(keys),
        pressed: controls.flatMap((control) => control.dataset.key.split(" ")),
        ofRows: [...document.querySelectorAll("[data-rows] [data-row-key]")].map((control) => control.dataset.rowKey),
        rows: document.querySelectorAll("[data-rows] > :not(thead) a[href]").length,
        jumps: document.querySelectorAll("#transcript .turn[id], #transcript .call").length,
        panel: Boolean(document.getElementById("panel")),
        hunks: document.querySelectorAll("[data-hunk]").length,
        search: [...document.querySelectorAll("main input[type=search]")].some((field) => field.checkVisibility()),
    };
}"""


@pytest.fixture
def page(full):
    return full.page


def find_key_problems(page):
    # Parts that arrive later have keys of their own.
    expect(page.locator(".htmx-request, [hx-trigger=load][hx-swap=outerHTML]")).to_have_count(0)
    page.get_by_role("button", name="Keys on this page").click()
    facts = page.evaluate(FACTS)
    page.keyboard.press("Escape")
    pressed = {ARROWS.get(key, key) for key in facts["pressed"] if key}
    jumps = set("npeEcCtT") if facts["jumps"] else set()
    jumps |= set("np") if facts["hunks"] else set()
    does = pressed | jumps | set(facts["ofRows"]) | (ROW_KEYS if facts["rows"] else set())
    does |= {"o", "Esc"} if facts["panel"] else set()
    yield from (f"lists {keys}, which do nothing" for keys in facts["listed"] if not does & set(keys))
    listed = {key for keys in facts["listed"] for key in keys}
    yield from (f"does not list {key}" for key in pressed - listed)
    if facts["rows"]:
        yield from (f"does not list {key} for its rows" for key in ROW_KEYS - listed)
    if facts["search"]:
        key = "/" if page.locator("main input[data-find]").count() else "f"  # the search has that of the top line
        page.keyboard.press(key)
        focused = page.evaluate("document.activeElement.matches('main input[type=search]')")
        if not focused:
            yield f"has a search field that {key} does not lead to"


def test_a_page_without_rows_lists_no_keys_of_rows(full, page):
    page.goto(full.address + PAGES["people:settings"].address)
    page.keyboard.press("?")
    assert page.locator("#keys dt:visible").all_inner_texts() == ["/", "f", "?"]


def test_the_key_of_the_search_shows_a_field_that_is_folded_away(full, page):
    page.goto(f"{full.address}/agents/main/artifacts/{full.facts['artifact']}/")
    pattern = page.get_by_label("Pattern", exact=True)
    assert not pattern.is_visible()
    page.keyboard.press("f")
    assert pattern.is_visible() and pattern.evaluate("field => field === document.activeElement")
    page.keyboard.type("/?j")  # whoever types presses no keys of the page
    assert pattern.input_value() == "/?j" and not page.locator("#keys").is_visible()


def test_what_is_folded_away_opens(full, page):
    page.goto(full.address + PAGES["ledger:session_detail"].place(full.facts))
    page.keyboard.press("f")
    assert page.locator("#id_find").evaluate("field => field === document.activeElement")
    page.locator("h1").click()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.matches('.turn h2 a')")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.matches('[data-rows] a')")


def test_n_and_p_go_through_the_changes_of_a_diff(full, page):
    page.goto(full.address + PAGES["guardian:audit_detail"].place(full.facts))
    for key, place in (("n", 1), ("n", 2), ("n", 2), ("p", 1)):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.getAttribute('href')") == f"#hunk-{place}"
