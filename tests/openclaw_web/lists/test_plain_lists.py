"""Lists without filters: pages hold every row once, and invalid cursors are refused."""

import re

import pytest

from tests.test_query_plans import PLAIN_PAGES, ROWS, filled, rows  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db
NEXT = re.compile(r'href="(\?[^"]*)" rel="next"')


def table_rows(page):
    return re.findall(r"<tr>.*?</tr>", page.text.partition("<tbody")[2], re.DOTALL)


def test_every_row_is_on_one_page(rows):  # noqa: F811
    lists = {address: page for address in PLAIN_PAGES if NEXT.search((page := rows.get(address)).text)}
    assert len(lists) >= 8, "these pages have several parts"
    for address, page in lists.items():
        if page.text.count("<tbody") > 1:
            continue
        found_rows, path = table_rows(page), address.partition("?")[0]
        while onwards := NEXT.search(page.text):
            page = rows.get(path + onwards[1].replace("&amp;", "&"))
            found_rows += table_rows(page)
        assert len(found_rows) == len(set(found_rows)) > 50, address
        assert len(found_rows) <= ROWS, address
        nonsense = rows.get(f"{address}{'&' if '?' in address else '?'}after=nonsense")
        assert nonsense.status_code == 409, address
