"""The tables of docs/lists.md against the lists themselves: addresses, filters, orders, and the columns of files.

Words in brackets explain a name and are no part of it. What stands in a table is in the order of the declaration.
"""

import re

import pytest

from openclaw_web.lists.declaration import find_lists
from tests.suite.sources import MODULES, ROOT, fail_for
from tests.whole.pages import LISTS

pytestmark = pytest.mark.django_db
PAGE = ROOT / "docs" / "lists.md"
NAMES = re.compile(r"`([^`]+)`")
BRACKETS = re.compile(r"\([^)]*\)")
EXAMPLE = re.compile(r"^```(?:python\n#|jinja\n\{#) (\S+)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
NO_FILTERS = ("sort", "format")


def table(*head):
    """The rows of the table with this head, as lists of cells without what stands in brackets."""
    _before, _head, rest = PAGE.read_text().partition(f"| {' | '.join(head)} |\n")
    assert rest, f"docs/lists.md has no table with the head {head}"
    lines = rest.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in BRACKETS.sub("", line).strip("| ").split(" | ")] for line in lines]


def told_lists():
    """{address as a test asks for it: (name, filters, orders)} as the page says it."""
    rows = table("list", "address", "filters", "orders")
    return {
        address.strip("`").replace("<agent>", "ada"): (name, NAMES.findall(filters), NAMES.findall(orders))
        for name, address, filters, orders in rows
    }


def address_of(on):
    """Where a list is, with the fields that say which one."""
    form = find_lists()[on].filters
    return LISTS[on].place({"agent": "ada"}) + "".join(f"?{name}=ada" for name in form.PLACE)


def declared(on):
    """The names of the filters of a list, and those of its orders."""
    form = find_lists()[on].filters()
    left_out = (*NO_FILTERS, *form.PLACE)
    return [name for name in form.fields if name not in left_out], list(form.ORDERS)


def wrong(on, what, told, true):
    if told != true:
        yield f"docs/lists.md, {on}: the {what} are {', '.join(f'`{name}`' for name in true)}"


def test_every_list_is_shown():
    declared = {name for path in MODULES for name in re.findall(r'^    on="(\w+)",$', path.read_text(), re.MULTILINE)}
    assert declared == find_lists().keys(), "a list is shown by a view, which says so with @shows"


def test_every_list_is_told():
    assert set(told_lists()) == set(map(address_of, find_lists()))
    assert [name for name, _columns in table("list", "columns")] == [name for name, *_rest in told_lists().values()]


def test_filters_and_orders_are_told():
    problems = []
    for on in find_lists():
        (_name, filters, orders), (true_filters, true_orders) = told_lists()[address_of(on)], declared(on)
        problems += [*wrong(on, "filters", filters, true_filters), *wrong(on, "orders", orders, true_orders)]
    fail_for(problems)


def test_the_columns_of_files_are_told(as_admin, ada):
    columns, problems = dict(table("list", "columns")), []
    for on in find_lists():
        address = address_of(on)
        answer = as_admin.get(f"{address}{'&' if '?' in address else '?'}format=csv")
        head = answer.getvalue().decode("utf-8-sig").splitlines()[0]
        name = told_lists()[address][0]
        *own, last = head.split(",")
        assert last == "long_cells"  # told once, of all of them
        problems += wrong(on, "columns", NAMES.findall(columns[name]), own)
    fail_for(problems)


def test_what_is_shown_of_a_list_is_its_code():
    """Each line stands in the module that the example names, but for `…`, which stands for what is left out."""
    problems = []
    for name, shown in EXAMPLE.findall(PAGE.read_text()):
        lines = (ROOT / name).read_text().splitlines()
        missing = [line for line in shown.splitlines() if line.strip(" …") and line not in lines]
        problems += [f"docs/lists.md shows what {name} does not say: {line}" for line in missing]
    fail_for(problems)
    assert PAGE.read_text().count("```") == 2 * len(EXAMPLE.findall(PAGE.read_text()))
