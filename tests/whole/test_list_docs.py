"""The tables of docs/lists.md agree with the lists: addresses, filters, orders, columns.

Words in brackets explain a name and are no part of it. Names in a table are in the order of the declaration.
"""

import re

import pytest

from openclaw_web.lists.declaration import find_lists
from tests.suite.sources import MODULES, ROOT, fail_for
from tests.test_query_plans import IDS, PAGES

pytestmark = pytest.mark.django_db
PAGE = ROOT / "docs" / "lists.md"
NAMES = re.compile(r"`([^`]+)`")
BRACKETS = re.compile(r"\([^)]*\)")
EXAMPLE = re.compile(r"^```(?:python\n#|jinja\n\{#) (\S+)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
NO_FILTERS = ("sort", "format")


def read_table(*head):
    """The rows of the table with this head, as lists of cells without text in brackets."""
    _before, _head, rest = PAGE.read_text().partition(f"| {' | '.join(head)} |\n")
    assert rest, f"docs/lists.md has no table with the head {head}"
    lines = rest.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in BRACKETS.sub("", line).strip("| ").split(" | ")] for line in lines]


def read_documented_lists():
    """{address in a test: (name, filters, orders)} of the lists in docs/lists.md."""
    rows = read_table("list", "address", "filters", "orders")
    return {
        address.strip("`").replace("<agent>", "ada").replace("<scope>", IDS["scope"]): (
            name,
            NAMES.findall(filters),
            NAMES.findall(orders),
        )
        for name, address, filters, orders in rows
    }


def build_list_address(on):
    """The address of a list, with its required parameters."""
    form = find_lists()[on].filters
    return PAGES[on] + "".join(f"?{name}={IDS[name]}" for name in form.PLACE)


def read_declared_names(on):
    """The names of the filters of a list, and of its orders."""
    form = find_lists()[on].filters()
    left_out = (*NO_FILTERS, *form.PLACE)
    return [name for name in form.fields if name not in left_out], list(form.ORDERS)


def find_differences(on, part, documented, actual):
    if documented != actual:
        yield f"docs/lists.md, {on}: the {part} are {', '.join(f'`{name}`' for name in actual)}"


def test_every_list_is_shown():
    declared = {name for path in MODULES for name in re.findall(r'^    on="(\w+)",$', path.read_text(), re.MULTILINE)}
    assert declared == find_lists().keys(), "a list is shown by a view, which says so with @shows"


def test_every_list_is_told():
    assert set(read_documented_lists()) == set(map(build_list_address, find_lists()))
    assert [name for name, _columns in read_table("list", "columns")] == [
        name for name, *_rest in read_documented_lists().values()
    ]


def test_filters_and_orders_are_told():
    problems = []
    for on in find_lists():
        (_name, filters, orders), (true_filters, true_orders) = (
            read_documented_lists()[build_list_address(on)],
            read_declared_names(on),
        )
        problems += [
            *find_differences(on, "filters", filters, true_filters),
            *find_differences(on, "orders", orders, true_orders),
        ]
    fail_for(problems)


def test_the_columns_of_files_are_told(as_admin, ada):
    columns, problems = dict(read_table("list", "columns")), []
    for on in find_lists():
        address = build_list_address(on)
        answer = as_admin.get(f"{address}{'&' if '?' in address else '?'}format=csv")
        head = answer.getvalue().decode("utf-8-sig").splitlines()[0]
        name = read_documented_lists()[address][0]
        *own, last = head.split(",")
        assert last == "long_cells"  # documented once for all lists
        problems += find_differences(on, "columns", NAMES.findall(columns[name]), own)
    fail_for(problems)


def test_what_is_shown_of_a_list_is_its_code():
    """Each example line stands in the module that it names; `…` stands for omitted lines."""
    problems = []
    for name, example in EXAMPLE.findall(PAGE.read_text()):
        lines = (ROOT / name).read_text().splitlines()
        missing = [line for line in example.splitlines() if line.strip(" …") and line not in lines]
        problems += [f"docs/lists.md shows what {name} does not say: {line}" for line in missing]
    fail_for(problems)
    assert PAGE.read_text().count("```") == 2 * len(EXAMPLE.findall(PAGE.read_text()))
