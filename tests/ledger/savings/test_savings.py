"""The page of an agent's savings: what keeping big outputs off the prompt would save."""

import re

import pytest

from ledger.models import ToolDay, TranscriptEvent
from ledger.savings.prompts import percentile
from openclaw_web import clock
from tests.factories import T0, SessionFactory, TurnFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import get_text, store_session

PAGE = "/agents/ada/savings/"
API = "/api/v1/agents/ada/savings"
DAY_MS = 86_400_000
LONG = "a line of a log\n" * 1_000
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]


@pytest.fixture(autouse=True)
def today(monkeypatch):
    """The day the records are from."""
    monkeypatch.setattr(clock, "now_ms", lambda: T0 + DAY_MS)


def outputs(*texts, session_id="s1", tool="exec", at=T0):
    """A session of one turn that got these outputs."""
    records = [user("go") | {"timestamp": at}]
    for number, text in enumerate(texts):
        records.append(assistant("", (f"c{number}", tool, {})) | {"timestamp": at})
        records.append(result(f"c{number}", text, name=tool) | {"timestamp": at})
    return store_session(*records, assistant("done") | {"timestamp": at}, session_id=session_id)


def rows(page, heading):
    """The rows of the table under a heading, as lists of words."""
    table = page.split(f'<h2 id="{heading}">')[1].split("</table>")[0]
    matches = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL)
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]
        for row in matches
    ]


def test_it_works(client):
    outputs(LONG, "short", "short")
    page = get_text(client.get(PAGE))
    answer = client.get(API).json()
    totals = answer["totals"]
    assert (totals["stashed_count"], totals["stashed_chars"], answer["content_count"]) == (1, 16_000, 1)
    assert totals["saved_chars"] == 16_000 - totals["kept_chars"]
    assert totals["saved_tokens"] == round(totals["saved_chars"] / 4)
    assert totals["carried_chars"] == 3 * totals["saved_chars"]  # the calls for the two short ones, and the reply
    assert f"{totals['saved_chars']:,} characters" in page
    [row] = rows(page, "tools")
    assert row[0] == "exec"
    assert row[2:6] == ["3", "3", "0%", "16,010"]
    assert row[7:9] == ["100%", "100%"]
    [largest] = rows(page, "largest")
    assert largest[1:4] == ["exec", "16,000", "4.0k"]
    use = answer["largest"][0]
    assert f'href="/agents/ada/artifacts/{use["handle"][-64:]}/"' in page
    assert f'href="/agents/ada/sessions/s1/records/{use["record_id"]}/"' in page
    assert 'id="repeated"' not in page


def test_contents_of_repeated_records_are_left_out(client):
    outputs(LONG)
    outputs(LONG + "and more", session_id="s2")
    assert client.get(API).json()["content_count"] == 2
    TranscriptEvent.objects.using("agent_ada").filter(session_id="s2").update(repeat_of="s1")
    assert client.get(API).json()["content_count"] == 1
    for address in (PAGE, "/agents/ada/sessions/s1/savings/", "/agents/ada/sessions/s2/savings/"):
        assert client.get(address).status_code == 200


def test_links_of_the_lists_lead_somewhere(client):
    outputs(LONG, LONG)
    page = get_text(client.get(PAGE))
    links = set(re.findall(r'href="(/agents/ada/(?:artifacts|sessions)/[^"]+)"', page))
    assert len(links) >= 2
    assert {client.get(link).status_code for link in links} == {200}


def test_an_output_that_came_again_is_counted(client):
    outputs(LONG, LONG, LONG, "b" * 9_000, "b" * 9_000, "c" * 9_000)
    answer = client.get(API).json()
    assert answer["content_count"] == 3
    assert [(use["chars"], use["uses"], use["wasted_chars"]) for use in answer["repeated"]] == [
        (16_000, 3, 32_000),
        (9_000, 2, 9_000),
    ]
    assert [row[2:5] for row in rows(get_text(client.get(PAGE)), "repeated")] == [
        ["3", "16,000", "32,000"],
        ["2", "9,000", "9,000"],
    ]


def test_more_than_models_read_is_no_share(client):
    """Models were shown less of the outputs than the transcript holds."""
    outputs(LONG, "short")
    answer, page = client.get(API).json(), get_text(client.get(PAGE))
    assert answer["carried_percent"] > 100
    assert "at most; models read" in page and f"{answer['carried_percent']}%" not in page


def test_prompts_lie_in_a_band(client):
    session = SessionFactory(id="s1")
    for number in range(1, 11):
        TurnFactory(session=session, turn_number=number, prompt_tokens=number * 1_000, created_at=T0 + number)
    TurnFactory(session=session, turn_number=11, prompt_tokens=9, is_active=False)
    page = get_text(client.get(PAGE))
    assert "Middle 80% of prompts (10 turns): 1,000 to 9,000 tokens, a factor of 9.0" in page
    assert "5 Jan 2026 (10 turns) · 90th percentile 9,000 · Median 5,000" in page
    assert 'class="chart__band"' in page
    prompts = client.get(API).json()["prompts"]
    assert prompts["band"] == {"low": 1_000, "high": 9_000, "times": 9.0, "count": 10}
    assert prompts["days"] == [{"date": "2026-01-05", "turn_count": 10, "median": 5_000, "high": 9_000}]


