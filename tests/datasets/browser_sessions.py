"""A browser with a signed-in user on a running site."""

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
def open_page(migrated, tmp_path, browser, prepare):
    """Open a signed-in page on a running site that the script `prepare` has filled.

    The script prints a JSON list whose first item is the user's invitation link. Yields the page, the address of the
    site and the rest of the list. Afterwards the browser must have logged no complaints.
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
