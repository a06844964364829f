"""Equal and nearly equal samples: which are exported, on which side, and in which histories."""

from itertools import combinations

import orjson
import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets.dedup import signatures
from datasets.exports import exports
from datasets.exports.options import Options
from datasets.exports.plan import build_export_plan
from datasets.exports.source import DecisionVerdicts, Source
from datasets.models import DatasetExport, DatasetSample
from jobs.progress import Progress
from tests.datasets.conversations import agent, store_session, user
from tests.datasets.dedup.sample_texts import add_sample, find_alike, ids, near_text, rows
from tests.datasets.exports.export_helpers import build_export, excluded_samples, make_export
from tests.factories import AgentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
SIDES = ("train", "validation", "test")
TWINS = "Twins are two people who say the very same thing at length."


def sessions_of(count, **columns):
    """Add sessions of two turns that have nothing in common."""
    for number in range(count):
        for turn in (1, 2):
            reply = " ".join(f"w{number}x{turn}x{word}" for word in range(12))
            add_sample(f"s{number:03}-{turn}", reply, session=f"s{number:03}", turn=turn, prompt="Go on.", **columns)


# One sample of each group


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_of_the_same_pair_one_is_exported_and_the_others_are_named(format_):
    for number in range(4):
        add_sample(f"x{number}", TWINS, session=f"s{number}", turn=number + 1)
    export = build_export(format_, train_split=1)
    assert ids(export) == {"train": ["x0"]} and excluded_samples(export) == {"duplicate": ["x1", "x2", "x3"]}


def test_nearly_the_same_counts_and_less_does_not():
    add_sample("one", near_text(), turn=1)
    add_sample("near", near_text(30), turn=2)  # Jaccard 0.85
    add_sample("far", near_text(20, 40), turn=3)  # Jaccard 0.72
    assert excluded_samples(build_export(train_split=1)) == {"duplicate": ["near"]}


def test_short_texts_are_the_same_when_their_words_are():
    add_sample("one", "Yes, now.", prompt="Ok?", turn=1)
    add_sample("two", "yes NOW!", prompt="ok", turn=2)
    add_sample("other", "No, now.", prompt="Ok?", turn=3)
    assert excluded_samples(build_export(train_split=1)) == {"duplicate": ["two"]}


def test_texts_without_words_are_the_same_when_each_character_is():
    add_sample("one", "!!!", prompt="?", turn=1)
    add_sample("two", "!!!", prompt="?", turn=2)
    add_sample("other", "!!", prompt="?", turn=3)
    assert excluded_samples(build_export(train_split=1)) == {"duplicate": ["two"]}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"output": near_text(3)}, {"quality_score": 1}),
        ({}, {"annotation_status": "auto_approved", "quality_score": 1}),
        ({"annotation_status": "auto_approved"}, {"annotation_status": "pending", "quality_score": 1}),
        ({"quality_score": 0.9}, {"quality_score": 0.8, "turn": 1}),
        ({"quality_score": 0}, {"turn": 1}),
        ({"turn": 2}, {"turn": 3}),
    ],
)
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_better_judged_is_kept_whatever_it_is_called(better, worse, names):
    for name, columns in zip(names, (better, worse), strict=True):
        add_sample(name, near_text(), session=f"s-{name}", **{"turn": 4, **columns})
    assert excluded_samples(build_export(train_split=1, only_approved=False)) == {"duplicate": [names[1]]}


def test_the_edited_reply_is_what_is_compared():
    add_sample("one", near_text(), turn=1)
    add_sample("two", near_text(), turn=2, output="A person wrote something else.")
    assert ids(build_export(train_split=1)) == {"train": ["one", "two"]}


def test_a_sample_without_a_decision_does_not_take_the_place_of_one_that_has(ada):
    add_sample("nothing", TWINS, turn=1, quality_score=1)
    sample = add_sample("decided", TWINS, turn=2)
    gate = {"output": {"decision": "NO_WRITE", "reason": "Small talk.", "candidateFact": ""}}
    DatasetSample.objects.filter(id="decided").update(
        content=orjson.dumps(orjson.loads(sample.content) | {"memoryGate": gate}).decode()
    )
    export = build_export(task="gate", train_split=1)
    assert ids(export) == {"train": ["decided"]} and excluded_samples(export) == {"no_decision": ["nothing"]}


