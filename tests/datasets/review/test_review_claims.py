"""Two people never hold the same sample."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from datasets.models import DatasetSample, FindingValue, SampleClaim, SampleLabel
from datasets.review import bulk, claims, verdicts
from datasets.review.queues import Queue
from openclaw_web import clock
from openclaw_web.errors import Refused
from tests.datasets.threads import call_and_close, global_file  # noqa: F401 - a fixture
from tests.factories import T0, AgentFactory, SampleFactory

pytestmark = pytest.mark.django_db
ALL = Queue()


@pytest.fixture
def now(monkeypatch):
    """A clock that a test sets."""

    class Now:
        ms = T0

    monkeypatch.setattr(clock, "now_ms", lambda: Now.ms)
    return Now


def samples(*names, **values):
    """Add samples in this order of the queue."""
    for number, name in enumerate(names):
        SampleFactory(id=name, **{"created_at": 1000 - number, **values})


def values(*hashes):
    """Add found values with these hashes."""
    for name in hashes:
        FindingValue.objects.create(value_hash=name, kind="email", rule="r", confidence=1, first_found_at=1)


EITHER_KIND = pytest.mark.parametrize(("kind", "add"), [(claims.SAMPLE, samples), (claims.VALUE, values)])


def next_for(who, queue=ALL, **place):
    claim = claims.take_next(queue, by=who, **place)
    return claim and claim.sample_id


def test_it_works(ada, now):
    samples("a", "b", "c")
    assert [next_for("ann"), next_for("bea"), next_for("ann")] == ["a", "b", "a"]
    assert next_for("ann", after="a") == "c"
    assert next_for("bea", after="b") == "b"  # Ann holds c, and after the last sample the queue starts again


def test_a_claim_runs_out_and_is_taken_over(ada, now):
    samples("a")
    assert next_for("ann") == "a"
    assert next_for("bea") is None
    now.ms += claims.LIFETIME_MS
    assert next_for("bea") == "a"
    with pytest.raises(Refused, match=r"bea has this sample open \(90 s left\)"):
        claims.renew("a", by="ann")


@EITHER_KIND
def test_renewing_keeps_it(ada, now, kind, add):
    add("a")
    first = claims.take("a", by="ann", kind=kind)
    for _ in range(5):
        now.ms += claims.LIFETIME_MS - 1
        assert claims.renew("a", by="ann", kind=kind).since == first.since
        assert claims.take("a", by="bea", kind=kind) is None
    now.ms += claims.LIFETIME_MS
    assert claims.take("a", by="bea", kind=kind)
    with pytest.raises(Refused, match=rf"bea has this {kind} open \(90 s left\)"):
        claims.renew("a", by="ann", kind=kind)


@EITHER_KIND
def test_a_page_that_was_left_does_not_free_what_another_page_has(ada, now, kind, add):
    add("a")
    old = claims.take("a", by="ann", kind=kind)
    now.ms += 5
    claims.take("a", by="ann", kind=kind)
    assert not claims.release("a", by="ann", since=old.since)
    assert not claims.release("a", by="bea")
    assert claims.take("a", by="bea", kind=kind) is None
    assert claims.release("a", by="ann")
    assert claims.take("a", by="bea", kind=kind)


@EITHER_KIND
def test_there_is_no_claim_on_what_is_not_there(ada, now, kind, add):
    add("other")
    assert claims.take("none", by="ann", kind=kind) is None
    assert not SampleClaim.objects.exists()


def test_a_claim_is_on_something_of_its_kind(ada, now):
    samples("a")
    values("v")
    assert claims.take("a", by="ann", kind=claims.VALUE) is None
    assert claims.take("v", by="ann") is None
    assert not SampleClaim.objects.exists()


def test_each_kind_has_a_limit_of_its_own_and_values_are_in_no_number_of_samples(ada, now):
    names = [f"{number:02}" for number in range(claims.MOST_HELD + 2)]
    samples(*(f"s{name}" for name in names))
    values(*(f"v{name}" for name in names))
    for name in names:
        now.ms += 1
        claims.take(f"s{name}", by="ann")
        claims.take(f"v{name}", by="ann", kind=claims.VALUE)
    held = set(SampleClaim.objects.values_list("sample_id", "kind"))
    assert held == {(f"{kind[0]}{name}", kind) for name in names[2:] for kind in (claims.SAMPLE, claims.VALUE)}
    assert [holder.sample_count for holder in claims.find_holders(ALL, besides="bea")] == [claims.MOST_HELD]
    scope = bulk.Scope(DatasetSample.objects.all())
    assert (bulk.plan_bulk(scope, by="bea").count, bulk.plan_bulk(scope, by="bea").held) == (8, claims.MOST_HELD)


def test_nobody_takes_the_whole_queue(ada, now):
    samples(*(f"s{number:02}" for number in range(20)))
    sample_id = next_for("ann")
    for _ in range(15):
        now.ms += 1
        sample_id = next_for("ann", after=sample_id)
    assert SampleClaim.objects.count() == claims.MOST_HELD
    assert next_for("bea") == "s00"


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        (Queue(), ["a", "b", "c", "d"]),
        (Queue("pending"), ["a", "c", "d"]),
        (Queue("needs_review"), ["b"]),
        (Queue(agent="bob"), ["c"]),
        (Queue(session="other"), ["b", "d"]),
        (Queue(type="annotated_turn", session="other", name="pending"), ["d"]),
        (Queue(type="memory_gate_positive"), []),
    ],
)
def test_filters(ada, bob, now, queue, expected):
    samples("a")
    samples("b", created_at=900, annotation_status="needs_review", session_id="other")
    samples("c", created_at=800, agent_id="bob")
    samples("d", created_at=800 - 1, session_id="other")
    samples("x", created_at=2000, annotation_status="approved")
    taken = []
    while claim := claims.take_next(queue, by="ann", besides=tuple(taken)):
        taken.append(claim.sample_id)
    assert taken == expected


def test_nobody_holds_the_whole_queue(ada, now):
    ids = [f"s{number}" for number in range(30)]
    samples(*ids)
    for sample_id in ids:
        now.ms += 1
        claims.take(sample_id, by="ann")
        claims.renew(sample_id, by="ann")
    assert set(SampleClaim.objects.values_list("sample_id", flat=True)) == set(ids[-claims.MOST_HELD :])
    for _step in range(30):
        claim = claims.take_next(ALL, by="bea", after=ids[0])
        verdicts.skip_and_take_next(ALL, "s0", by="bea", ahead=claim.sample_id)
    assert SampleClaim.objects.filter(claimed_by="bea").count() <= claims.MOST_HELD


class Claims(RuleBasedStateMachine):
    """In any order of actions, a sample has one holder, and only the holder's verdict counts."""

    people = st.sampled_from(["ann", "bea", "cid"])
    names = st.sampled_from(["a", "b", "c", "d"])

    def __init__(self):
        super().__init__()
        self.now = T0
        self.held = {}  # the holder of each sample and the end of the claim, as returned
        self.real = clock.now_ms
        clock.now_ms = lambda: self.now
        SampleClaim.objects.all().delete()
        DatasetSample.objects.update(annotation_status="pending", label_id=None)

    def teardown(self):
        clock.now_ms = self.real

    def live(self):
        return {name: who for name, (who, until) in self.held.items() if until > self.now}

    @rule(who=people)
    def take_next(self, who):
        claim = claims.take_next(ALL, by=who)
        waiting = set(DatasetSample.objects.filter(annotation_status="pending").values_list("id", flat=True))
        free = {name for name in waiting if self.live().get(name, who) == who}
        assert (claim is None) == (not free)
        if claim:
            assert claim.sample_id == min(free)
            self.held[claim.sample_id] = (who, claim.expires_at)

    @rule(who=people, name=names)
    def take(self, who, name):
        claim = claims.take(name, by=who)
        assert (claim is None) == (self.live().get(name, who) != who)
        if claim:
            self.held[name] = (who, claim.expires_at)

    @rule(who=people, name=names)
    def release(self, who, name):
        if claims.release(name, by=who):
            assert self.held.pop(name)[0] == who

    @rule(who=people, name=names)
    def judge(self, who, name):
        holder = self.live().get(name, who)
        try:
            verdicts.label_sample(name, "approved", by=who, expected_status="pending")
        except Refused:
            sample = DatasetSample.objects.get(id=name)
            assert holder != who or sample.annotation_status == "approved"
        else:
            assert holder == who
            if self.held.get(name, (who, 0))[0] == who:
                self.held.pop(name, None)

    @rule(ms=st.integers(1, claims.LIFETIME_MS))
    def wait(self, ms):
        self.now += ms

    @invariant()
    def stored_claims_are_those_that_were_told(self):
        rows = SampleClaim.objects.filter(expires_at__gt=self.now).values_list("sample_id", "claimed_by")
        assert dict(rows) == self.live()


class TestClaims(TestCase):
    databases = ["default", "agent_ada", "agent_bob"]

    def test_every_order_of_steps(self):
        AgentFactory()
        samples("a", "b", "c", "d")
        run_state_machine_as_test(Claims, settings=settings(max_examples=25, stateful_step_count=20, deadline=None))


def test_eight_people_at_once_judge_every_sample_once(global_file):  # noqa: F811
    count, people = 80, 8
    start = threading.Barrier(people)

    def work(who):
        start.wait()
        done, claim = [], claims.take_next(ALL, by=who)
        while claim:
            done.append(claim.sample_id)
            verdict = {"status": "approved", "expected_status": "pending"}
            _sample, claim = verdicts.label_and_take_next(ALL, claim.sample_id, verdict, by=who)
        return done

    with ThreadPoolExecutor(people) as threads:
        threads.submit(call_and_close, samples, *(f"s{number:03}" for number in range(count))).result()
        futures = [threads.submit(call_and_close, work, f"person{number}") for number in range(people)]
        done = [name for future in futures for name in future.result()]
        stored = threads.submit(call_and_close, list, SampleLabel.objects.values_list("sample_id", flat=True)).result()
    assert len(done) == len(set(done)) == count
    assert sorted(stored) == sorted(done)
