"""Verdicts outlive a change of the rules: what is marked otherwise in the same place has them too."""

import pytest

from datasets.finding_values import summary, verdicts
from datasets.models import FindingValue, FindingVerdict
from findings import places
from findings.models import Finding, FindingScan
from findings.value_hash import compute_value_hash
from people.models.bookkeeping import AuditEntry
from tests.collecting.collect_runs import MAIN, run
from tests.findings.scan_helpers import scan_everything
from tests.homes import user

pytestmark = pytest.mark.django_db
TOKEN = "CiahfK819TUTZEjTdqtEXErIGqZrdv9y1HpcA3Yt"
TEXT = f"the password is Rk9.mmTz! (call +1-202-555-0155) CLOUDFLARE_API_TOKEN={TOKEN}"
# What older rules marked: value and kind now, characters more at the end, and the kind then.
CHANGES = {"bracket": ("+1-202-555-0155", "phone", 1, "phone"), "cut": ("Rk9.mmTz!", "password", -3, "password")}
CHANGES |= {"longer": ("Rk9.mmTz!", "password", 2, "password"), "kind": (TOKEN, "key", 0, "secret")}


@pytest.fixture(params=CHANGES)
def change(request, home):
    """A finding as older rules stored it, its value and the hash of what is found now."""
    value, kind, more, kind_then = CHANGES[request.param]
    home.transcript(user(TEXT))
    run(home)
    scan_everything()
    row = Finding.objects.using(MAIN).get(kind=kind)
    now = row.value_hash
    row.end, row.kind, row.rule = row.end + more, kind_then, "older"
    then = TEXT[TEXT.index(value) : TEXT.index(value) + len(value) + more]
    row.value_hash = compute_value_hash(kind_then, then)
    row.save(using=MAIN)
    summary.refresh("main", MAIN, [now, row.value_hash])
    FindingScan.objects.using(MAIN).filter(source="record").update(rules=(2 << 32) + 9)
    return request.param, row, now


def read_state(value_hash):
    return FindingValue.objects.values_list("state", "decided_by", "decided_at").get(value_hash=value_hash)


def test_a_confirmed_value_is_confirmed_in_its_new_extent(change):
    _name, row, now = change
    given = verdicts.decide("confirmed", scope="value", value_hash=row.value_hash, by="ann")
    scan_everything()
    assert read_state(now) == ("confirmed", "ann", given.decided_at)
    scan_everything()
    assert FindingVerdict.objects.filter(value_hash=now).count() == 1


def test_a_dismissed_value_is_dismissed_unless_more_of_the_text_is_marked(change):
    name, row, now = change
    verdicts.decide("dismissed", scope="value", value_hash=row.value_hash, by="ann")
    scan_everything()
    assert read_state(now)[0] == ("open" if name == "cut" else "dismissed")
    transfers = AuditEntry.objects.filter(action="finding_transferred", object_id=now)
    assert transfers.count() == (name in ("longer", "kind"))  # blanks and signs do not count in a telephone number


def test_a_dismissed_place_stays_dismissed(change):
    name, row, now = change
    place = places.find_place_id(row)
    verdicts.decide("dismissed", scope="place", value_hash=row.value_hash, agent="main", place=place, by="ann")
    scan_everything()
    rows = Finding.objects.using(MAIN).filter(value_hash=now)
    states = verdicts.read_decisions()
    assert [states.find_state(r.kind, r.rule, now, place, "main") for r in rows] == [
        "open" if name == "cut" else "dismissed"
    ]
    assert read_state(now)[0] == "open"


def test_a_verdict_on_the_new_value_counts(change):
    _name, row, now = change
    verdicts.decide("confirmed", scope="value", value_hash=now, by="bob")
    verdicts.decide("dismissed", scope="value", value_hash=row.value_hash, by="ann")
    scan_everything()
    assert read_state(now)[:2] == (("dismissed", "ann") if now == row.value_hash else ("confirmed", "bob"))


def test_an_undone_verdict_is_kept_nowhere(change):
    _name, row, now = change
    given = verdicts.decide("confirmed", scope="value", value_hash=row.value_hash, by="ann")
    verdicts.take_back(given.id, by="ann")
    scan_everything()
    assert read_state(now)[0] == "open"
