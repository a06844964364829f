"""Two running sites for all browser tests: one with demonstration data, one new."""

import json
import re

import pytest

from tests.complaints import listen
from tests.processes import Home

DESK = {"width": 1280, "height": 900}
SESSION = "openclaw_web_session"


class Site:
    """A running `serve` with a signed-in browser tab and a stranger's tab.

    `facts` are the values that fill the addresses of pages.
    """

    def __init__(self, home, browser, link, facts):
        self.facts, self.browser = facts, browser
        self.address = home.serve("--no-watch").address()
        self.complaints = []
        self.stranger = self.tab()
        self.page = self.tab()
        self.page.goto(self.address + link)
        self.page.locator("main form button").first.click()
        self.page.wait_for_url(f"{self.address}/")
        self.in_chinese = self.tab(locale="zh-CN", storage_state=self.page.context.storage_state())
        self.stranger_in_chinese = self.tab(locale="zh-CN")

    def tab(self, **options):
        page = self.browser.new_context(viewport=DESK, color_scheme="light", **options).new_page()
        listen(page, self.complaints)
        return page

    def plain_tabs(self):
        """Two tabs without JavaScript: one signed in, one of a stranger."""
        page, stranger = (self.tab(java_script_enabled=False) for _ in range(2))
        cookies = self.page.context.cookies()
        page.context.add_cookies([cookie for cookie in cookies if cookie["name"] == SESSION])
        return page, stranger


@pytest.fixture(scope="session")
def full(tmp_path_factory, browser):
    """A site with demonstration data."""
    home = Home(tmp_path_factory.mktemp("full") / "home")
    home.env["OPENCLAW_STATE_DIR"] = str(home.path.parent / "openclaw")
    demo = home.start("demo", "--no-serve")
    assert demo.end() == 0, demo.said
    link = re.search(r"http://[^/]+(/welcome/\S+)", demo.said)[1]
    facts = home.python("from tests.whole.demo_site import add_facts; print(add_facts())")
    yield Site(home, browser, link, json.loads(facts))
    home.close()


@pytest.fixture(scope="session")
def new(tmp_path_factory, browser, migrated):
    """A site with one user and no data."""
    home = Home.copied(migrated, tmp_path_factory.mktemp("new") / "home")
    command = home.start("create_user", "ada", "--role", "admin")
    assert command.end() == 0, command.said
    yield Site(home, browser, re.search(r"http://[^/]+(/\S+)", command.said)[1], {})
    home.close()
