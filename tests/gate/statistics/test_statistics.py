"""The page of statistics: figures with links to their rows, filters, states."""

import re
from html import unescape

import pytest
from django.urls import NoReverseMatch, reverse

from gate.models import GateHour, GatePrompt
from gate.recording import decision_store
from gate.statistics import statistics_query, sums
from people.configuration import setting_values as configuration
from tests import factories

from .statistics_rows import DB, PAGE, day, make_failed_call, make_report, midnight, store_decisions, store_reports

pytestmark = pytest.mark.django_db
LINK = re.compile(r'<a [^>]*?href="([^"]*)"[^>]*>([^<]*)</a>')


def links(response):
    """Returns (address, text) of every link with a text."""
    return [(unescape(href), words.strip()) for href, words in LINK.findall(response.text) if words.strip()]


def rows(response):
    """Returns the rows of the table of figures as the texts of their cells."""
    table = response.text.partition('id="figures"')[2].partition("</table>")[0].partition("<tbody>")[2]
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("</tr>")[:-1])
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


@pytest.fixture
def decided(ada):
    store_decisions("NO_WRITE", 6, 9, llm_latency_ms=50, prompt_tokens=90, completion_tokens=10, cost_usd=0.001)
    store_decisions("UPDATE_USER", 2, 9, llm_latency_ms=None, session_id="s2", saw_user=False)
    store_decisions("UPDATE_SOUL", 2, 1, llm_model="gate-2", prompt_version="p2")
    decision_store.store_calls(
        DB, [make_failed_call(created_at=midnight(1)), make_failed_call("malformed", created_at=midnight(9))]
    )


def test_it_works(as_stranger, decided):
    response = as_stranger.get(f"{PAGE}?by=day")
    newest, older = rows(response)
    assert newest[:8] == [day(1), "2", "0", "0", "0", "2 100%", "0", "0"]
    assert newest[8:] == ["–", "–", "–", "1", "0", "0"]
    assert older[:4] == [day(9), "8", "6 75%", "0"]
    assert older[8:] == ["50 ms p95 50 ms", "600 known for 6 of 8", "$0.0060 known for 6 of 9", "0", "1", "2"]
    assert "Share of each decision by day (UTC)" in response.text
    assert "replaced p1." in response.text


def test_every_number_leads_to_its_rows(as_stranger, decided):
    try:
        lists = reverse("gate:decision_list", args=["ada"]), reverse("gate:call_list", args=["ada"])
    except NoReverseMatch:
        pytest.skip("there are no lists of decisions and calls yet")
    day_links = links(as_stranger.get(f"{PAGE}?by=day"))
    days = f"from={day(9)}&to={day(9)}"
    assert (f"{lists[0]}?{days}", "8") in day_links
    assert (f"{lists[0]}?{days}&decision=UPDATE_USER", "2") in day_links
    assert (f"{lists[0]}?{days}&unseen=on", "2") in day_links
    assert (f"{lists[1]}?segment=malformed&{days}", "1") in day_links
    model_links = links(as_stranger.get(f"{PAGE}?by=model&model=gate-2&from={day(3)}"))
    model_address = f"{lists[0]}?model=gate-2&from={day(3)}&to={day(0)}"
    assert (f"{model_address}&decision=UPDATE_SOUL", "2") in model_links
    session_links = links(as_stranger.get(f"{PAGE}?by=session"))
    assert (f"{lists[0]}?session=%3Ds2&decision=UPDATE_USER", "2") in session_links


@pytest.mark.parametrize(
    ("query", "first_cells"),
    [
        ("by=model", [["gate-1", "8"], ["gate-2", "2"]]),
        ("by=prompt", [["p1", "8"], ["p2", "2"]]),
        ("by=prompt&model=gate-2", [["p2", "2"]]),
        ("by=session", [["s1", "8"], ["s2", "2"]]),
        ("by=session&session=s2", [["s2", "2"]]),
        (f"by=model&from={day(3)}", [["gate-2", "2"], ["gate-1", "0"]]),
        (f"by=model&to={day(3)}", [["gate-1", "8"]]),
    ],
)
def test_by_what_and_of_which(as_stranger, decided, query, first_cells):
    assert [row[:2] for row in rows(as_stranger.get(f"{PAGE}?{query}"))] == first_cells


