"""History of a memory file: versions, writes, refusals and rollbacks in order of time."""

import re

import pytest

from guardian import services
from guardian.models import FileSnapshot, WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import Report, Source
from tests import faults
from tests.guardian.write_rows import T0, create_rollback, create_write
from tests.ledger.transcript_records import get_text

DB = "agent_ada"
URL, API = "/agents/ada/files/MEMORY.md/", "/api/v1/agents/ada/guardian/files/MEMORY.md/history"
pytestmark = pytest.mark.django_db


def refuse(number, **columns):
    defaults = {"session_id": "s1", "target_file": "MEMORY.md", "candidate_fact": "A password.", "status": "refused"}
    defaults |= {"created_at": T0 + number * 1000}
    return WriteGuardianAudit.objects.using(DB).create(id=f"r{number}", **(defaults | columns))


def read_table(answer):
    """The rows of the history on a page."""
    return get_text(answer).partition('id="versions"')[2].partition("<tbody>")[2].partition("</tbody>")[0]


def read_events(answer):
    return [(entry["kind"], (entry["audit"] or entry["version"])["id"]) for entry in answer.json()["items"]]


def test_all_that_happened_is_there_in_order(as_stranger, ada):
    services.store_version(DB, "MEMORY.md", b"one\n", modified_ms=T0)
    create_write(DB, 1, b"one\n", b"one\ntwo\n", status="rolled_back")
    refuse(2, reason="Never keep secrets.")
    create_write(DB, 3, b"one\ntwo\n", b"one\n", origin="rollback", candidate_fact=None, reason="Wrong.")
    create_write(DB, 4, None, b"x\n", target_file="USER.md")
    table = read_table(as_stranger.get(URL))
    places = [table.index(word) for word in ("Wrong.", "Never keep secrets.", "Likes tea.", "Seen by an import")]
    assert places == sorted(places) and "later rolled back" in table and "w4" not in table
    kinds = [kind for kind, _id in read_events(as_stranger.get(API))]
    assert kinds == ["write", "version", "write", "write", "version", "version"]
    assert as_stranger.get(API).json()["items"][1]["led_by"] == ["w3"]


def test_any_two_versions_are_compared(as_stranger, ada):
    (
        create_write(DB, 1, None, b"tea\n"),
        create_write(DB, 2, b"tea\n", b"coffee\n"),
        create_write(DB, 3, b"coffee\n", b"milk\n"),
    )
    first, second, third = FileSnapshot.objects.using(DB).order_by("created_at").values_list("id", flat=True)
    page = get_text(as_stranger.get(URL, {"from": first, "to": third}))
    assert "<del>" not in page and 'diff__text">tea' in page and 'diff__text">milk' in page
    assert f'name="from" value="{first}"' in page and page.count(" checked") == 2
    assert "coffee" in get_text(as_stranger.get(URL, {"to": second}))
    assert "diff--one" in get_text(as_stranger.get(URL, {"to": second, "view": "unified"}))
    page = get_text(as_stranger.get(URL))
    assert "Choose two versions." in page
    picked = re.findall(r'name="(\w+)" value="([^"]*)" aria-label="[^"]*" checked', page)
    assert sorted(picked) == [("from", second), ("to", third)]


def test_what_was_rolled_back_is_told_as_it_was_then(as_stranger, ada):
    (
        create_write(DB, 1, b"a\n", b"b\n"),
        create_rollback(DB, 2, ["w1"], b"b\n", b"a\n"),
        create_rollback(DB, 3, ["w2"], b"a\n", b"b\n"),
    )
    table = read_table(as_stranger.get(URL))
    texts = (
        "Rollback undone: Likes tea.",
        "later undone",
        "Rollback: Likes tea.",
        "Written</span>",
        "later rolled back",
        "Back in the file</span>",
    )
    places = [table.index(text) for text in texts]
    assert places == sorted(places)


