"""The page that names the write of each line of a memory file, and its API."""

import re

import pytest

from guardian import services
from ledger.models import Session
from openclaw_web.diffs import text_excerpts
from tests.guardian.write_rows import T0, create_rollback, create_write, remove_unreported
from tests.ledger.transcript_records import get_text, store_session, working_turns

DB = "agent_ada"
URL, API = "/agents/ada/writes/blame/MEMORY.md/", "/api/v1/agents/ada/guardian/files/MEMORY.md/blame"
pytestmark = pytest.mark.django_db


@pytest.fixture
def turn(ada):
    return store_session(*working_turns(1), session_id="s1").turns.get()


def test_each_line_leads_to_its_write_turn_and_message(as_stranger, turn):
    create_write(DB, 1, b"old\n", b"old\ntea\n", turn_id=turn.id)
    page = get_text(as_stranger.get(URL))
    assert "1 of 2 lines were added by 1 write since" in page
    assert (
        'tabindex="-1" id="L2" href="#L2"' in page and 'href="/agents/ada/writes/w1/"' in page and "Likes tea." in page
    )
    assert f"?record={turn.user_message_id}#r-{turn.user_message_id}" in page
    assert turn.user_message_content in page and f"Turn {turn.turn_number} in " in page
    assert "Before the first known write" in page


def test_it_names_who_spoke_and_says_no_fact_twice(as_stranger, turn):
    about = '{"sender": "Ben Koh"}'
    type(turn).objects.using(DB).update(user_metadata=about, user_message_content="word " * 60 + "<end>")
    create_write(DB, 1, b"", b"- Likes tea.\n", turn_id=turn.id)
    create_write(DB, 2, b"- Likes tea.\n", b"- Likes tea.\nmilk\n", candidate_fact="Drinks milk.")
    page = get_text(as_stranger.get(URL))
    assert re.search(rf"Ben Koh in .+, turn {turn.turn_number}</a>", page) and "&lt;end&gt;" in page
    assert page.count("Likes tea.") == 1 and "Drinks milk." in page and "Turn not known" in page


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Ben Koh", "Ben Koh, turn"),
        ("Ben Koh (@ben_oven)", "Ben Koh (@ben_oven), turn"),
        ("Ben Kohler", "Ben Koh in Ben Kohler, turn"),
        ("Ben Koh & Mei", "Ben Koh in Ben Koh &amp; Mei, turn"),
        ("Kitchen", "Ben Koh in Kitchen, turn"),
    ],
)
def test_a_conversation_with_one_person_names_them_once(as_stranger, turn, title, words):
    type(turn).objects.using(DB).update(user_metadata='{"sender": "Ben Koh"}')
    Session.objects.using(DB).update(title=title)
    create_write(DB, 1, b"", b"tea\n", turn_id=turn.id)
    assert re.search(rf">{re.escape(words)} {turn.turn_number}</a>", get_text(as_stranger.get(URL)))


def test_each_line_has_the_ways_to_its_write_its_rule_and_its_rollback(as_stranger, as_operator, ada):
    create_write(DB, 1, b"", b"tea\n", rule_id="r1")
    create_rollback(DB, 2, ["w1"], b"tea\n", b""), create_rollback(DB, 3, ["w2"], b"", b"tea\n")
    page = get_text(as_stranger.get(URL))
    assert 'href="/agents/ada/writes/w1/">View write' in page
    assert 'href="/agents/ada/writes/rules/#rule-r1">View rule' in page and "Roll back" not in page
    assert 'href="/agents/ada/writes/rollback/of/w3/">Roll back' in get_text(as_operator.get(URL)), "what restored it"
    create_write(DB, 4, b"tea\n", b"tea\nmilk\n")
    assert 'href="/agents/ada/writes/rollback/of/w4/">Roll back' in get_text(as_operator.get(URL))


def test_lines_are_searched_for(as_stranger, ada):
    create_write(DB, 1, b"", b"Green TEA\nmilk\nblack tea\n")
    page = get_text(as_stranger.get(f"{URL}?q=tea"))
    assert "2 of 3 lines contain these words." in page and "milk" not in page
    assert 'href="?line=3#L3"' in page and 'href="?#L1"' in page
    page = get_text(as_stranger.get(f"{URL}?q=coffee&line=2"))
    assert "0 of 3 lines contain these words." in page and "The file is empty." not in page


