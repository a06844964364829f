"""Coverage of a dataset, a release or a filter: shares beside the traffic, gaps, prices; page, API and command."""

import pytest
from django.db.models import Sum
from hypothesis import given
from hypothesis import strategies as st

from agents.models import Agent
from collecting import collect
from datasets.coverage import items
from datasets.coverage.items import find_language
from datasets.models import DatasetSample
from datasets.services import make_samples
from jobs.progress import Progress
from ledger.models import Session
from overview.models import AgentDailyStat
from people.configuration import setting_values
from tests.collecting.test_collect_real_homes import HOMES
from tests.datasets.coverage.traffic import API, PAGE, add_turn, list_gaps, read_shares
from tests.datasets.page_text import read_text
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import find_links, list_samples
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal, run_verb
from tests.factories import AgentFactory, SampleFactory, SessionFactory, TurnFactory

pytestmark = pytest.mark.django_db
CHINESE = "导入在最后一行失败了，请检查 import.csv 文件。"


@pytest.fixture
def traffic(ada, bob):
    """Ten turns of ada, of which four are approved samples: two Chinese ones are not, nor is any with the tool read."""
    for number in range(4):
        tools = ("exec", "write") if number else ()
        add_turn(f"good-{number}", tools=tools, cost=0.25, status="approved", annotated_by="ann")
    for number in range(2):
        add_turn(f"chinese-{number}", CHINESE, tools=("exec",), status="pending")
    for number in range(4):
        add_turn(f"rest-{number}", "x" * 500, tools=("read",), day=1 if number else 0, cost=0.5)
    add_turn("bob-1", agent="bob", cost=9)


def test_the_shares_are_those_of_samples_and_of_turns_on_the_same_days(as_stranger, traffic):
    shares = read_shares(as_stranger)
    # The first day has the four good turns, the two Chinese ones and one of the others.
    assert shares["language", "latin"] == (1, pytest.approx(5 / 7)) and shares["language", "chinese"][0] == 0
    assert shares["tool", "exec"] == (0.75, pytest.approx(5 / 7)) and shares["tool", ""] == (0.25, pytest.approx(1 / 7))
    assert shares["tool", "read"] == (0, pytest.approx(1 / 7)) and shares["tool", "write"][0] == 0.75
    assert shares["length", "under_200"] == (1, pytest.approx(6 / 7))
    assert shares["agent", "ada"] == shares["month", "2026-01"] == shares["task", "reply"] == (1, 1)
    assert shares["score", ""] == shares["reviewer", "ann"] == (1, None)
    assert ("agent", "bob") not in shares


def test_gaps_lead_to_turns_or_samples_that_fill_them(as_stranger, traffic):
    assert list_gaps(as_stranger) == [("language", "chinese"), ("length", "200_to_1000"), ("tool", "read")]
    page = as_stranger.get(PAGE).text
    links = find_links(page)
    assert "/turns/?from=2026-01-05&to=2026-01-05&tool=read" in links
    turns = as_stranger.get("/turns/?from=2026-01-05&to=2026-01-05&tool=read").text
    assert "rest-0" in turns and "rest-1" not in turns
    [waiting] = {link for link in links if "gap=language" in link}
    assert sorted(list_samples(as_stranger.get(waiting).text)) == ["x-chinese-0-1", "x-chinese-1-1"]
    assert "Chinese 28.6% of the traffic, 0.0% of the samples" in read_text(as_stranger.get(PAGE))


def test_scores_have_buckets_and_unknown_is_one_of_its_own(as_stranger, traffic):
    DatasetSample.objects.filter(id="x-good-0-1").update(quality_score=0.83)
    DatasetSample.objects.filter(id="x-good-1-1").update(quality_score=1.0)
    shares = read_shares(as_stranger)
    scores = {name: share for (dimension, name), (share, _traffic) in shares.items() if dimension == "score"}
    assert scores == {"8": 0.25, "9": 0.25, "": 0.5}


