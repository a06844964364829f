from hypothesis import given
from hypothesis import strategies as st

from ledger.transcripts.trees import Node, Tree


def chain(*ids, users=()):
    parents = [None, *ids]
    return [Node(n, each, parents[n], each in users) for n, each in enumerate(ids)]


def test_the_branch_runs_from_the_leaf_to_the_root():
    nodes = [*chain("a", "b", "c"), Node(3, "d", "b", False)]
    assert Tree(nodes).active(None) == {"a", "b", "d"}
    assert Tree(nodes).active("c") == {"a", "b", "c"}


def test_a_missing_parent_is_replaced_by_the_record_before():
    nodes = [*chain("a", "b"), Node(2, "d", "lost", False)]
    assert Tree(nodes).active(None) == {"a", "b", "d"}


def test_a_loop_ends():
    nodes = [Node(0, "a", "b", False), Node(1, "b", "a", False)]
    assert Tree(nodes).active(None) == {"a", "b"}


def test_records_belong_to_the_nearest_user_above_them():
    nodes = [*chain("u1", "a1", "u2", "a2", users={"u1", "u2"}), Node(4, "a3", "u1", False)]
    tree = Tree(nodes)
    turns = tree.turns(tree.active(None))
    assert [(turn.user.record_id, turn.is_active, [node.record_id for node in turn.nodes]) for turn in turns] == [
        ("u1", True, ["u1", "a1", "a3"]),
        ("u2", False, ["u2", "a2"]),
    ]


@st.composite
def forests(draw):
    count = draw(st.integers(1, 30))
    ids = [f"n{index}" for index in range(count)]
    choices = st.sampled_from([None, "nowhere", *ids])
    return [Node(index, ids[index], draw(choices), draw(st.booleans())) for index in range(count)]


@given(forests(), st.integers(0, 40))
def test_any_tangle_gives_each_record_one_turn_and_a_branch_that_holds_its_leaf(nodes, leaf):
    tree = Tree(nodes)
    active = tree.active(f"n{leaf}")
    turns = tree.turns(active)
    members = [node.record_id for turn in turns for node in turn.nodes]
    assert len(members) == len(set(members))
    assert {turn.user.record_id for turn in turns} == {node.record_id for node in nodes if node.starts_turn}
    assert (f"n{leaf}" if leaf < len(nodes) else nodes[-1].record_id) in active


@given(forests(), st.data())
def test_growing_a_transcript_line_by_line_comes_to_the_same_turns(nodes, data):
    whole = {turn.user.record_id: {node.record_id for node in turn.nodes} for turn in Tree(nodes).turns(set())}
    cut = data.draw(st.integers(1, len(nodes)))
    seen_later = {node.record_id for node in nodes[cut:]}
    if any(node.parent_id in seen_later for node in nodes[:cut]):
        return  # a parent that is yet to come: only a damaged file has one
    part = {turn.user.record_id: {node.record_id for node in turn.nodes} for turn in Tree(nodes[:cut]).turns(set())}
    assert all(members <= whole[user] for user, members in part.items())
