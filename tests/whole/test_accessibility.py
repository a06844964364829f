"""Checks pages in a browser: layout, keys, and axe-core in both themes, on desktop and phone.

One site has demonstration data, one is new; both use one browser. A page of each kind is checked in every run;
--nightly checks all pages, also in Chinese and on the new site.
"""

from importlib import resources

import pytest

from tests.suite.sources import fail_for
from tests.whole.conftest import DESK
from tests.whole.pages import BEFORE_SIGN_IN, PAGES
from tests.whole.test_keys import find_key_problems

pytestmark = [pytest.mark.browser, pytest.mark.kill]

WIDE, PHONE = ({"width": width, "height": 900} for width in (1440, 390))
SIZES = dict.fromkeys(("gate:replay_detail", "gate:statistics"), (DESK, WIDE, PHONE))  # tables beside panels
# A page of each kind: lists, things, forms, figures, files, links.
KINDS = {
    *("datasets:export_list", "datasets:review", "gate:statistics", "guardian:audit_detail", "guardian:file_detail"),
    *("ledger:session_detail", "ledger:session_list", "overview:overview", "people:sign_in"),
}
FAILURES = {
    "404": "/nowhere/",
    "404 of an agent": "/agents/nobody/sessions/",
    "409": "/agents/?from=yesterday",
    "400": "/agents/main/sessions/?format=xml",
    "404 of an artifact": "/agents/main/artifacts/x/",
    "422 of an artifact": "/agents/main/artifacts/{artifact}/?mode=grep&pattern=(",
    "expired link": "/welcome/this-was-used/",
}
# The page of tests/components shows both themes beside each other, so it has every landmark twice.
BOTH_AT_ONCE = "components"
NOT_ASKED = {BOTH_AT_ONCE: {"landmark-unique"}}
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()
RUN_AXE = """(rules) => {
    const options = { resultTypes: ["violations"], selectors: false, preload: false };
    if (rules) options.runOnly = rules;
    const describe = (v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200), v.nodes[0].failureSummary];
    return axe.run(document, options).then((results) => results.violations.map(describe));
}"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDEST = """() => [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3)
    .map((e) => e.outerHTML.slice(0, 160))"""
SPILLING = """() => [...document.querySelectorAll(".table-wrap")]
    .filter((wrap) => wrap.querySelector("table").scrollWidth > wrap.clientWidth + 1).slice(0, 3)
    .map((wrap) => wrap.innerText.slice(0, 160))"""
OVERLAPPING = """() => [...document.querySelectorAll(".split > *")]
    .flatMap((part) => [part, ...part.querySelectorAll("table")].map((e) => [part, e.getBoundingClientRect()]))
    .filter(([part, box]) => [...part.parentElement.children].some((other) => {
        const otherBox = other.getBoundingClientRect();
        return other !== part && Math.min(box.right, otherBox.right) - Math.max(box.left, otherBox.left) > 1
            && Math.min(box.bottom, otherBox.bottom) - Math.max(box.top, otherBox.top) > 1;
    })).slice(0, 3).map(([part]) => part.innerText.slice(0, 160))"""
UNSEEN_FOCUS = """() => {
    const focused = document.activeElement;
    const style = getComputedStyle(focused);
    const shows = style.outlineStyle !== "none" || style.boxShadow !== "none" || focused.closest("svg");
    return shows || focused === document.body ? null : focused.outerHTML.slice(0, 160);
}"""


def find_page_problems(site, name, address, *, is_failure=False):
    """Everything that is wrong with a page, in both themes and two sizes."""
    page = site.stranger if name in BEFORE_SIGN_IN else site.page
    return find_tab_problems(site, page, name, address, choose_looks(name), is_failure=is_failure)


def choose_looks(name):
    """All rules for the light theme; for the dark one only contrast, which may differ."""
    return {"light": None} if name == BOTH_AT_ONCE else {"light": None, "dark": ["color-contrast"]}


def find_tab_problems(site, page, name, address, looks, *, is_failure=False):
    """Everything that is wrong with a page in this tab.

    `looks` has the axe rules for each theme; None stands for all rules.
    """
    site.complaints.clear()
    page.goto(site.address + address)
    faults = [*find_heading_problems(page), *find_unseen_focus(page)]
    page.evaluate(AXE)
    skipped = NOT_ASKED.get(name, set())
    for size in SIZES.get(name, (DESK, PHONE)):
        page.set_viewport_size(size)
        for theme, rules in looks.items():
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            violations = page.evaluate(RUN_AXE, rules)
            faults += [(size["width"], theme, *violation) for violation in violations if violation[0] not in skipped]
        faults += find_layout_problems(page, size)
    page.set_viewport_size(DESK)
    # Chromium itself reports an answer that is no success.
    complaints = [text for text in site.complaints if not (is_failure and "Failed to load resource" in text)]
    return map(str, [*faults, *complaints])


def find_layout_problems(page, size):
    if page.evaluate(WIDER) > 0:
        yield size["width"], "scrolls sideways", page.evaluate(WIDEST)
    yield from ((size["width"], "a table is wider than its panel", excerpt) for excerpt in page.evaluate(SPILLING))
    yield from ((size["width"], "panels overlap", excerpt) for excerpt in page.evaluate(OVERLAPPING))


def find_heading_problems(page):
    if (count := page.locator("h1").count()) != 1:
        yield f"{count} h1"
    if not page.title().split(" · ")[0].strip():
        yield "no title"


def find_unseen_focus(page):
    for _step in range(8):
        page.keyboard.press("Tab")
        if unseen := page.evaluate(UNSEEN_FOCUS):
            yield f"focus cannot be seen: {unseen}"


def test_every_page_fits_a_phone_shows_the_focus_and_lists_its_keys(full, pytestconfig):
    faults = []
    for name in PAGES if pytestconfig.getoption("nightly") else KINDS:
        page = full.stranger if name in BEFORE_SIGN_IN else full.page
        full.complaints.clear()
        page.set_viewport_size(DESK)
        page.goto(full.address + PAGES[name].place(full.facts))
        problems = [*find_heading_problems(page), *find_unseen_focus(page)]
        problems += [] if name in BEFORE_SIGN_IN else find_key_problems(page)
        page.set_viewport_size(PHONE)
        problems += [*find_layout_problems(page, PHONE), *full.complaints]
        page.set_viewport_size(DESK)
        faults += [f"{name}  {problem}" for problem in problems]
    fail_for(faults)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in KINDS else pytest.mark.nightly) for name in PAGES]
)
def test_page(full, name):
    fail_for(find_page_problems(full, name, PAGES[name].place(full.facts)))


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAGES)
def test_page_in_chinese(full, name):
    page = full.stranger_in_chinese if name in BEFORE_SIGN_IN else full.in_chinese
    fail_for(find_tab_problems(full, page, name, PAGES[name].place(full.facts), choose_looks(name)))
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"


EMPTY_AT_FIRST = [name for name, page in PAGES.items() if page.address.startswith("/") and "{" not in page.address]


@pytest.mark.nightly
@pytest.mark.parametrize("name", EMPTY_AT_FIRST)
def test_page_of_a_new_site(new, name):
    fail_for(find_page_problems(new, name, PAGES[name].address))


@pytest.mark.nightly
@pytest.mark.parametrize("failure", FAILURES)
def test_failure(full, failure):
    fail_for(find_page_problems(full, failure, FAILURES[failure].format(**full.facts), is_failure=True))


def test_a_chart_has_one_tab_stop_and_arrows(full):
    page = full.page
    page.goto(full.address)
    chart = page.locator(".chart__svg").first
    points, stops = chart.locator(".chart__point"), chart.locator('.chart__point[tabindex="0"]')
    points.last.focus()
    page.keyboard.press("ArrowLeft")
    before = points.nth(points.count() - 2)
    assert before.evaluate("point => point === document.activeElement")
    assert before.locator(".chart__tip").is_visible() and not points.last.locator(".chart__tip").is_visible()
    page.keyboard.press("Home")
    assert points.first.evaluate("point => point === document.activeElement")
    assert stops.count() == 1