def test_turns_that_cannot_be_samples_are_no_traffic(as_stranger, traffic):
    session = SessionFactory(id="others")
    cron = SessionFactory(id="cron", session_key="agent:ada:cron:daily")
    TurnFactory(session=session, turn_number=1, agent_message_id=None, agent_message_content="")
    TurnFactory(session=session, turn_number=2, agent_message_id="a2", is_active=False)
    TurnFactory(session=session, turn_number=3, agent_message_id="a3", repeat_of="good-0")
    TurnFactory(session=session, turn_number=4, agent_message_id="a4", answer_state="silent")
    TurnFactory(session=cron, turn_number=1, agent_message_id="a5")
    assert as_stranger.get(API).json()["turns"] == 7


def test_words_of_people_who_opted_out_are_not_computed_on(as_stranger, traffic):
    setting_values.put("collector.optedOutSenders", ["somebody"], by="root")
    shares = read_shares(as_stranger)
    assert not [key for key in shares if key[0] in ("language", "length")]
    assert as_stranger.get(API).json()["turns"] == 0


def test_many_samples_and_turns_are_estimated(as_stranger, traffic, monkeypatch):
    monkeypatch.setattr(items, "MOST_READ", 2)
    monkeypatch.setattr("datasets.coverage.shares.MOST_READ", 2)
    answer = as_stranger.get(API).json()
    assert answer["is_estimated"] and answer["samples"] == 4
    tasks = [row for row in answer["buckets"] if row["dimension"] == "task"]
    assert [(row["count"], row["share"], row["traffic"]) for row in tasks] == [(4, 1, 1)]
    assert "Shares are estimated" in as_stranger.get(PAGE).text


def test_prices_are_those_of_turns_and_of_the_overview(as_stranger, traffic):
    # A second sample of a turn counts as a row; the usage of its turn counts once.
    SampleFactory(
        id="second", sample_type="memory_gate_positive", turn_id="good-0:u1", session_id="good-0",
        annotation_status="approved",
    )  # fmt: skip
    query = {"task": "gate"}
    answer = as_stranger.get(API, query).json()
    price = answer["price"]
    assert (price["samples"], price["turn_cost"], price["cost"]) == (5, 1.0, 3.0)
    assert (price["turn_tokens"], price["tokens"], price["unpriced"]) == (40, 100, 10)
    assert price["per_sample"] == pytest.approx(0.6) and [row["agent_id"] for row in answer["prices"]] == ["ada"]
    usage = AgentDailyStat.objects.filter(agent_id="ada").aggregate(cost=Sum("cost_usd"))["cost"]
    assert sum(row["cost"] for row in answer["prices"]) == pytest.approx(usage)
    assert "$0.60" in as_stranger.get(PAGE, query).text
    DatasetSample.objects.filter(id="second").update(turn_id="gone:u1")
    months = {row["month"]: row["samples"] for row in as_stranger.get(API, query).json()["prices"]}
    assert months == {"": 1, "2026-01": 4}


def test_above_a_number_of_samples_the_command_computes_prices(as_stranger, traffic, monkeypatch):
    for module in ("views", "words"):
        monkeypatch.setattr(f"datasets.coverage.{module}.MOST_PRICED", 3)
    assert as_stranger.get(API).json()["price"] is None
    assert "The command" in as_stranger.get(PAGE).text
    assert read_receipt("coverage")["coverage"]["price"]["samples"] == 4


@pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
@pytest.mark.parametrize("name", ["openclaw-2026.2.26", "openclaw-2026.9.6"])
def test_prices_of_real_homes_add_up_to_the_usage(real_files, as_stranger, name):
    collect.run({"source": str(HOMES / name), "include_deleted": True}, Progress())
    for agent in Agent.objects.all():
        for session_id in Session.objects.using(agent.db).values_list("id", flat=True):
            make_samples(agent, session_id, None, by="ann", status="approved", include_excluded=True)
    DatasetSample.objects.update(privacy_checked=True, prompted_by="", turn_traits="", reply_stop="stop")
    answer = as_stranger.get(API).json()
    overview = as_stranger.get("/api/v1/overview/agents").json()["items"]
    agents = {row["agent_id"]: row["cost_usd"] or 0 for row in overview}
    named = {row["agent_id"] for row in answer["prices"]}
    assert answer["samples"] == answer["price"]["samples"] > 0 and named
    assert answer["price"]["cost"] == pytest.approx(sum(agents[name] for name in named), abs=0.005)
    assert sum(row["cost"] for row in answer["prices"]) == pytest.approx(answer["price"]["cost"], abs=1e-9)
    assert answer["price"]["turn_cost"] <= answer["price"]["cost"] + 1e-9
    assert answer["turns"] <= sum(row["turn_count"] for row in overview)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The import failed.", "latin"),
        ("L’importation a échoué", "latin"),
        (CHINESE, "chinese"),
        ("Run `openclaw collect --again` and read the log: 完成", "latin"),
        ("インポートは最後の行で失敗しました", "japanese"),
        ("가져오기에 실패했습니다", "korean"),
        ("Импорт не удался", "cyrillic"),
        ("فشل الاستيراد", "arabic"),
        ("👍", "other"),
        ("", "other"),
        ("η εισαγωγή", "other"),
    ],
)
def test_a_language_is_told_by_its_letters(text, language):
    assert find_language(text) == language


@given(st.text(alphabet="导入在最后行失败", min_size=1), st.text(alphabet="abc ", max_size=20))
def test_a_chinese_text_with_some_code_is_chinese(chinese, code):
    words = len(code.split())
    assert (find_language(chinese + code) == "chinese") == (0.6 * len(chinese) >= 0.2 * (0.6 * len(chinese) + words))


def test_the_command_says_the_same_as_the_api(as_stranger, traffic):
    report = read_receipt("coverage", "--next", 5)["coverage"]
    assert report == as_stranger.get(API, {"next": 5}).json()
    status, out, _error = run_verb("coverage", "--sample-filter", "agent:ada", "--next", 1)
    assert status == 0 and "Samples: 4. Turns: 7, from 2026-01-05 to 2026-01-05 (UTC)" in out
    assert "x-chinese-0-1  " in out or "x-chinese-1-1  " in out
    assert "A good row costs $0.75" in out
    assert "There is no dataset named nothing" in read_refusal("coverage", "nothing")
    assert "Name the dataset" in read_refusal("coverage", "--number", 1)
    assert run_verb("coverage", "--next", 501)[0] == 2


@pytest.mark.parametrize(
    "query", [{"dataset": "nothing"}, {"number": "1"}, {"sample_filter": "agnt:ada"}, {"task": "x"}, {"gap": "x:y"}]
)
def test_an_address_that_names_nothing_is_refused(as_stranger, query):
    for address in (PAGE, f"{PAGE}next/", *([] if "gap" in query else [API])):
        assert as_stranger.get(address, query).status_code == 409


def test_a_dataset_without_samples_says_so(as_stranger, ada):
    assert "No approved samples yet" in as_stranger.get(PAGE, {"dataset": make_dataset().name}).text


def test_a_dataset_and_its_release_have_their_own(as_stranger, real_files):
    AgentFactory()
    for number in range(3):
        add_turn(f"s{number}", f"Reply {number}", status="approved")
    dataset = make_dataset(train_split=1)
    version = make_release(dataset)
    add_turn("later", CHINESE, status="approved")
    assert as_stranger.get(API, {"dataset": "support"}).json()["samples"] == 4
    assert as_stranger.get(API, {"dataset": dataset.id, "number": 1}).json()["samples"] == 3
    assert as_stranger.get(API, {"sample_filter": "session:later"}).json()["samples"] == 1
    page = as_stranger.get(version.get_absolute_url()).text
    assert f"{PAGE}?dataset={dataset.id}&number=1" in find_links(page)
    page = as_stranger.get(dataset.get_absolute_url()).text
    assert f'hx-get="{PAGE}?dataset={dataset.id}"' in page
    part = as_stranger.get(PAGE, {"dataset": dataset.id}, headers={"HX-Request": "true"}).text
    assert part.strip().startswith('<section class="panel stack" id="price"') and "<title>" not in part
