"""Statistics of people's verdicts on decisions, and random draws of decisions for review."""

import re
from collections import Counter
from datetime import UTC, datetime
from html import unescape

import orjson
import pytest
from ulid import ULID

from datasets.decision_samples import replays
from datasets.models import DatasetSample, ReviewDraw, SampleLabel
from datasets.review import undo
from gate import verdict_store
from gate.models import GateVerdictDay, MemoryGateDecision
from gate.statistics import random_draw
from gate.statistics.figures import Period
from gate.statistics.verdict_summary import VerdictCount
from openclaw_web.sqlite import statements
from tests.datasets.conversations import store_turns
from tests.datasets.decision_samples.test_gate_exports import judge_decision
from tests.datasets.kinds.gates import FACT, store_decision
from tests.factories import T0

pytestmark = pytest.mark.django_db
PAGE, LIST, DRAW = "/agents/ada/gate/statistics/", "/agents/ada/gate/", "/agents/ada/draw-decisions/"
DAY_MS = 86_400_000
DAY = str(datetime.fromtimestamp(T0 / 1000, UTC).date())
COUNT = 12


@pytest.fixture
def decided(ada):
    """Twelve decisions of two days, NO_WRITE and UPDATE_USER in turn."""
    store_turns(COUNT)
    for number in range(COUNT):
        fact = FACT if number % 2 else None
        named = {"decision": "UPDATE_USER" if fact else "NO_WRITE", "candidate_fact": fact}
        store_decision(f"d{number}", turn=f"s1:u{number + 1}", created_at=T0 + number + DAY_MS * (number > 5), **named)
    return ada


def judge(agent, **verdicts):
    for name, verdict in verdicts.items():
        judge_decision(agent, name, verdict)


def read_rows(page):
    """The cells of the table of verdicts and their links, by row."""
    table = page.text.partition('id="verdicts"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    cells = {}
    for row in table.split("</tr>")[:-1]:
        words = [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)
        ]
        cells[words[0]] = words[1:], [unescape(href) for href in re.findall(r'href="([^"]*)"', row)]
    return cells


def counted(client, address):
    """The number of rows of a list."""
    return len(orjson.loads(b"".join(client.get(f"{address}&format=json"))))


def test_every_number_is_that_of_its_list(as_stranger, decided):
    judge(decided, d0="right", d1="wrong", d3="right", d7="right", d9="wrong")
    page = as_stranger.get(PAGE)
    rows = read_rows(page)
    assert rows["UPDATE_USER"][0] == ["6", "4", "2", "2", "50%", "15–85%"]
    assert rows["NO_WRITE"][0] == ["6", "1", "1", "0", "100%", "21–100%"]
    assert rows["All"][0] == ["12", "5", "3", "2", "60%", "23–88%"]
    assert "Judged 5 of 12 decisions: 3 right (60%, 95% interval 23–88%)." in page.text
    for words, addresses in rows.values():
        assert [int(number) for number in words[:4] if number != "0"] == [
            counted(as_stranger, href) for href in addresses
        ]
    dots = re.findall(r'<a class="chart__point" href="([^"]*verdict=[^"]*)" aria-label="([^"]*)"', page.text)
    assert len(dots) == 4  # right and wrong of two days
    for address, label in dots:
        assert counted(as_stranger, unescape(address)) == int(label.rsplit(" ", 1)[1])
    api = as_stranger.get("/api/v1/agents/ada/gate/statistics").json()["judged"]
    assert (api["count"], api["right"], [round(end, 2) for end in api["interval"]]) == (5, 3, [0.23, 0.88])
    assert api["decisions"]["UPDATE_USER"]["right"] == 2 and api["decisions"]["UPDATE_SOUL"]["interval"] is None
    listed = as_stranger.get("/api/v1/agents/ada/gate/decisions?verdict=wrong").json()["items"]
    assert {row["id"] for row in listed} == {"d1", "d9"}


def test_a_verdict_that_changes_or_is_taken_back_counts_as_it_is_now(as_stranger, decided):
    judge(decided, d1="right", d3="right")
    assert read_rows(as_stranger.get(PAGE))["All"][0][1:4] == ["2", "2", "0"]
    judge(decided, d1="wrong")
    assert read_rows(as_stranger.get(PAGE))["All"][0][1:4] == ["2", "1", "1"]
    undo.undo("ann")
    undo.undo("ann")
    assert read_rows(as_stranger.get(PAGE))["All"][0][1:4] == ["1", "1", "0"]


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_copies_are_the_same_in_pieces_and_made_again(decided, monkeypatch, piece):
    monkeypatch.setattr(replays, "PIECE", piece)
    judge(decided, d0="right", d1="wrong", d7="wrong")
    judge(decided, d1="right")
    verdict_store.copy_all(decided)
    totals = sorted(GateVerdictDay.objects.using(decided.db).values_list("decision", "verdict", "total"))
    assert totals == [("NO_WRITE", "right", 1), ("UPDATE_USER", "right", 1), ("UPDATE_USER", "wrong", 1)]
    verdict_store.store_verdicts(
        decided.db, {}, before=verdict_store.read_label_place(decided.db), place=10**6
    )  # of a later global file
    verdict_store.copy_all(decided)
    assert sorted(GateVerdictDay.objects.using(decided.db).values_list("decision", "verdict", "total")) == totals
    assert verdict_store.read_label_place(decided.db) == SampleLabel.objects.count()


