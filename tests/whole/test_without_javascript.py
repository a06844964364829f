"""Every page works in a browser without JavaScript."""

from dataclasses import replace

import pytest

from tests.suite.sources import fail_for
from tests.whole.pages import BEFORE_SIGN_IN, PAGES
from tests.whole.test_accessibility import KINDS

pytestmark = [pytest.mark.browser, pytest.mark.kill]

# The visible content of a page. `waits`: elements that need a script, but for those that poll, because a reload shows
# the same; `mute`: forms without a submit button.
LOOK = """() => {
    const main = document.querySelector("main");
    const seen = (element) => element.checkVisibility({ visibilityProperty: true });
    const begun = (elements) => elements.map((element) => element.outerHTML.slice(0, 160));
    const all = (what, within = document) => [...within.querySelectorAll(what)];
    const asks = "[hx-get], [hx-post], [hx-put], [hx-delete], [aria-busy=true], .htmx-indicator";
    const works = (element) => element.matches("form, a[href], [hx-trigger=poll]") || element.form;
    const submits = (element) => element.type === "submit" || element.type === "image";
    return {
        headings: all("h1").filter(seen).map((heading) => heading.innerText),
        text: all("main > *").filter((element) => !element.matches(".page-head")).map((e) => e.innerText).join(" "),
        waits: begun(all(asks, main).filter((element) => seen(element) && !works(element))),
        mute: begun(all("form").filter((form) => ![...form.elements].some(submits))),
    };
}"""


def find_problems(tab, page, complaints):
    """Yield the problems of a page without JavaScript."""
    complaints.clear()
    answer = tab.goto(page.address)
    look = tab.evaluate(LOOK)
    if answer.status != 200:
        yield f"{page.route}  answers {answer.status}"
    if len(look["headings"]) != 1 or not look["headings"][0].startswith(page.heading):
        yield f"{page.route}  has the headings {look['headings']}, not {page.heading!r}"
    if not look["text"].strip():
        yield f"{page.route}  says nothing below its heading"
    yield from (f"{page.route}  needs a script: {element}" for element in look["waits"])
    yield from (f"{page.route}  has a form without a button that sends it: {form}" for form in look["mute"])
    yield from (f"{page.route}  the browser complains: {complaint}" for complaint in complaints)


def test_every_page_works_without_javascript(full, pytestconfig):
    """In every run a page of each kind; all with --nightly."""
    chosen = [page for name, page in PAGES.items() if name in KINDS or pytestconfig.getoption("nightly")]
    tab, stranger = full.plain_tabs()
    pages = [replace(page.filled(full.facts), address=full.address + page.place(full.facts)) for page in chosen]
    tabs = [stranger if page.route in BEFORE_SIGN_IN else tab for page in pages]
    fail_for(
        problem for page, own in zip(pages, tabs, strict=True) for problem in find_problems(own, page, full.complaints)
    )
