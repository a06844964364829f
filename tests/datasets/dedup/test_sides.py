"""Sides of an export: sessions with one id share a side.

No context holds a text that another side teaches.
"""

import shutil
from collections import defaultdict

import orjson
import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models import Agent
from datasets.dedup import signatures
from datasets.dedup.texts import compute_words_number
from datasets.exports import exports
from datasets.exports.export_count import count_export
from datasets.exports.options import Options
from datasets.models import DatasetExport, DatasetSample
from datasets.services import make_samples
from ledger.models import Session
from tests.datasets.conversations import agent, store_session, user
from tests.datasets.dedup.sample_texts import add_sample, rows
from tests.datasets.exports.export_helpers import build_export, excluded_samples
from tests.factories import AgentFactory
from tests.homes import assistant
from tests.homes import user as person

pytestmark = pytest.mark.django_db
HISTORIES = ("edited", "session", "context")
SHORT = [("Ok?", "Yes."), ("And now?", "Wait."), ("Thanks", "You are welcome!"), ("/status", "All is well.")]
LONG = [(f"Tell me of {name}.", " ".join(f"{name}{word}" for word in range(12))) for name in "abcdefgh"]


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.HOME_DIR = tmp_path
    (tmp_path / "state").mkdir(exist_ok=True)


def pairs(row, is_taught):
    """The hashes of a row's exchanges: those that it teaches, or those that are only context."""
    messages = row["conversations"]
    exchanges = list(zip(messages[::2], messages[1::2], strict=True))
    chosen = [pair for pair in exchanges if pair[1].get("train", True) is is_taught]
    return {compute_words_number(question["value"], answer["value"]) for question, answer in chosen}


def crossing(export):
    """Count the exchanges of a history that another side teaches, from the files alone."""
    taught = defaultdict(set)
    by_side = rows(export)
    for side, side_rows in by_side.items():
        for row in side_rows:
            for pair in pairs(row, is_taught=True):
                taught[pair].add(side)
    read = [
        (pair, side)
        for side, side_rows in by_side.items()
        for row in side_rows
        for pair in pairs(row, is_taught=False) | pairs(row, is_taught=True)
    ]
    return sum(bool(taught[pair] - {side}) for pair, side in read)


def store_exchanges(session, exchanges, *, db="agent_ada"):
    """Store a session of these exchanges."""
    lines = []
    for number, (question, answer) in enumerate(exchanges):
        lines += [user(f"u{number}", question), agent(f"a{number}", answer)]
    store_session(lines, session_id=session, db=db)


def approve(*agents):
    """Create an approved sample of every turn of these agents."""
    for owner in agents:
        for session_id in Session.objects.using(owner.db).values_list("id", flat=True):
            make_samples(owner, session_id, None, by="ann")
    DatasetSample.objects.filter(annotation_status="pending").update(annotation_status="approved")


def test_a_context_ends_before_what_another_side_teaches(ada):
    for number in range(12):
        own = (f"Question {number}", " ".join(f"n{number}x{word}" for word in range(12)))
        store_exchanges(f"s{number}", [own, SHORT[0], (f"Last {number}", f"Done {number}.")])
    approve(ada)
    export = build_export("sharegpt", history="context", train_split=0.5)
    assert len(excluded_samples(export)["duplicate"]) == 11 and crossing(export) == 0
    counts = orjson.loads(export.manifest_json)["transformations"]
    last = [
        row["conversations"] for side_rows in rows(export).values() for row in side_rows if row["turn_number"] == "3"
    ]
    begun = [len(messages) for messages in last]
    assert begun.count(2) == counts["history_begins_after_turn_of_another_side"] > 0 < begun.count(6)


EXCHANGES = st.lists(st.sampled_from(SHORT + LONG), min_size=1, max_size=6)
sometimes = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@sometimes
@given(talks=st.lists(EXCHANGES, min_size=2, max_size=8), unseen=st.sets(st.integers(0, 47)), seed=st.text(max_size=3))
@pytest.mark.parametrize("duplicates", ["one", "keep"])
def test_no_history_holds_what_another_side_teaches(ada, duplicates, talks, unseen, seed):
    DatasetSample.objects.all().delete()
    Session.objects.using(ada.db).all().delete()
    for number, exchanges in enumerate(talks):
        store_exchanges(f"s{number}", exchanges)
    approve(ada)
    ids = list(DatasetSample.objects.order_by("session_id", "turn_number").values_list("id", flat=True))
    DatasetSample.objects.filter(id__in=[ids[place] for place in unseen if place < len(ids)]).update(
        annotation_status="rejected"
    )
    if not DatasetSample.objects.filter(annotation_status="approved").exists():
        return
    for history in HISTORIES:
        choices = {"train_split": 0.4, "validation_split": 0.3, "duplicates": duplicates, "seed": seed}
        DatasetExport.objects.all().delete()
        assert crossing(build_export("sharegpt", history=history, **choices)) == 0


