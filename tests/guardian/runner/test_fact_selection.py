"""Selection of facts: those of decisions that count and that nobody has handled.

Words of people who opted out are never selected.
"""

import pytest

from agents.runners.choice import NoSuchSession
from guardian.runner import fact_selection
from guardian.runner.fact_selection import FactChoice
from guardian.services import store_version
from people.configuration import setting_values as configuration
from tests import factories
from tests.factories import T0
from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import store_group_chat

from .proposal_rows import DB, audits, create_decision, read, read_tool_answer, refuse, run, runs

pytestmark = pytest.mark.django_db


def select_ids(ada, **choice):
    selection = fact_selection.select_facts(ada, FactChoice(**choice))
    return [row.id for row in selection.decisions], selection.withheld


def test_decisions_to_write_that_nobody_acted_on(ada, workspace, endpoint):
    for number in range(4):
        create_decision(number)
    create_decision(4, decision="NO_WRITE", fact=None)
    create_write(DB, 1, None, b"x\n", decision_id="d1")
    assert select_ids(ada) == (["d0", "d2", "d3"], 0)
    assert select_ids(ada, limit=2) == (["d2", "d3"], 0)
    assert select_ids(ada, session="s2") == (["d2"], 0)
    assert select_ids(ada, session="agent:ada:main:s3") == (["d3"], 0)
    with pytest.raises(NoSuchSession):
        select_ids(ada, session="nobody")
    run(ada, limit=1)
    assert select_ids(ada) == (["d0", "d2"], 0)


def test_of_several_decisions_on_a_turn_one_counts(ada, workspace, endpoint):
    create_decision()
    factories.DecisionFactory(db=DB, id="own", turn_id="s0:u", session_id="s0", decision="UPDATE_USER",
                              candidate_fact="x", origin="own")  # fmt: skip
    assert select_ids(ada) == (["d0"], 0)


def test_a_turn_that_led_to_a_write_of_the_file_is_done(ada, workspace, endpoint):
    create_decision()
    create_write(DB, 1, None, b"x\n", turn_id="s0:u", target_file="USER.md")
    assert select_ids(ada) == ([], 0)


def test_words_of_somebody_who_opted_out_are_never_sent(ada, workspace, endpoint):
    create_decision(0)
    create_decision(1, turn=False)
    configuration.put("collector.optedOutSenders", ["mallory"])
    assert select_ids(ada) == ([], 2)  # the speaker is not known
    assert "2 facts were withheld" in run(ada).message
    assert not endpoint.requests and runs() == []


@pytest.fixture
def turns(ada):
    """The ids of a turn of mei and a turn of tom, who opts out later."""
    return [turn.id for turn in store_group_chat("mei", "tom")]


def create_file_write(workspace, number, before, after, **columns):
    """Store a write to USER.md, and put its result into the file."""
    (workspace / "USER.md").write_bytes(after)
    return create_write(DB, number, before, after, target_file="USER.md", **columns)


def opt_out(*names):
    configuration.put("collector.optedOutSenders", list(names))


def is_hidden(ada):
    return fact_selection.Memory(ada).is_hidden("USER.md")


MEI, TOM = b"# User\n\nMei likes tea.\n", b"# User\n\nMei likes tea.\nTom swims.\n"


def test_a_file_with_lines_of_theirs_is_never_sent(ada, workspace, endpoint, turns):
    mei, tom = turns
    create_file_write(workspace, 1, None, MEI, turn_id=mei, session_id="s1")
    create_file_write(workspace, 2, MEI, TOM, turn_id=tom, session_id="s1")
    assert not is_hidden(ada)
    opt_out("mallory")
    assert not is_hidden(ada)
    opt_out("tom")
    assert is_hidden(ada)
    factories.DecisionFactory(db=DB, id="d9", turn_id=mei, session_id="s1", decision="UPDATE_TOOLS",
                              candidate_fact="x", created_at=T0)  # fmt: skip
    endpoint.then(read(), refuse())
    run(ada)
    assert read_tool_answer(endpoint.requests[1])["error"] == "This file cannot be read."
    assert not any(b"Tom" in request.body or b"Mei" in request.body for request in endpoint.requests)
    create_file_write(workspace, 3, TOM, MEI, turn_id=mei, session_id="s1")
    assert not is_hidden(ada)
    opt_out("mei")
    assert is_hidden(ada)


@pytest.mark.parametrize("columns", [{}, {"turn_id": "gone"}, {"origin": "rollback"}])
def test_lines_that_lead_to_no_turn_are_nobodys(ada, workspace, turns, columns):
    if "origin" in columns:
        columns = columns | {"turn_id": turns[0]}  # as every rollback has the turn of the write that it took back
    create_file_write(workspace, 1, None, MEI, turn_id=turns[0], session_id="s1")
    create_file_write(workspace, 2, MEI, MEI + b"From nowhere.\n", **columns)
    opt_out("tom")
    assert is_hidden(ada)


def test_lines_from_before_the_first_write_and_from_gaps_are_nobodys(ada, workspace, turns):
    create_file_write(workspace, 1, b"# User\n", b"# User\nMei likes tea.\n", turn_id=turns[0], session_id="s1")
    opt_out("tom")
    assert is_hidden(ada)
    create_file_write(
        workspace, 2, b"# User\nMei likes tea.\n", b"\n\nMei likes tea.\n", turn_id=turns[0], session_id="s1"
    )
    assert not is_hidden(ada)
    (workspace / "USER.md").write_bytes(b"\n\nMei likes tea.\nGap.\n")
    store_version(DB, "USER.md", b"\n\nMei likes tea.\nGap.\n", modified_ms=T0 + 9**9)
    assert is_hidden(ada)


def test_a_file_that_is_not_its_newest_version_is_hidden(ada, workspace, turns):
    create_file_write(workspace, 1, None, MEI, turn_id=turns[0], session_id="s1")
    opt_out("tom")
    for held in (MEI + b"New.\n", b"# User\n", MEI.strip()):
        (workspace / "USER.md").write_bytes(held)
        assert is_hidden(ada)
    (workspace / "USER.md").write_bytes(b" \n\n")
    assert not is_hidden(ada)
    (workspace / "USER.md").unlink()
    assert not is_hidden(ada)


def test_asking_whose_lines_they_are_takes_as_many_queries_for_many(
    ada, workspace, turns, django_assert_max_num_queries
):
    opt_out("tom")
    held = b""
    for number in range(1, 41):
        create_file_write(
            workspace, number, held or None, held + b"Mei %d.\n" % number, turn_id=turns[0], session_id="s1"
        )
        held += b"Mei %d.\n" % number
    with django_assert_max_num_queries(12, using=DB):
        assert not is_hidden(ada)


def test_opting_out_between_a_plan_and_its_turn(ada, workspace, endpoint):
    create_decision()
    endpoint.then(read(), refuse())
    run(ada, listener=lambda *_progress: opt_out("mallory"))
    assert not endpoint.requests and audits() == []