@pytest.mark.parametrize(
    ("values", "share", "expected"), [([7], 0.1, 7), ([1, 2], 0.5, 1), ([1, 2, 3], 0.5, 2), ([1, 2, 3], 0.9, 3)]
)
def test_a_percentile_is_one_of_the_values(values, share, expected):
    assert percentile(values, share) == expected


class TestFilters:
    def test_days(self, client, monkeypatch):
        outputs(LONG, session_id="old", at=T0 - 40 * DAY_MS)
        outputs("b" * 9_000, session_id="new")
        counts = [
            client.get(API, {"days": days}).json()["totals"]["stashed_chars"] for days in ("7", "35", "90", "365")
        ]
        assert counts == [9_000, 9_000, 25_000, 25_000]
        assert "16,000" in get_text(client.get(PAGE, {"days": "90"}))
        assert "16,000" not in get_text(client.get(PAGE))

    def test_days_end_with_the_latest_when_that_is_long_ago(self, client, monkeypatch):
        outputs(LONG)
        monkeypatch.setattr(clock, "now_ms", lambda: T0 + 400 * DAY_MS)
        assert client.get(API).json()["totals"]["stashed_chars"] == 16_000

    def test_tool_and_channel(self, client):
        outputs(LONG, session_id="s1")
        SessionFactory(id="s2", channel_id="telegram")
        outputs("b" * 9_000, session_id="s2", tool="read")
        assert client.get(API, {"tool": "exec"}).json()["totals"]["stashed_chars"] == 16_000
        assert client.get(API, {"channel": "telegram"}).json()["totals"]["stashed_chars"] == 9_000
        page = get_text(client.get(PAGE, {"tool": "exec", "days": "7"}))
        assert '<a class="chip" href="?days=7">' in page
        assert [use[1] for use in rows(page, "largest")] == ["exec"]
        assert '<a href="?channel=telegram&amp;tool=read">read</a>' in get_text(
            client.get(PAGE, {"channel": "telegram"})
        )

    @pytest.mark.parametrize("query", [{"days": "8"}, {"days": "x"}, {"tool": "x" * 300}, {"tool": "a\x00b"}])
    def test_what_cannot_be_is_refused(self, client, query):
        assert client.get(PAGE, query).status_code == 409

    @pytest.mark.parametrize("query", [{"days": "8"}, {"tool": "x" * 300}])
    def test_the_api_refuses_it_too(self, client, query):
        assert client.get(API, query).status_code == 422


class TestStates:
    def test_without_tools_it_says_so(self, client):
        page = get_text(client.get(PAGE))
        assert "No tool calls" in page
        assert "No model calls in this period" in page

    def test_without_big_outputs_it_says_why_nothing_is_stashed(self, client):
        outputs("short")
        page = get_text(client.get(PAGE))
        assert "No outputs are stored as artifacts yet:" in page
        assert 'id="largest"' not in page
        assert [row[0] for row in rows(page, "tools")] == ["exec"]

    def test_more_tools_than_are_shown_are_said(self, client):
        place = {"date": "2026-01-05", "channel_id": "irc"}
        days = [ToolDay(**place, tool=f"t{n}", result_count=1, chars=n) for n in range(60)]
        ToolDay.objects.using("agent_ada").bulk_create(days)
        page = get_text(client.get(PAGE))
        assert [row[0] for row in rows(page, "tools")] == [f"t{n}" for n in range(59, 9, -1)]
        assert "Tools with fewer characters are not listed." in page
        assert client.get(API).json()["totals"]["chars"] == sum(range(60))


def test_the_lists_look_at_the_newest_and_say_so(client, monkeypatch):
    monkeypatch.setattr("ledger.savings.sums.LOOKED_AT", 2)
    outputs(LONG, session_id="s1")
    outputs("b" * 9_000, session_id="s2", at=T0 + 60_000)
    outputs("c" * 9_001, session_id="s3", at=T0 + 120_000)
    outputs("d" * 9_002, session_id="s4", at=T0 + 180_000)
    answer = client.get(API).json()
    assert 16_000 not in [use["chars"] for use in answer["largest"]]
    assert answer["totals"]["stashed_chars"] == 16_000 + 9_000 + 9_001 + 9_002
    assert (answer["is_cut"], answer["looked_since"], answer["content_count"]) == (True, T0 + 60_000, 2)
    assert "cover the newest 2 stored outputs" in get_text(client.get(PAGE))


def test_the_tabs_of_an_agent_lead_here(client):
    assert f'href="{PAGE}"' in get_text(client.get("/agents/ada/artifacts/"))