def test_weeks_are_iso_weeks(as_stranger, ada):
    store_reports(
        make_report(created_at=1_767_225_600_000), make_report(created_at=1_767_225_600_000 - 4 * 86_400_000)
    )  # 1 Jan 2026, 28 Dec
    week_rows = rows(as_stranger.get(f"{PAGE}?by=week&from=2025-12-22&to=2026-01-04"))
    assert [row[0] for row in week_rows] == ["2026-W01", "2025-W52"]


def test_what_is_not_known_is_named_and_leads_nowhere(as_stranger, ada):
    store_decisions("NO_WRITE", 2, 1, llm_model=None)
    response = as_stranger.get(f"{PAGE}?by=model")
    assert rows(response)[0][:2] == ["not known", "2"]
    table = response.text.partition('id="figures"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    assert "<a " not in table


def test_long_ranges_have_pages(as_stranger, ada, monkeypatch):
    for days_ago in range(35):
        store_decisions("NO_WRITE", 1, days_ago)
    first = as_stranger.get(f"{PAGE}?by=day&from={day(40)}")
    assert len(rows(first)) == statistics_query.ROWS
    (onwards,) = {href for href, words in links(first) if words.startswith("Next")} or {
        unescape(re.search(r'href="([^"]*after=[^"]*)"', first.text)[1])
    }
    second = as_stranger.get(PAGE + onwards)
    assert [row[0] for row in rows(second)] == [day(ago) for ago in range(30, 35)]
    back = unescape(re.search(r'href="([^"]*before=[^"]*)"', second.text)[1])
    assert rows(as_stranger.get(PAGE + back)) == rows(first)


def test_the_chart_marks_changes_of_the_prompt(as_stranger, ada):
    GatePrompt.objects.using(DB).create(id="p2", text="Decide.", created_at=1)
    for days_ago, prompt in ((5, "p1"), (4, "p1"), (3, "p2"), (2, "p2"), (1, "p1")):
        store_decisions("NO_WRITE", 1, days_ago, prompt_version=prompt)
    response = as_stranger.get(f"{PAGE}?by=day&from={day(4)}")
    assert response.text.count('class="chart__mark"') == 2
    assert response.text.count(" replaced p") == 2


def test_empty(as_stranger, ada):
    assert "No decisions yet" in as_stranger.get(PAGE).text
    store_decisions("NO_WRITE", 1, 300)
    text = as_stranger.get(PAGE).text  # the weeks up to the last decision
    assert ">1<" in text and "No decisions match" not in text
    assert "No decisions match" in as_stranger.get(f"{PAGE}?from={day(9)}").text


def test_off(as_stranger, as_admin, decided):
    configuration.put("memoryGateAuditing.enableStats", False)
    text = as_stranger.get(PAGE).text
    assert "Statistics are turned off" in text and "Open settings" not in text
    assert "Open settings" in as_admin.get(PAGE).text


def test_while_many_decisions_are_counted(as_operator, decided, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(sums, "SMALL", 3)
    GateHour.objects.using(DB).all().delete()
    with django_capture_on_commit_callbacks(using=DB, execute=True):
        assert "Statistics are being calculated" in as_operator.get(PAGE).text
    text = as_operator.get(PAGE).text
    assert "View job" in text and "Statistics are being calculated" in text


@pytest.mark.parametrize(
    "query",
    ["by=hour", "from=yesterday", "from=2026-02-02&to=2026-01-01", "from=2001-01-01", "by=day&session=s1",
     "by=session&model=gate-1", "by=day&after=x"],
)  # fmt: skip
def test_what_cannot_be_told_is_refused(as_stranger, decided, query):
    assert as_stranger.get(f"{PAGE}?{query}").status_code == 409


def test_the_title_of_a_session_is_shown(as_stranger, decided):
    factories.SessionFactory(id="s2", title="Tea & biscuits")
    assert "Tea &amp; biscuits" in as_stranger.get(f"{PAGE}?by=session").text
