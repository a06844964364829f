"""The filters of a list in one line: what it means, what it refuses, and that a spelled line is read back as it was."""

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from ledger.lists.event_list import EventFilters
from ledger.lists.session_list import SessionFilters
from ledger.lists.turn_list import TurnFilters
from openclaw_web.lists.filter_line import build_line, read_line

TEXTS = st.one_of(
    st.text("aB1 \t\"\\-:：>=.,'“”无坚果é\u3000\u00a0|", max_size=30),
    st.lists(
        st.sampled_from(["errors", "branches", "tool:exec", "-no", "cost>1", '"', "\\", "-", "a:", ">", "会话"]),
        max_size=6,
    ).map(" ".join),
    st.integers(150, 200).map(lambda count: '"\\' * (count // 2)),
)
SWITCHES = st.sampled_from([None, "on"])
NUMBERS = st.sampled_from([None, "0.5", "1e3", "12", "0.10"])
FILTERS = {
    "q": TEXTS,
    "model": TEXTS,
    "session": TEXTS,
    "cost": NUMBERS,
    "slow": NUMBERS,
    "errors": SWITCHES,
    "counted": SWITCHES,  # only links set it
    "answer": st.sampled_from([None, "silent", "cut_off"]),
    "from": st.sampled_from([None, "2026-02-21", "2026-02-21T05:00"]),
}


def read(text, kind=TurnFilters, **beside):
    query = QueryDict(mutable=True)
    query.update({"filter": text, **beside})
    address, problems = read_line(kind(query), query)
    return address.dict(), problems


@given(st.fixed_dictionaries(FILTERS))
def test_what_is_spelled_is_read_back_as_it_was(values):
    filters = TurnFilters({name: value for name, value in values.items() if value}).validate()
    line = build_line(filters, None, [])
    address, problems = read(line.text)
    assert not problems and TurnFilters(address).validate().chosen == filters.chosen, line.text
    assert build_line(TurnFilters(address).validate(), None, []).text == line.text


@given(TEXTS)
def test_every_line_is_read_and_what_was_understood_is_spelled(text):
    address, _problems = read(text)
    line = build_line(TurnFilters(address).validate(), None, [])
    assert read(line.text) == (address, [])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", {}),
        ('model:gpt cost>0.1 error "no connection"', {"model": "gpt", "cost": "0.1", "q": 'error "no connection"'}),
        ("COST:0.1 tokens>=5", {"cost": "0.1", "tokens": "5"}),
        ("errors branches:yes", {"errors": "on", "branches": "on"}),
        ('"errors" found', {"q": '"errors" found'}),
        ("-word kept", {"q": "-word kept"}),
        ("answer:silent", {"answer": "silent"}),
        ('answer:"silent Reply"', {"answer": "silent"}),
        ("answer：silent 没有连接", {"answer": "silent", "q": "没有连接"}),
        ("from:2026-02-21 to:2026-02-28", {"from": "2026-02-21", "to": "2026-02-28"}),
        ('"-v" - a->b "http://x"', {"q": '"-v" - a->b "http://x"'}),
        (r'model:"a \"b\" \\c" C:\new', {"model": r'a "b" \c'}),
        ('model:"not closed', {"model": "not closed"}),
        ("q:words more", {"q": "words more"}),
    ],
)
def test_a_line_means(text, address):
    understood, problems = read(text)
    assert understood == address and len(problems) == text.count("C:")  # a drive is no filter


@pytest.mark.parametrize(
    ("text", "sentence", "rest"),
    [
        ("tol:exec failed", "There is no filter “tol”. Did you mean “tool”?", {"failed": "on"}),
        ("http://x", "There is no filter “http”. To search for it, put it in quotes.", {}),
        ("kind:usr", "“kind” has no value “usr”. Did you mean “user”?", {}),
        ("failed:no", "“failed” has no value: write the name alone.", {}),
        ("tool:", "There is no value after “tool”.", {}),
        ("tool>3", "“tool” has no minimum: write a colon.", {}),
        ("tool:a tool:b", "“tool” is there twice. The first one counts.", {"tool": "a"}),
        ("from:yesterday x", "From day (UTC): Write days like 2026-02-21.", {"q": "x"}),
        ("from:2026-02-28 to:2026-02-21", "From day (UTC): The first day is after the last day.", {"to": "2026-02-21"}),
        ("x" * 10_001, "The filters are longer than 10,000 characters.", {}),
    ],
)
def test_what_is_not_understood_is_said_and_the_rest_holds(text, sentence, rest):
    assert read(text, EventFilters, sort="time", page="2") == ({"sort": "time", **rest}, [sentence])


@pytest.mark.parametrize(
    ("text", "word", "rest"), [("-word kept", "word", {"q": "kept"}), ('-"two words"', "two words", {})]
)
def test_a_list_whose_search_knows_no_minus_says_so(text, word, rest):
    problem = f"Rows with “{word}” cannot be left out. To search for the minus too, put it in quotes."
    assert read(text, SessionFilters) == (rest, [problem])


@pytest.mark.django_db
def test_a_line_leads_to_the_address_of_its_filters(as_admin, ada):
    page = as_admin.get("/agents/ada/turns/", {"filter": 'errors cost>0.1 "no connection"', "sort": "time"})
    assert (page.status_code, page.url) == (
        302,
        "/agents/ada/turns/?q=%22no+connection%22&cost=0.1&errors=on&sort=time",
    )
    page = as_admin.get(page.url)
    assert page.context["line"].text == 'cost>0.1 errors "no connection"'
    assert as_admin.get("/agents/ada/turns/", {"filter": "errors", "format": "csv"}).url.endswith(
        "?errors=on&format=csv"
    )
    assert as_admin.get("/agents/ada/turns/", {"filter": " "}).url == "/agents/ada/turns/"


@pytest.mark.django_db
def test_a_line_that_is_not_understood_stays_as_typed(as_admin, ada):
    typed = {"filter": "modle:x errors", "segment": ""}
    page = as_admin.get("/agents/ada/turns/", typed)
    assert page.context["line"].text == "modle:x errors" and page.context["filters"].query == "?errors=on"
    assert "There is no filter “modle”. Did you mean “model”?" in page.text
    part = as_admin.get("/agents/ada/turns/", typed, headers={"HX-Request": "true"})
    assert part["HX-Push-Url"] == "/agents/ada/turns/?filter=modle%3Ax+errors&segment="
    part = as_admin.get("/agents/ada/turns/", {"filter": "errors"}, headers={"HX-Request": "true"})
    assert (part.status_code, part["HX-Push-Url"]) == (200, "/agents/ada/turns/?errors=on")
