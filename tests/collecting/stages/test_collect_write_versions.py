"""Writes in the plugin's log find the versions before and after them.

Otherwise the page gives the reason.
"""

import pytest
from django.core.management import call_command
from django.db import connections
from django.test.utils import CaptureQueriesContext

from guardian import fact_evidence
from guardian.models import FileSnapshot, WriteGuardianAudit
from guardian.recording import snapshot_matching
from tests.collecting.collect_runs import MAIN, run
from tests.collecting.plugin_log import T0, log_write
from tests.collecting.stages.test_collect_writes import rows, write_memory_file

pytestmark = pytest.mark.django_db
NAME = "MEMORY.md"


@pytest.fixture
def home(place):
    return place[0]


def write(home, at, fact):
    log_write(home.root / "workspace", at, "UPDATE_MEMORY", fact)


def put_version(home, at, *lines):
    write_memory_file(home, "".join(f"{line}\n" for line in ("# Memory", *lines)), at, NAME)


def get_reported_rows():
    return rows().exclude(origin="unattributed")


def contents(row):
    return tuple(side and side.content for side in (row.before_snapshot, row.after_snapshot))


def test_an_import_between_two_writes_gives_each_its_before_and_after(home):
    put_version(home, T0)
    run(home)
    put_version(home, T0 + 60_000, "- Likes tea.")
    write(home, T0 + 60_200, "Likes  tea")
    run(home)
    put_version(home, T0 + 120_000, "- Likes tea.", "- Has a cat.")
    write(home, T0 + 120_300, "Has a cat.")
    assert run(home)["guardian"]["unattributed"] == 0
    first, second = rows()
    assert contents(first) == ("# Memory\n", "# Memory\n- Likes tea.\n")
    assert contents(second) == ("# Memory\n- Likes tea.\n", "# Memory\n- Likes tea.\n- Has a cat.\n")
    assert not (first.is_diff_shared or second.is_diff_shared)


@pytest.mark.parametrize("delay", [-5_000, 5_000])
def test_a_clock_that_is_off_by_seconds_moves_no_write_to_the_change_beside_it(home, delay):
    put_version(home, T0)
    run(home)
    put_version(home, T0 + 60_000, "* Likes tea.")
    run(home)
    put_version(home, T0 + 64_000, "* Likes tea.", "1. Has a cat.")
    run(home)
    write(home, T0 + 60_000 + delay, "likes tea")
    write(home, T0 + 64_001 + delay, "Has a cat")
    run(home)
    first, second = get_reported_rows()
    assert contents(first)[1] == "# Memory\n* Likes tea.\n"
    assert contents(second)[1] == "# Memory\n* Likes tea.\n1. Has a cat.\n"
    assert not rows().filter(origin="unattributed").exists()


def test_a_reworded_fact_lies_where_its_time_is(home):
    for at, lines in ((0, ()), (60_000, ("- Drinks tea in the morning.",)), (65_000, ("- Drinks tea.",))):
        put_version(home, T0 + at, *lines)
        run(home)
    write(home, T0 + 60_100, "The user likes tea.")
    run(home)
    assert contents(get_reported_rows().get())[1] == "# Memory\n- Drinks tea in the morning.\n"


def test_of_two_changes_that_fit_none_is_taken_and_everybody_is_told_why(home, as_operator, capsys):
    for at, lines in ((0, ()), (60_000, ("- Likes tea.",)), (64_000, ("- Likes tea.", "", "- Likes tea."))):
        put_version(home, T0 + at, *lines)
        run(home)
    write(home, T0 + 60_100, "Likes tea.")
    run(home)
    row = get_reported_rows().get()
    assert contents(row) == (None, None)
    assert_sentence(as_operator, capsys, row, "Several changes of MEMORY.md added the words of this fact")


def assert_sentence(client, capsys, row, sentence):
    assert sentence in client.get(f"/agents/main/writes/{row.id}/").text
    detail = client.get(f"/api/v1/agents/main/guardian/writes/{row.id}").json()
    assert detail["change_unknown"].startswith(sentence) and detail["diff"] is None
    capsys.readouterr()
    call_command("reflection", "guardian", "show", row.id, "--agent", "main")
    assert sentence in capsys.readouterr().out


def test_one_version_or_none_is_said_and_a_later_import_links_the_write(home, as_operator, capsys):
    write(home, T0 + 60_200, "Likes tea.")
    run(home)
    row = get_reported_rows().get()
    assert_sentence(
        as_operator, capsys, row, "No version of MEMORY.md is stored, so the change of this write is not known."
    )
    put_version(home, T0)
    run(home)
    assert_sentence(
        as_operator, capsys, row, "Only one version of MEMORY.md is stored, so the change of this write is not known."
    )
    put_version(home, T0 + 60_000, "- Likes tea.")
    run(home)
    row.refresh_from_db()
    assert contents(row) == ("# Memory\n", "# Memory\n- Likes tea.\n")
    detail = as_operator.get(f"/api/v1/agents/main/guardian/writes/{row.id}").json()
    assert detail["change_unknown"] is None and "+- Likes tea." in detail["diff"]
    page = as_operator.get(f"/agents/main/writes/{row.id}/").text
    assert "of this write is not known" not in page


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        (-60_000, "The first stored version of MEMORY.md is later than this write, so its change is not known."),
        (90_000, "No later version of MEMORY.md is stored yet, so the change of this write is not known."),
    ],
)
def test_outside_the_stored_versions_the_page_says_which_is_missing(home, as_operator, capsys, at, sentence):
    for moment, lines in ((0, ()), (60_000, ("- Likes tea.",))):
        put_version(home, T0 + moment, *lines)
        run(home)
    write(home, T0 + at, "Has a cat.")
    run(home)
    assert_sentence(as_operator, capsys, get_reported_rows().get(), sentence)


def test_only_versions_beside_a_write_are_read(home):
    for number in range(30):
        put_version(home, T0 + number * 4_000, *(f"- Fact {known}." for known in range(number)))
        run(home)
    for number in range(1, 30):
        write(home, T0 + number * 4_000 + 50, f"Fact {number - 1}.")
    with CaptureQueriesContext(connections[MAIN]) as captured:
        run(home)
    read = [query for query in captured if f'"size_bytes" <= {fact_evidence.MOST_BYTES}' in query["sql"]]
    assert all(contents(row)[1].endswith(f"- {row.candidate_fact}\n") for row in get_reported_rows())
    assert FileSnapshot.objects.using(MAIN).filter(file_name=NAME).count() == 30
    assert 0 < len(read) <= 2 * 6 * 29
    expected = list(rows().values_list("id", "before_snapshot", "after_snapshot", "is_diff_shared"))
    snapshot_matching.match_snapshots(MAIN, NAME)
    assert list(rows().values_list("id", "before_snapshot", "after_snapshot", "is_diff_shared")) == expected
    assert WriteGuardianAudit.objects.using(MAIN).filter(origin="unattributed").count() == 0
