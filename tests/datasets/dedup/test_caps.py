"""Caps of an export by session, tool and duplicates, the weights of its rows, and who judged its samples."""

import csv
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.dedup.caps import Caps, apply_caps
from datasets.dedup.split_plan import DUPLICATE
from datasets.exports import exports, verification
from datasets.exports.files import read_parquet
from datasets.models import DatasetExport, DatasetSample
from jobs.progress import Progress
from tests.datasets.conversations import agent, store_session, tool_result, user
from tests.datasets.dedup.sample_texts import add_sample, ids, near_text
from tests.datasets.exports.export_helpers import build_export, excluded_counts, excluded_samples, read_rows
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release, sides_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


def test_the_best_samples_of_a_session_stay():
    add_session(1, turns=5)
    add_session(2, turns=1)
    DatasetSample.objects.filter(id="x1-4").update(output="An edited reply of a person.")
    DatasetSample.objects.filter(id="x1-2").update(annotation_status="auto_approved")
    export = build_export(max_per_session=2)
    assert sorted(ids(export)["train"]) == ["x1-1", "x1-4", "x2-1"]
    assert excluded_samples(export) == {"over_session_cap": ["x1-2", "x1-3", "x1-5"]}
    assert export.manifest["options"]["max_per_session"] == 2


def test_a_sample_counts_for_each_of_its_tools():
    lines = []
    for number, tools in enumerate((["exec"], ["exec", "read"], ["read"], ["read"], [], []), 1):
        lines.append(user(f"u{number}", f"question {number}"))
        for tool in tools:
            answered = tool_result(f"r{number}{tool}", "done")
            answered["message"]["toolName"] = tool
            lines += [agent(f"c{number}{tool}", ""), answered]
        lines.append(agent(f"a{number}", f"answer {number}"))
        add_sample(f"x{number}", f"answer {number}", turn=number, prompt=f"question {number}")
    store_session(lines)
    export = build_export("raw", max_per_tool=1)
    # The first one has taken exec, so that read is free for the third one.
    assert excluded_samples(export) == {"over_tool_cap": ["x2", "x4"]}
    assert excluded_samples(build_export("raw", name="two", max_per_tool=3)) == {}


def test_some_of_those_that_say_the_same_are_kept():
    for number in range(5):
        add_sample(f"same{number}", near_text(), session=f"s{number}", quality_score=number / 10)
    add_sample("other", "Nothing like it at all.", session="s9")
    export = build_export(max_per_twins=2, train_split=0.5)
    assert excluded_counts(export) == {"over_twins_cap": 3}
    sides = ids(export)
    assert sorted(name for side in sides.values() for name in side) == ["other", "same3", "same4"]
    assert any({"same3", "same4"} <= set(side) for side in sides.values())  # on one side


def test_caps_go_one_after_the_other():
    for number in range(4):
        add_sample(f"same{number}", near_text(), session="s1", turn=number + 1)
    add_session(2, turns=4)
    export = build_export(max_per_twins=3, max_per_session=2)
    # The third of those that say the same is beyond the cap of the session, and does not count for its own.
    assert excluded_counts(export) == {"over_session_cap": 4} and export.manifest["counts"]["rows"] == 4


def test_the_same_samples_and_options_give_the_same_files():
    for number in range(6):
        add_session(number, turns=3)
    first = build_export(max_per_session=2, name="one", train_split=0.5)
    second = build_export(max_per_session=2, name="two", train_split=0.5)
    assert ids(first) == ids(second) and first.manifest["excluded"] == second.manifest["excluded"]


def test_a_dataset_with_caps_has_them_in_each_release():
    for number in range(4):
        add_session(number, turns=3)
    version = make_release(make_dataset(max_per_session=1, train_split=1))
    assert sorted(sides_of(version)) == ["x0-1", "x1-1", "x2-1", "x3-1"]
    assert {row["reason"]: row["count"] for row in version.counts["excluded"]} == {"over_session_cap": 8}
    export = build_export(release=version.id, max_per_session=9)
    assert export.manifest["counts"]["rows"] == 4  # those of the release


class FeatureColumns:
    """The features of samples that `apply_caps` reads, whose order is that of their places."""

    def __init__(self, sessions, tools):
        self.sessions, self.tool_sets = sessions, {names: number for number, names in enumerate(dict.fromkeys(tools))}
        self.tools = [self.tool_sets[names] for names in tools]

    def column(self, name):
        return {"session": self.sessions, "tools": self.tools}[name]

    def rank_places(self):
        return range(len(self.sessions))


