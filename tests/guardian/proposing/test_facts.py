"""Which facts are handled: of decisions that count and nobody acted on; never the words of somebody who opted out."""

import pytest

from guardian.proposing import facts
from guardian.proposing.facts import Asked
from people.configuration import keys as configuration
from tests import factories
from tests.guardian.written import wrote

from .proposed import DB, approve, audits, decided, proposal, read, refuse, run, runs

pytestmark = pytest.mark.django_db


def chosen(ada, **asked):
    found = facts.choose(ada, Asked(**asked))
    return [row.id for row in found.decisions], found.withheld


def test_decisions_to_write_that_nobody_acted_on(ada, workspace, endpoint):
    for number in range(4):
        decided(number)
    decided(4, decision="NO_WRITE", fact=None)
    wrote(DB, 1, None, b"x\n", decision_id="d1")
    assert chosen(ada) == (["d0", "d2", "d3"], 0)
    assert chosen(ada, limit=2) == (["d2", "d3"], 0)
    assert chosen(ada, session="s2") == (["d2"], 0)
    assert chosen(ada, session="agent:ada:main:s3") == (["d3"], 0)
    with pytest.raises(facts.NoSuchSession):
        chosen(ada, session="nobody")
    run(ada, limit=1)
    assert chosen(ada) == (["d0", "d2"], 0)


def test_of_several_decisions_on_a_turn_one_counts(ada, workspace, endpoint):
    decided()
    factories.DecisionFactory(db=DB, id="own", turn_id="s0:u", session_id="s0", decision="UPDATE_USER",
                              candidate_fact="x", origin="own")  # fmt: skip
    assert chosen(ada) == (["d0"], 0)


def test_a_turn_that_led_to_a_write_of_the_file_is_done(ada, workspace, endpoint):
    decided()
    wrote(DB, 1, None, b"x\n", turn_id="s0:u", target_file="USER.md")
    assert chosen(ada) == ([], 0)


def test_words_of_somebody_who_opted_out_are_never_sent(ada, workspace, endpoint):
    decided(0)
    decided(1, turn=False)
    configuration.put("collector.optedOutSenders", ["mallory"])
    assert chosen(ada) == ([], 2)  # nobody can tell who said it
    assert "2 facts were withheld" in run(ada).message
    assert not endpoint.requests and runs() == []


def test_a_file_with_lines_of_theirs_is_never_sent(ada, workspace, endpoint):
    one = proposal(ada, endpoint=endpoint)
    approve(ada, one)
    decided(5, decision="UPDATE_TOOLS")
    configuration.put("collector.optedOutSenders", ["mallory"])
    facts_of = facts.Memory(ada)
    assert facts_of.hidden == {"USER.md"}
    (workspace / "USER.md").write_text("# User\n")
    assert facts.Memory(ada).hidden == frozenset()


@pytest.mark.parametrize("more, left", [(b"++ Has a dog.\n", 1), (b"".join(b"- %d\n" % n for n in range(5_000)), 1)])
def test_lines_of_theirs_are_found_however_they_begin_and_however_many_there_were(ada, workspace, more, left):
    decided(0)
    wrote(DB, 1, b"# User\n", b"# User\n" + more, turn_id="s0:u", target_file="USER.md")
    configuration.put("collector.optedOutSenders", ["mallory"])
    (workspace / "USER.md").write_bytes(b"# User\nMine.\n" + b"".join(more.splitlines(keepends=True)[-left:]))
    assert facts.Memory(ada).hidden == {"USER.md"}
    (workspace / "USER.md").write_bytes(b"# User\nMine.\n")
    assert facts.Memory(ada).hidden == frozenset()


def test_opting_out_between_a_plan_and_its_turn(ada, workspace, endpoint):
    decided()

    def opt_out(*_told):
        configuration.put("collector.optedOutSenders", ["mallory"])

    endpoint.then(read(), refuse())
    run(ada, listener=opt_out)
    assert not endpoint.requests and audits() == []