def test_writes_that_changed_nothing_are_one_folded_line(as_stranger, ada):
    create_write(DB, 1, None, b"tea\n")
    for number, status in enumerate(("refused", "refused", "skipped", "failed"), start=2):
        refuse(number, status=status, candidate_fact=f"Fact {number}.")
    create_write(DB, 6, b"tea\n", b"milk\n")
    refuse(7, candidate_fact="Alone.")
    table = read_table(as_stranger.get(URL))
    assert table.count("<details") == 1 and table.count("<tr>") == 4, "one that stands alone is a line of its own"
    fold = table.partition("<details")[2].partition("</details>")[0]
    assert re.search(r"2 refused, 1 skipped, <span class=\"bad\">1 failed", fold)
    assert all(f'href="/agents/ada/writes/r{number}/"' in fold for number in (2, 3, 4, 5)) and "Alone." not in fold
    changes = read_table(as_stranger.get(f"{URL}?show=changes"))
    assert "<details" not in changes and changes.count("<tr>") == 2 and "Alone." not in changes
    everything = read_table(as_stranger.get(f"{URL}?show=all"))
    assert "<details" not in everything and everything.count("<tr>") == 7
    assert 'name="show" value="all"' in get_text(as_stranger.get(f"{URL}?show=all"))
    assert (
        "<details"
        in get_text(as_stranger.get(f"{URL}?show=nonsense"))
        .partition('id="versions"')[2]
        .partition("<tbody>")[2]
        .partition("</tbody>")[0]
    )


def test_a_part_of_the_history_without_a_change_says_so(as_stranger, ada):
    refuse(1), refuse(2)
    assert "Nothing in this part of the history changed the file." in get_text(as_stranger.get(f"{URL}?show=changes"))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_hold_everything_once_both_ways(as_stranger, ada, size):
    """No event is lost or repeated between pages, also among events of one moment."""
    for number in range(8):
        refuse(number, created_at=T0 + number // 3)
        services.store_version(DB, "MEMORY.md", b"%d" % number, modified_ms=T0 + number // 4)
    whole = read_events(as_stranger.get(f"{API}?limit=200"))
    assert len(whole) == 16
    events, back, after, last = [], [], "", None
    while True:
        answer = as_stranger.get(f"{API}?limit={size}{after}")
        events += read_events(answer)
        last = answer.json()
        if not last["next"]:
            break
        after = f"&after={last['next']}"
    assert events == whole
    while last["previous"]:
        answer = as_stranger.get(f"{API}?limit={size}&before={last['previous']}")
        back, last = read_events(answer) + back, answer.json()
    assert back == whole[: len(back)] and len(back) >= 16 - size


def test_places_of_other_lists_are_refused(as_stranger, ada):
    refuse(1)
    other = as_stranger.get("/api/v1/agents/ada/guardian/writes").json()
    assert other["next"] is None
    for after in ("x", "WzFd", "WyJhIiwid3JpdGUiLDFd", "WzEsInNvbWV0aGluZyIsMV0"):
        assert as_stranger.get(f"{API}?after={after}").status_code == 409


def test_a_file_of_which_nothing_is_known(as_stranger, ada):
    page = get_text(as_stranger.get(URL))
    assert "No version of this file yet" in page and 'id="versions"' not in page
    refuse(1)
    page = get_text(as_stranger.get(URL))
    assert "No version of this file yet" in page and "A password." in page
    assert as_stranger.get(URL.replace("MEMORY", "AGENTS")).status_code == 404
    assert as_stranger.get(API.replace("MEMORY", "AGENTS")).status_code == 404


def test_a_write_that_an_import_renames_meanwhile_is_left_out(as_stranger, ada):
    create_write(DB, 1, None, b"tea\n")
    about = {"target_file": "MEMORY.md", "candidate_fact": "Likes coffee.", "status": "written", "origin": "imported"}
    row = WriteGuardianAudit(id="of-the-log", created_at=T0 + 5_000, **about)
    write_store.store_reports(DB, [Report(row, Source.LOG, reporter="plugin")])

    def renamed():
        create_write(DB, 5, b"tea\n", b"coffee\n", candidate_fact="Likes coffee.")

    with faults.before_statement(DB, lambda sql: '"write_guardian_audit"."id" IN' in sql, renamed):
        answer = as_stranger.get(API)
    assert answer.status_code == 200 and ("write", "w1") in read_events(answer)
    assert ("write", "w5") in read_events(as_stranger.get(API)) and "of-the-log" not in as_stranger.get(API).text