def test_rejected_samples_take_nobodys_place():
    add_sample("rejected", TWINS, turn=1, annotation_status="rejected", quality_score=1)
    add_sample("one", TWINS, turn=2)
    assert ids(build_export(train_split=1)) == {"train": ["one"]}


# Duplicates in the history of other rows


def store_session_samples(session, *replies):
    """Store a session, with an approved sample of each turn."""
    lines = []
    for turn, reply in enumerate(replies, 1):
        lines += [user(f"u{turn}", f"Question {turn} of {session}"), agent(f"a{turn}", reply)]
        add_sample(f"{session}-{turn}", reply, session=session, turn=turn, prompt=f"Question {turn} of {session}")
    store_session(lines, session_id=session)


def values(row):
    return [message["value"] for message in row["conversations"] if message["from"] == "gpt"]


@pytest.fixture
def twins(ada):
    """Two sessions whose second turn is nearly the same; the turn of s1 is kept."""
    store_session_samples("s1", "First of one.", near_text(), "Last of one.")
    store_session_samples("s2", "First of two.", near_text(), "Last of two.", "And more of two.")
    DatasetSample.objects.filter(id="s1-2").update(quality_score=1)


def of_session(export, session):
    return [values(row) for row in rows(export)["train"] if row["session_id"] == session]


def test_a_duplicate_is_not_taught_before_another_reply(twins):
    export = build_export("sharegpt", train_split=1)
    assert excluded_samples(export) == {"duplicate": ["s2-2"]}
    assert of_session(export, "s2") == [["First of two."], ["Last of two."], ["Last of two.", "And more of two."]]
    assert of_session(export, "s1")[-1] == ["First of one.", near_text(), "Last of one."]
    assert orjson.loads(export.manifest_json)["transformations"] == {"history_begins_after_duplicate": 2}


def test_a_duplicate_divides_the_row_of_its_session(twins):
    export = build_export("sharegpt", train_split=1, history="session")
    assert excluded_samples(export) == {"duplicate": ["s2-2"]}
    assert of_session(export, "s2") == [["First of two."], ["Last of two.", "And more of two."]]
    counts = orjson.loads(export.manifest_json)["counts"]
    assert (counts["rows"], counts["samples"], counts["sessions"]) == (3, 6, 2)


def test_what_is_not_learned_may_be_a_duplicate(twins):
    export = build_export("sharegpt", train_split=1, history="context")
    assert of_session(export, "s2")[1] == ["First of two.", near_text(), "Last of two."]
    for row in rows(export)["train"]:
        assert all(message["train"] is False for message in row["conversations"][:-1])


# Keep all


# With its prompt of two words, a reply of eight words has ten, which unrelated samples may share too.
@pytest.mark.parametrize(("length", "is_apart"), [(8, True), (9, False), (12, False)])
def test_sessions_that_share_by_way_of_others_are_on_one_side(length, is_apart):
    sessions_of(12)
    for number in range(11):  # each session shares a text with the next one only
        for session in (number, number + 1):
            reply = " ".join(f"shared{number}x{word}" for word in range(length))
            add_sample(f"{number}-{session}", reply, session=f"s{session:03}", turn=3 + session - number)
    assert len(ids(build_export(train_split=0.5, duplicates="keep"))) == 1
    export = build_export(train_split=0.5)
    manifest, moving = orjson.loads(export.manifest_json), ["sides_may_move"]
    assert (len(ids(export)), manifest["notes"]) == ((2, moving) if is_apart else (1, [*moving, "one_set_over_half"]))
    assert manifest["largest_set"]["of"] == 35 and (manifest["largest_set"]["samples"] == 35) is not is_apart


# Sides


def test_a_session_under_two_names_is_never_on_both_sides():
    AgentFactory(agent_id="bob")
    for number in range(20):
        for agent_id, name in (("ada", "mine"), ("bob", "yours")):
            for turn in (1, 2, 3):
                reply = f"In session {number} turn {turn} this was said word by word."
                add_sample(f"{agent_id}{number}-{turn}", reply, session=f"{name}{number}", turn=turn, agent_id=agent_id)
    for duplicates in ("one", "keep"):
        export = build_export(train_split=0.4, validation_split=0.3, duplicates=duplicates)
        texts = [{row["output"] for row in side_rows} for side_rows in rows(export).values()]
        assert len(texts) == 3 and sum(map(len, texts)) == len(set().union(*texts)) == 60


