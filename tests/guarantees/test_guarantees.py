"""The list of guarantees fits the code: each fault applies at one place, and each test exists.

`python -m tests.guarantees` plants the faults and runs the tests.
"""

from pathlib import Path

from tests.guarantees.catalogue import ROOT, OutOfDate, read_guarantees


def test_every_fault_applies_and_every_test_exists():
    problems = []
    for guarantee in read_guarantees():
        for check in (guarantee.locate_fault, guarantee.check_test):
            try:
                check()
            except OutOfDate as exc:
                problems.append(str(exc))
    assert not problems, "\n".join(problems)


def test_every_guarantee_is_promised_on_a_page_that_exists():
    assert [g.number for g in read_guarantees() if not (ROOT / Path(g.docs)).is_file()] == []


def test_no_fault_is_listed_twice():
    guarantees = read_guarantees()
    assert len({(g.file, g.find, g.replace) for g in guarantees}) == len(guarantees)
    assert all(g.find != g.replace for g in guarantees)