def test_it_has_a_tab_which_leads_to_every_memory_file(as_stranger, ada):
    assert f'href="{URL}">Who wrote</a>' in get_text(as_stranger.get("/agents/ada/files/"))
    page = get_text(as_stranger.get(URL))
    assert "No version of this file yet" in page and 'aria-label="Memory files"' not in page
    create_write(DB, 1, None, b"tea\n", target_file="USER.md")
    other = URL.replace("MEMORY", "USER")
    assert f'href="{other}">USER.md</a>' in get_text(as_stranger.get(URL))
    create_write(DB, 2, None, b"tea\n")
    page = get_text(as_stranger.get(other))
    assert f'href="{URL}" aria-current="true">Who wrote</a>' in page
    assert f'href="{URL}">MEMORY.md</a>' in page and f'href="{other}" aria-current="page">USER.md</a>' in page
    assert as_stranger.get(URL.replace("MEMORY", "AGENTS")).status_code == 404


def test_a_line_that_there_is_not_leads_back(as_stranger, ada):
    create_write(DB, 1, None, b"one\ntwo\n")
    answer = as_stranger.get(f"{URL}?line=9999")
    assert answer.status_code == 404 and "MEMORY.md has 2 lines." in get_text(answer)
    assert f'href="{URL}"' in get_text(answer)


def test_what_is_not_known_is_said(as_stranger, ada):
    services.store_version(DB, "MEMORY.md", b"one\n", modified_ms=T0)
    assert "No write is known." in get_text(as_stranger.get(URL))
    create_write(DB, 1, b"one\n", b"one\ntwo\n")
    services.store_version(DB, "MEMORY.md", b"one\ntwo\nthree\n", modified_ms=T0 + 9**9)
    page = get_text(as_stranger.get(URL))
    assert "Versions are missing between some writes" in page and "Changed after" in page
    for number in range(2, 30):
        create_write(DB, number, b"a %d\n" % number, b"b %d\n" % number)
    remove_unreported(DB)
    assert "Earlier writes were not followed" in get_text(as_stranger.get(URL))


def test_the_api_tells_runs(as_stranger, turn):
    create_write(DB, 1, b"old\n", b"old\ntea\nmilk\n", turn_id=turn.id)
    services.store_version(DB, "MEMORY.md", b"old\ntea\nmilk\nnew\n", modified_ms=T0 + 9**9)
    answer = as_stranger.get(API).json()
    assert [(run["first"], run["last"], run["known"]) for run in answer["runs"]] == [
        (1, 1, "before"),
        (2, 3, "write"),
        (4, 4, "gap"),
    ]
    run, gap = answer["runs"][1:]
    assert (run["audit_id"], run["turn_id"], run["message_id"]) == ("w1", turn.id, turn.user_message_id)
    assert (gap["since"], gap["until"], answer["line_count"]) == (T0 + 1000, None, 4)


def test_a_long_file_is_shown_in_pieces(as_stranger, ada):
    lines = b"".join(b"line %d\n" % number for number in range(1, text_excerpts.LINES + 3))
    create_write(DB, 1, None, lines)
    page = get_text(as_stranger.get(URL))
    assert f"?line={text_excerpts.LINES + 1}" in page and f'id="L{text_excerpts.LINES + 1}"' not in page
    rest = get_text(as_stranger.get(f"{URL}?line={text_excerpts.LINES + 1}"))
    assert rest.count('class="lines__no"') == 2 and f"line {text_excerpts.LINES + 2}</div>" in rest
    assert as_stranger.get(f"{URL}?line={text_excerpts.LINES + 9}").status_code == 404
    assert as_stranger.get(f"{URL}?line=x").status_code == 200


def test_other_files_and_other_agents_have_none(as_stranger, ada, bob):
    create_write(DB, 1, None, b"")
    assert "The file is empty." in get_text(as_stranger.get(URL))
    for address in (URL.replace("ada", "bob"), URL.replace("MEMORY", "USER")):
        assert "No version of this file yet" in get_text(as_stranger.get(address))
    assert as_stranger.get(URL.replace("MEMORY", "AGENTS")).status_code == 404
    assert as_stranger.get(API.replace("ada", "bob")).status_code == 404