def test_validation_is_a_side_of_its_own():
    sessions_of(60)
    export = build_export("sharegpt", train_split=0.5, validation_split=0.25)
    sample_ids = ids(export)
    assert {side: bool(sample_ids[side]) for side in SIDES} == dict.fromkeys(SIDES, True)
    manifest = orjson.loads(export.manifest_json)
    assert {side: manifest["counts"][side] for side in SIDES} == {side: len(sample_ids[side]) for side in SIDES}
    assert manifest["empty_sides"] == [] and manifest["options"]["validation_split"] == 0.25
    info = orjson.loads((exports.folder_of(export) / "dataset_info.json").read_bytes())
    assert info["ocl_one_sharegpt_validation"]["file_name"] == "ocl_one_sharegpt.validation.jsonl"
    parts = [{name.rpartition("-")[0] for name in names} for names in sample_ids.values()]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 60


def test_the_page_asks_for_it_and_tells_what_came_of_it(as_reviewer):
    add_sample("one", TWINS, turn=1)
    add_sample("two", TWINS, turn=2)
    export = make_export(as_reviewer, train_split="0", validation_split="1", duplicates="one")
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "0.0 for training, 1.0 for validation, seed 0" in page and "Export one of each group" in page
    assert "alpaca.validation.jsonl" in page and "For validation" in page
    assert "The training part is empty" in page and "The test part is empty" in page
    assert "Duplicates: they say the same as another sample, or nearly" in page


def test_an_empty_validation_part_is_said(as_reviewer, capsys):
    add_sample("one", TWINS)
    export = make_export(as_reviewer, train_split="1", validation_split="0")
    assert "validation part" not in as_reviewer.get(export.get_absolute_url()).text
    call_command("export", "--name", "x", "--format", "alpaca", "--split", "0.9999999", "--validation-split", "1e-9")
    assert "The validation part is empty and was not written." in capsys.readouterr().out
    export = DatasetExport.objects.get(export_name="x")
    assert "The validation part is empty and was not written." in as_reviewer.get(export.get_absolute_url()).text


# Any samples


STORIES = [[f"{letter}{word}" for word in range(40)] for letter in "abc"]
DRAWN = st.lists(
    st.tuples(
        st.integers(0, 2),  # which story
        st.sets(st.integers(0, 39), max_size=4),  # words that are replaced
        st.integers(0, 7),  # session
        st.sampled_from(["approved", "auto_approved"]),
        st.sampled_from([None, 0.3, 0.6]),
    ),
    min_size=1,
    max_size=24,
)
sometimes = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def add_drawn(drawn, session_names, order):
    """Add the samples of a drawn list, in this order and in sessions of these names."""
    DatasetSample.objects.all().delete()
    turns = [0] * 8
    rows = []
    for number, (story, changed, session, status, quality) in enumerate(drawn):
        turns[session] += 1
        words = [f"new{place % 3}" if place in changed else word for place, word in enumerate(STORIES[story])]
        judged = {"quality_score": quality, "annotation_status": status}
        place = {"session": session_names[session], "turn": turns[session]}
        rows.append((f"{session_names[session]}-{number}", " ".join(words), place | judged))
    for number in order:
        sample_id, reply, columns = rows[number]
        add_sample(sample_id, reply, prompt="Tell.", **columns)


def is_alike(first, second):
    return bool(find_alike([f"Tell. {first}", f"Tell. {second}"]))


def outputs(export):
    """The outputs that each side teaches."""
    return {side: sorted(row["output"] for row in side_rows) for side, side_rows in rows(export).items()}


@sometimes
@given(drawn=DRAWN, data=st.data())
def test_a_sample_is_left_out_exactly_when_a_better_one_is_alike(drawn, data):
    qualities = data.draw(st.permutations(range(len(drawn))))
    drawn = [(*row[:4], quality / 100) for row, quality in zip(drawn, qualities, strict=True)]
    add_drawn(drawn, [f"s{number}" for number in range(8)], range(len(drawn)))
    samples = DatasetSample.objects.order_by("annotation_status", "-quality_score").values_list("id", "content")
    # "approved" is before "auto_approved"; this is the whole order, as no two samples have one quality
    texts = {sample_id: orjson.loads(content)["agentReply"] for sample_id, content in samples}
    export = build_export(train_split=0.4, validation_split=0.3)
    worse = {other for (_, first), (other, second) in combinations(texts.items(), 2) if is_alike(first, second)}
    assert set(excluded_samples(export).get("duplicate", [])) == worse
    assert len(worse) < len(texts)


