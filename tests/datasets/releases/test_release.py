"""Releases: numbers, members, verdicts, and sides that never move."""

import pytest

from datasets.models import DatasetSample, SessionSide
from datasets.releases.differences import compare
from datasets.releases.release import describe_release, release_here
from datasets.releases.verification import verify
from openclaw_web.errors import Refused
from tests.datasets.dedup.sample_texts import add_sample
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release, sides_of

pytestmark = pytest.mark.django_db


def test_a_release_has_a_number_members_and_sides(home):
    for number in range(40):
        add_session(number, turns=2)
    dataset = make_dataset(train_split=0.5)
    first = make_release(dataset)
    assert (first.number, first.state, first.member_count) == (1, "released", 80)
    sides = sides_of(first)
    assert set(sides.values()) == {"train", "test"}
    assert all(sides[f"x{number}-1"] == sides[f"x{number}-2"] for number in range(40))
    assert SessionSide.objects.filter(dataset=dataset).count() == 40
    report = verify(first)
    assert report["is_intact"] and report["is_current"], report


def test_sides_do_not_move_and_a_new_session_gets_its_side_once(home):
    for number in range(30):
        add_session(number)
    dataset = make_dataset(train_split=0.5)
    first = make_release(dataset)
    before = sides_of(first)
    DatasetSample.objects.filter(id="x3-1").update(annotation_status="rejected")
    DatasetSample.objects.filter(id="x4-1").update(output="Another answer altogether", label_id="l2")
    for number in range(30, 60):
        add_session(number)
    second = make_release(dataset)
    after = sides_of(second)
    assert second.number == 2
    assert all(after[sample] == before[sample] for sample in before.keys() & after.keys())
    difference = compare(first, second)
    assert {kind: difference[kind]["count"] for kind in ("added", "gone", "changed", "judged_again", "moved")} == {
        "added": 30,
        "gone": 1,
        "changed": 1,
        "judged_again": 1,
        "moved": 0,
    }
    assert difference["gone"]["samples"] == ["x3-1"]
    assert second.counts["difference"] == difference
    third = make_release(dataset)
    assert sides_of(third) == after


def test_sides_are_filled_and_new_sessions_go_to_the_side_that_lacks_most(home):
    dataset = make_dataset(train_split=0.6, validation_split=0.2)
    for total in (5, 10, 30):
        for number in range(total):
            name = f"s{number:02}"
            if not DatasetSample.objects.filter(id=name).exists():
                add_sample(name, f"Answer {' '.join(f'w{number}x{word}' for word in range(12))}", session=name)
        version = make_release(dataset)
        assert version.counts["sides"] == {"train": total * 3 // 5, "validation": total // 5, "test": total // 5}


@pytest.mark.parametrize("duplicates", ["one", "keep"])
def test_a_newcomer_joins_the_side_of_its_duplicate(home, duplicates):
    for number in range(20):
        add_session(number)
    dataset = make_dataset(train_split=0.5, duplicates=duplicates)
    sides = sides_of(make_release(dataset))
    # Each new session has a twin of an old sample, and a turn of its own.
    for number in range(20):
        words = " ".join(f"s{number}t1w{word}" for word in range(20))
        add_sample(f"twin-{number}", f"Answer {words}", session=f"new{number}", turn=1, prompt=f"Question {words}")
        own = " ".join(f"new{number}w{word}" for word in range(20))
        add_sample(f"own-{number}", f"Answer {own}", session=f"new{number}", turn=2, prompt=f"Question {own}")
    second = sides_of(make_release(dataset))
    assert all(second[f"own-{number}"] == sides[f"x{number}-1"] for number in range(20))
    twins = [f"twin-{number}" in second for number in range(20)]
    assert twins == [duplicates == "keep"] * 20


@pytest.mark.parametrize("duplicates", ["one", "keep"])
def test_a_newcomer_between_two_sides_is_left_out(home, duplicates):
    for number in range(20):
        add_session(number)
    dataset = make_dataset(train_split=0.5, duplicates=duplicates)
    first = make_release(dataset)
    sides = sides_of(first)
    train = next(sample for sample, side in sides.items() if side == "train")
    test = next(sample for sample, side in sides.items() if side == "test")
    for turn, sample_id in enumerate((train, test), 1):
        number = sample_id[1:].split("-")[0]
        words = " ".join(f"s{number}t1w{word}" for word in range(20))
        add_sample(f"twin-{turn}", f"Answer {words}", session="between", turn=turn, prompt=f"Question {words}")
    second = make_release(dataset)
    after = sides_of(second)
    assert all(after[sample] == side for sample, side in sides.items())
    assert len({"twin-1", "twin-2"} & after.keys()) == (1 if duplicates == "keep" else 0)
    left_out = {group["reason"]: group["count"] for group in second.counts["excluded"]}
    assert left_out["duplicate"] == (1 if duplicates == "keep" else 2)


def test_a_release_without_members_is_refused_and_its_number_stays_free(home):
    dataset = make_dataset()
    with pytest.raises(Refused):
        make_release(dataset)
    assert not dataset.versions.exists()
    add_session(1)
    assert make_release(dataset).number == 1


def test_verify_says_what_changed(home):
    for number in range(6):
        add_session(number)
    dataset = make_dataset()
    version = make_release(dataset)
    DatasetSample.objects.filter(id="x1-1").update(annotation_status="rejected", label_id="l9")
    DatasetSample.objects.filter(id="x2-1").update(output="edited")
    SessionSide.objects.filter(session_id="s3").update(side="validation")
    report = verify(version)
    assert not report["is_intact"] and not report["change"]
    assert {(entry["sample"], entry["kind"]) for entry in report["differences"]} == {
        ("x1-1", "verdict"),
        ("x2-1", "content"),
        ("x3-1", "side"),
    }


def test_samples_that_are_judged_during_the_release_are_left_out_and_counted(home):
    for number in range(6):
        add_session(number)
    dataset = make_dataset()

    def reject(_done, _total, message):
        if message == "Adding members":
            DatasetSample.objects.filter(id="x2-1").update(annotation_status="rejected", label_id="l1")

    version = release_here(dataset, by="ann", listener=reject)
    assert "x2-1" not in sides_of(version) and version.member_count == 5
    assert "1 sample was judged or edited while the release was built" in describe_release(version)
    assert verify(version)["is_current"]