def test_a_home_under_three_names_is_on_one_side(home):
    for number in range(8):
        talk = [person(f"Question {number}"), assistant(f"Short {number}."), person("Ok?"), assistant("Yes.")]
        talk += [person(f"And {number}?"), assistant(LONG[number][1])]
        home.transcript(*talk, session=f"0a1b2c3d-0000-4000-8000-00000000000{number}")
    for name in ("first", "second", "third"):
        copy = shutil.copytree(home.root, home.root.with_name(name))
        call_command("collect", "--source", str(copy), "--as", name, "--quiet")
    approve(*Agent.objects.all())
    DatasetSample.objects.filter(agent_id="third", turn_number=3).update(output="Somebody wrote another answer here.")
    for history in HISTORIES:
        for duplicates in ("one", "keep"):
            DatasetExport.objects.all().delete()
            export = build_export("sharegpt", history=history, train_split=0.5, duplicates=duplicates)
            sides = defaultdict(set)
            for side, side_rows in rows(export).items():
                for row in side_rows:
                    sides[row["session_id"]].add(side)
            assert len(sides) == 8 and {len(names) for names in sides.values()} == {1}
            assert crossing(export) == 0


def test_the_count_says_when_half_of_all_has_to_share_a_side(as_reviewer, capsys):
    AgentFactory(agent_id="bob")
    for number in range(4):
        add_sample(f"alone-{number}", f"Alone, number {number}.", session=f"alone{number}")
        add_sample(
            f"long-{number}", LONG[0][1], session=f"long{number}", turn=number + 1
        )  # says the same as the others
        add_sample(f"more-{number}", f"More of {number}.", session=f"long{number}", turn=9)
        add_sample(f"short-{number}", "Yes.", prompt="Ok?", session=f"alone{number}", turn=2)
    signatures.renew(DatasetSample.objects.values_list("id", flat=True))
    count = count_export(Options("alpaca", "reply"))
    assert (count.largest_set, count.set_counted) == (5, 10) and not count.has_dominant_set
    add_sample("more-5", "More of five.", session="long0", turn=10)
    assert (count_export(Options("alpaca", "reply", train_split=1)).set_counted) == 0
    sentence = "At least 6 of 11 samples are in sessions that share a part of the split"
    fields = {"format": "alpaca", "task": "reply", "train_split": "0.5", "seed": "0"}
    page = as_reviewer.post("/exports/count/", fields | {"only_approved": "on", "history": "edited"})
    assert sentence in page.text
    answer = as_reviewer.post("/api/v1/exports/count", {"format": "alpaca"}, content_type="application/json").json()
    assert (answer["largest_set"], answer["set_counted"]) == (6, 11)
    call_command("export", "--format", "alpaca", "--dry-run")
    assert sentence in capsys.readouterr().out
    export = build_export(train_split=0.5)
    assert export.manifest["largest_set"] == {"samples": 6, "of": 11}
    note = "More than half of the samples are in sessions that share a part of the split"
    assert note in as_reviewer.get(export.get_absolute_url()).text
    assert note in (exports.folder_of(export) / "README.md").read_text()
    assert build_export(train_split=1).manifest["notes"] == []


def test_one_id_is_one_session_whatever_agent_has_it():
    AgentFactory(agent_id="bob")
    for number in range(16):
        for agent_id in ("ada", "bob"):
            reply = f"In {number} this was said to {agent_id} and to nobody else."
            add_sample(
                f"{agent_id}-{number}", reply, session=f"s{number}", agent_id=agent_id, prompt=f"{agent_id} {number}?"
            )
    by_side = rows(build_export(train_split=0.5))
    parts = [{row["session_id"] for row in side_rows} for side_rows in by_side.values()]
    assert len(parts) == 2 and not parts[0] & parts[1]