class Released:
    """Sides and members of a release before."""

    def __init__(self, sides, members):
        self.sides, self.members = sides, members

    def find_side(self, _agent_id, session_id):
        return self.sides.get(session_id, -1)

    def find_members(self, sample_ids):
        return self.members & set(sample_ids)


@sometimes
@given(
    drawn=DRAWN,
    fixed=st.dictionaries(st.integers(0, 7), st.integers(0, 2), max_size=6),
    is_member=st.lists(st.booleans(), min_size=24, max_size=24),
    data=st.data(),
)
@pytest.mark.parametrize("duplicates", ["one", "keep"])
def test_beside_fixed_sides_no_two_sides_are_alike(tmp_path, duplicates, drawn, fixed, is_member, data):
    qualities = data.draw(st.permutations(range(len(drawn))))
    drawn = [(*row[:4], quality / 100) for row, quality in zip(drawn, qualities, strict=True)]
    plans = []
    for order in (range(len(drawn)), data.draw(st.permutations(range(len(drawn))))):
        add_drawn(drawn, [f"s{number}" for number in range(8)], order)
        columns = ("id", "content", "session_id", "annotation_status", "quality_score", "signature__made_from")
        signatures.renew(DatasetSample.objects.values_list("id", flat=True))
        samples = list(DatasetSample.objects.values(*columns))
        sides = {f"s{session}": side for session, side in fixed.items()}
        members = {
            sample["id"]
            for sample in samples
            if is_member[int(sample["id"].partition("-")[2])] and sample["session_id"] in sides
        }
        options = Options("alpaca", "reply", duplicates=duplicates, train_split=0.4, validation_split=0.3)
        source, released = Source(options), Released(sides, members)
        plan = build_export_plan(source, options, DecisionVerdicts(options), tmp_path, Progress(), 0, fixed=released)
        plans.append({row["id"]: plan.find_assignment(row["id"], row["signature__made_from"]) for row in samples})
    assert plans[0] == plans[1]
    side_of = {sample_id: side for sample_id, (side, _reason, _size) in plans[0].items()}
    assert all(side_of[sample["id"]] == sides.get(sample["session_id"], side_of[sample["id"]]) for sample in samples)

    def rank(sample):
        is_late = duplicates == "keep" and sample["session_id"] not in sides
        return is_late, sample["id"] not in members, sample["annotation_status"], -sample["quality_score"]

    ranked = [(sample["id"], orjson.loads(sample["content"])["agentReply"]) for sample in sorted(samples, key=rank)]
    worse = {
        other
        for (best, first), (other, second) in combinations(ranked, 2)
        if is_alike(first, second) and (duplicates == "one" or side_of[best] != side_of[other])
    }
    assert {sample_id for sample_id, (_side, reason, _size) in plans[0].items() if reason} == worse


@sometimes
@given(drawn=DRAWN)
def test_what_is_kept_is_on_one_side_when_all_is_kept(drawn):
    add_drawn(drawn, [f"s{number}" for number in range(8)], range(len(drawn)))
    taught = outputs(build_export(train_split=0.4, validation_split=0.3, duplicates="keep"))
    assert sum(map(len, taught.values())) == len(drawn)
    sides = {f"Tell. {text}": side for side, texts in taught.items() for text in texts}
    assert all(sides[first] == sides[second] for first, second in find_alike(sides))


@sometimes
@given(drawn=DRAWN, names=st.permutations([f"s{number}" for number in range(8)]), data=st.data())
def test_names_and_the_order_of_arrival_do_not_matter(drawn, names, data):
    for duplicates in ("one", "keep"):
        add_drawn(drawn, [f"s{number}" for number in range(8)], range(len(drawn)))
        first = outputs(build_export(train_split=0.5, duplicates=duplicates))
        add_drawn(drawn, names, data.draw(st.permutations(range(len(drawn)))))
        assert outputs(build_export(train_split=0.5, duplicates=duplicates)) == first
