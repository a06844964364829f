"""Every component in a real browser, with the styles and scripts of a running site."""

import pytest

from tests.components.page import STYLES
from tests.test_architecture import fail_for
from tests.whole.conftest import new  # noqa: F401
from tests.whole.test_accessibility import BOTH_AT_ONCE, find_page_problems

pytestmark = [pytest.mark.browser, pytest.mark.kill, pytest.mark.django_db, pytest.mark.urls("tests.components.urls")]


def test_nothing_is_wrong_with_any(new, as_admin):  # noqa: F811
    """The page, which only tests have, replaces a response of the site."""
    address, text = "/components/", as_admin.get("/components/").text
    new.page.route(f"**{address}", lambda route: route.fulfill(body=text, content_type="text/html"))
    new.page.route("**/components.css", lambda route: route.fulfill(path=STYLES))
    fail_for(find_page_problems(new, BOTH_AT_ONCE, address))