def test_while_many_verdicts_are_copied_the_page_says_so(as_stranger, decided, monkeypatch):
    monkeypatch.setattr(replays, "PIECE", 1)
    judge(decided, d0="right", d1="wrong")
    statements.run(decided.db, "PRAGMA query_only = ON")  # as on a full disk: the page shows the stored copies
    try:
        assert "Verdicts are being counted" in as_stranger.get(PAGE).text
    finally:
        statements.run(decided.db, "PRAGMA query_only = OFF")
    assert "Verdicts are being counted" in as_stranger.get(PAGE).text
    assert "Verdicts are being counted" not in as_stranger.get(PAGE).text


@pytest.mark.parametrize(
    ("right", "count", "interval"),
    [(0, 10, (0.0, 0.278)), (36, 41, (0.745, 0.947)), (12, 30, (0.246, 0.577)), (5, 5, (0.566, 1.0))],
)
def test_the_interval_is_the_score_interval(right, count, interval):
    assert VerdictCount(count, right).interval == pytest.approx(interval, abs=0.001)


class TestDraw:
    def press(self, client, draw_id, **more):
        return client.post(DRAW, {"draw": draw_id, "from": DAY, **more}, follow=True)

    def test_it_opens_a_queue_of_what_nobody_judged(self, as_reviewer, decided):
        judge(decided, d0="right", d1="wrong")
        page = as_reviewer.get(PAGE)
        assert "Judge 20 at random" in page.text
        draw_id = re.search(r'name="draw" value="(\w+)"', page.text)[1]
        answer = self.press(as_reviewer, draw_id)
        assert answer.redirect_chain[-1][0] == f"/review/?draw={draw_id}"
        assert "10 decisions were drawn at random." in answer.text
        assert "Drawn at random" in answer.text
        waiting = DatasetSample.objects.filter(annotation_status="needs_review").exclude(decision_id="d1")
        assert {sample.decision_id for sample in waiting} == {f"d{number}" for number in range(2, COUNT)}

    def test_pressed_twice_it_draws_once(self, as_reviewer, decided, monkeypatch):
        monkeypatch.setattr("datasets.decision_samples.draws.COUNT", 3)
        draw_id = str(ULID())
        self.press(as_reviewer, draw_id)
        made = set(DatasetSample.objects.values_list("id", flat=True))
        assert len(made) == 3
        self.press(as_reviewer, draw_id)
        assert set(DatasetSample.objects.values_list("id", flat=True)) == made
        ReviewDraw.objects.all().delete()  # as if both presses came at the same moment
        self.press(as_reviewer, draw_id)
        assert set(DatasetSample.objects.values_list("id", flat=True)) == made

    def test_only_of_the_days_and_filters(self, as_reviewer, decided):
        self.press(as_reviewer, str(ULID()), to=DAY)
        assert {sample.decision_id for sample in DatasetSample.objects.all()} == {f"d{number}" for number in range(6)}
        answer = self.press(as_reviewer, str(ULID()), model="another")
        assert "No decision was drawn" in answer.text

    @pytest.mark.parametrize("data", [{}, {"draw": "x"}, {"draw": "0" * 26, "from": "2026-02-02", "to": "2026-01-01"}])
    def test_what_no_page_sends_is_refused(self, as_reviewer, decided, data):
        as_reviewer.post(DRAW, data)
        assert not ReviewDraw.objects.exists()

    def test_of_many_each_is_as_likely(self, decided, monkeypatch):
        """The method for many decisions, used on few: each decision comes first about equally often."""
        monkeypatch.setattr(random_draw, "FEW", 0)
        judge(decided, d5="right")
        verdict_store.copy_all(decided)
        day = datetime.fromtimestamp(T0 / 1000, UTC).date()
        period = Period(day, datetime.fromtimestamp((T0 + DAY_MS) / 1000, UTC).date())
        first = Counter(next(random_draw.draw_decisions(decided.db, period, seed=f"{n}")) for n in range(1_100))
        assert "d5" not in first and len(first) == COUNT - 1
        assert max(first.values()) < 2 * min(first.values())
        ids = list(random_draw.draw_decisions(decided.db, period, seed="one"))
        assert sorted(ids) == sorted(row.id for row in MemoryGateDecision.objects.using(decided.db) if row.id != "d5")
        assert ids == list(random_draw.draw_decisions(decided.db, period, seed="one"))