class Groups:
    """Groups of duplicates: the first sample of each is kept."""

    def __init__(self, roots):
        firsts = {}
        self.roots = [firsts.setdefault(root, place) for place, root in enumerate(roots)]
        self.is_kept = bytearray(place == root for place, root in enumerate(self.roots))

    def teachers(self):
        return self.roots

    def are_together(self, _place, _other):
        return True


LIMIT = st.none() | st.integers(1, 3)
TOOLS = st.lists(st.sampled_from("abc"), unique=True).map(tuple)
SAMPLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), TOOLS), max_size=25)


def count_most(places, names_of):
    """The most of these samples that share a name."""
    return max(Counter(name for place in places for name in names_of(place)).values(), default=0)


@settings(max_examples=200)
@given(SAMPLES, LIMIT, LIMIT, LIMIT)
def test_no_cap_is_exceeded_and_none_leaves_out_too_much(samples, session, tool, twins):
    sessions, roots, tools = (list(column) for column in zip(*samples, strict=True)) if samples else ([], [], [])
    groups = Groups(roots)
    reasons = apply_caps(Caps(session, tool, twins), FeatureColumns(sessions, tools), groups, groups.is_kept)
    stay = [place for place, is_kept in enumerate(groups.is_kept) if is_kept]
    assert [place for place, reason in enumerate(reasons) if not reason] == stay
    limits = (
        (session, lambda place: [sessions[place]]),
        (tool, lambda place: tools[place]),
        (twins or 1, lambda place: [groups.roots[place]]),
    )
    for most, names_of in limits:
        assert most is None or count_most(stay, names_of) <= most
    for place, reason in enumerate(reasons):
        better = [*(other for other in stay if other < place), place]
        is_over = any(most is not None and count_most(better, names_of) > most for most, names_of in limits)
        # Without a cap on duplicates, none stands in for the best of its group, also where a cap leaves that out.
        assert is_over == bool(reason) or (reason == DUPLICATE and twins is None)


# Weights


def test_each_session_weighs_as_much_as_another():
    add_session(1, turns=4)
    add_session(2, turns=1)
    export = build_export("raw", max_per_session=3, weights=True)
    weights = {row["id"]: row["weight"] for row in read_rows(export)}
    assert weights == {"x1-1": 0.333333, "x1-2": 0.333333, "x1-3": 0.333333, "x2-1": 1.0}
    assert "weight" not in read_rows(build_export("raw", name="two"))[0]


def test_a_table_has_the_weights_as_its_last_column():
    add_session(1, turns=2)
    export = build_export("csv", weights=True)
    [file] = exports.folder_of(export).glob("*.train.csv")
    rows = list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))
    assert [row["weight"] for row in rows] == ["0.5", "0.5"] and list(rows[0])[-1] == "weight"


def test_parquet_has_them_and_verifies():
    pytest.importorskip("pyarrow")
    add_session(1, turns=2)
    export = build_export("parquet", weights=True)
    [file] = exports.folder_of(export).glob("*.train.parquet")
    assert [row["weight"] for row in read_parquet(file)] == ["0.5", "0.5"]
    assert verification.verify(export, Progress())["is_intact"]


def test_other_formats_have_none():
    add_session(1)
    assert "weight" not in read_rows(build_export("alpaca", weights=True))[0]
    assert DatasetExport.objects.get().state == "ready"


def test_weights_of_a_release_are_those_of_its_members():
    add_session(1, turns=2)
    add_session(2, turns=1)
    version = make_release(make_dataset(train_split=1))
    weights = {row["id"]: row["weight"] for row in read_rows(build_export("raw", release=version.id, weights=True))}
    assert weights == {"x1-1": 0.5, "x1-2": 0.5, "x2-1": 1.0}


# Who judged


def test_manifest_and_card_say_how_many_a_person_judged():
    for number, status in enumerate(("approved", "approved", "auto_approved", "pending")):
        add_session(number, annotation_status=status)
    export = build_export(only_approved=False)
    counts = export.manifest["counts"]
    assert (counts["samples"], counts["judged_by_person"], counts["judged_by_rule"]) == (4, 2, 1)
    assert "judged by a person: 2, by a rule: 1" in (exports.folder_of(export) / "README.md").read_text()
    version = make_release(make_dataset(train_split=1))
    export = build_export(release=version.id, name="two")
    assert export.manifest["release"]["judged"] == {"person": 2, "rule": 1, "set": 0}
    assert (exports.folder_of(export) / "README.md").read_text().count("judged by a person: 2, by a rule: 1") == 2
