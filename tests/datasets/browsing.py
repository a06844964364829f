"""A browser of somebody who is signed in to a running site."""

import json
from contextlib import contextmanager

from tests.complaints import listen
from tests.processes import Home


def sign_in(page, address, link):
    """Follow the link of an invitation."""
    page.goto(address + link)
    page.locator("main form button").first.click()
    page.wait_for_url(f"{address}/")


@contextmanager
def opened(migrated, tmp_path, browser, prepare):
    """A page of somebody, the address of the site, and what the script `prepare` prints: a list, their link first.

    The browser has nothing to complain of.
    """
    home, complaints = Home.copied(migrated, tmp_path / "store"), []
    address = home.serve("--no-watch").address()
    link, *facts = json.loads(home.python(prepare))
    page = browser.new_context(reduced_motion="reduce").new_page()
    listen(page, complaints)
    sign_in(page, address, link)
    yield page, address, *facts
    assert not complaints
    home.close()
