"""The message behind a fact, on every page that shows or judges the fact.

A page says who wrote the message, where and when, and links back.
"""

import re
from html import unescape
from urllib.parse import quote

import pytest

from datasets.kinds import decision, verdict_service, write
from gate.models import MemoryGateDecision
from gate.recording import windows
from guardian.models import GuardianRun, WriteGuardianAudit
from ledger.models import ConversationTurn, RemovedSession, Session
from people.configuration import setting_values as configuration
from tests.factories import DecisionFactory
from tests.guardian.write_rows import T0, create_write
from tests.homes import assistant, user
from tests.ledger.transcript_records import channel_message, get_text, store_session

DB = "agent_ada"
BEFORE, AFTER = b"# Memory\n", b"# Memory\nLikes tea.\n"
WRITE, SESSION = "/agents/ada/writes/w1/", "/agents/ada/sessions/s1/"
PAGES = [
    WRITE,
    "/agents/ada/gate/d1/",
    "/agents/ada/writes/rollback/of/w1/",
    "/agents/ada/writes/correct/w1/",
    "/agents/ada/corrections/w1/",
    "/agents/ada/write-verdicts/w1/",
    "/agents/ada/verdicts/d1/",
    "/agents/ada/writes/own/proposals/p1/",
    "/samples/{write}/",
    "/review/?sample={write}",
    "/samples/{decision}/",
    "/review/?sample={decision}",
]
pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(ada, file):
    """The turn of Mei, in a group with Tom, behind a decision and a write."""
    session = store_session(
        channel_message("Tom", "Tom first"), assistant("To Tom"),
        channel_message("Mei", "Mei\u202e likes tea"), assistant("To Mei"),
        channel_message("Tom", "Tom again"), assistant("To Tom again"),
    )  # fmt: skip
    Session.objects.using(DB).update(title="Kitchen", session_key="agent:ada:irc:group:#lab", origin="group",
                                     channel_id="irc")  # fmt: skip
    turn = session.turns.get(turn_number=2)
    window = windows.Window((), "Mei likes tea", "To Mei")
    windows.store_windows(DB, [window])
    DecisionFactory(id="d1", session_id="s1", turn_id=turn.id, decision="UPDATE_MEMORY", candidate_fact="Likes tea.",
                    window_hash=window.hash)  # fmt: skip
    file.write_bytes(AFTER)
    create_write(DB, 1, BEFORE, AFTER, turn_id=turn.id, decision_id="d1")
    return turn


@pytest.fixture
def samples(ada, talk):
    """The ids of the samples of the write and the decision, by their kinds.

    A proposal, p1, is stored as well.
    """
    GuardianRun.objects.using(DB).create(id="p1", turn_id=talk.id, session_id="s1", target_file="MEMORY.md",
                                         candidate_fact="Likes tea.", state="stopped", created_at=T0)  # fmt: skip
    verdicts = {"write": (write.WRITE, "w1", "none"), "decision": (decision.DECISION, "d1", "right")}
    stored_samples = {
        name: verdict_service.give_verdict(kind, ada, *rest, by="ann") for name, (kind, *rest) in verdicts.items()
    }
    return {name: sample.id for name, sample in stored_samples.items()}


def read_panel(client, address):
    """Return the part of a page about the message, and its link to the session.

    It is text without tags, but for those of folds.
    """
    page = get_text(client.get(address))
    part = page.partition('aria-labelledby="message">')[2].partition("</section>")[0]
    link = re.search(r'href="(/agents/ada/sessions/s1/\?[^"]*)"', part)
    words = re.sub(r"<(?!/?details)[^>]+>", " ", part)
    return " ".join(unescape(words).split()), link and unescape(link[1])


@pytest.mark.parametrize("address", PAGES)
def test_every_page_of_a_fact_has_its_message(as_operator, samples, address):
    address = address.format(**samples)
    words, link = read_panel(as_operator, address)
    assert words.startswith("Message Kitchen, turn 2 · IRC")
    before, _open, rest = words.partition("<details")
    assert "2 messages before </summary>" not in before and "Mei U+202E likes tea" in rest
    first, second = re.findall(r"<details[^>]*>(.*?)</details>", words)
    assert "2 messages before" in first and first.index("Tom first") < first.index("To Tom")
    assert "2 messages after" in second and second.index("To Mei") < second.index("Tom again")
    assert link.startswith(f"{SESSION}?turn=2&back={quote(address.split('?')[0], safe='')}")
    back = re.search(
        r'<a class="button" href="([^"]*)">[^<]*<svg.*?</svg>Back to', get_text(as_operator.get(link)), re.S
    )
    assert unescape(back[1]) == address


def test_a_turn_on_a_branch_that_was_left_has_no_messages_of_the_other(as_operator, talk):
    ConversationTurn.objects.using(DB).filter(id=talk.id).update(is_active=False)
    words, _link = read_panel(as_operator, WRITE)
    assert "likes tea" in words and "To Mei" in words and "Tom" not in words


def test_writes_that_are_rolled_back_together_each_have_their_message(as_operator, talk):
    page = get_text(as_operator.get("/agents/ada/writes/session/of/s1/"))
    assert "<strong" in page and "Mei" in page and "Kitchen, turn 2" in page


def test_the_api_tells_it_of_writes_decisions_and_samples(as_stranger, samples):
    api = "/api/v1/agents/ada"
    addresses = [f"{api}/guardian/writes/w1", f"{api}/gate/decisions/d1"]
    for address in [*addresses, *(f"/api/v1/samples/{name}" for name in samples.values())]:
        evidence = as_stranger.get(address).json()["evidence"]
        assert (evidence["session_title"], evidence["turn_number"], evidence["missing"]) == ("Kitchen", 2, "")
        message = evidence["message"]
        assert (message["author"], message["injected"], message["text"]) == ("Mei", "", "Mei\u202e likes tea")
        assert [neighbour["text"] for neighbour in evidence["before"]] == ["Tom first", "To Tom"]
        assert [neighbour["author"] for neighbour in evidence["after"]] == ["", "Tom"]
    assert "Tom first" in get_text(as_stranger.get(f"/samples/{samples['write']}/")).partition("As stored")[2]


def test_the_fact_is_the_title_of_its_sample(as_operator, samples):
    for name in samples.values():
        page = get_text(as_operator.get(f"/samples/{name}/"))
        assert "<title>Sample: Likes tea." in page and re.search(r"<h1>\s*Likes tea\.\s*</h1>", page)
        assert re.search(r'id="review-name"[^>]*><a [^>]*>Likes tea\.</a>',
                         get_text(as_operator.get(f"/review/?sample={name}")))  # fmt: skip


def test_somebody_who_opted_out_is_not_quoted(as_operator, talk):
    configuration.put("collector.optedOutSenders", ["Mei"])
    words, _link = read_panel(as_operator, WRITE)
    assert "somebody in this conversation has opted out" in words and "likes tea" not in words
    configuration.put("collector.optedOutSenders", ["Tom"])
    words, _link = read_panel(as_operator, WRITE)
    assert "likes tea" in words and "To Mei" in words and "Tom" not in words


@pytest.mark.parametrize(
    "row, why",
    [
        ({"turn_id": None}, "the source did not name it"),
        ({"turn_id": None, "earliest_at": 1}, "no source reported this change of the file. Turns in this time"),
        ({"turn_id": "s1:gone"}, "its record was removed, or was never imported"),
    ],
)
def test_a_message_that_is_missing_says_why(as_operator, talk, row, why):
    WriteGuardianAudit.objects.using(DB).filter(id="w1").update(**row)
    assert why in read_panel(as_operator, WRITE)[0]


@pytest.mark.parametrize("reason, why", [("retention", "because of its age"), ("archive", "moved to an archive")])
def test_a_session_that_was_removed_is_why_its_message_is_missing(as_operator, talk, reason, why):
    Session.objects.using(DB).all().delete()
    RemovedSession.objects.using(DB).create(session_id="s1", removed_at=T0, why=reason, last_activity_at=T0)
    words, link = read_panel(as_operator, WRITE)
    assert why in words and link is None


@pytest.mark.parametrize(
    "turn, why",
    [
        ({"user_message_content": ""}, "It may be a picture or a file."),
        ({"user_message_content": "", "user_message_id": None}, "the agent spoke first"),
    ],
)
def test_a_turn_without_words_of_a_person_says_so(as_operator, talk, turn, why):
    ConversationTurn.objects.using(DB).filter(id=talk.id).update(**turn)
    assert why in read_panel(as_operator, WRITE)[0]


@pytest.mark.parametrize(
    "text, who, rest",
    [
        ("[cron:74a5 Morning orders] Count the orders.", "Scheduled task: Morning orders", "Count the orders."),
        ("[Subagent Context] You are one. [Subagent Task]: Read it.", "Task for a sub-agent", "Read it."),
    ],
)
def test_what_sent_an_automatic_message_is_named(as_operator, talk, text, who, rest):
    turn = store_session(user(text), assistant("Done."), session_id="s2").turns.get()
    create_write(DB, 2, AFTER, AFTER + b"x\n", turn_id=turn.id, session_id="s2")
    words, _link = read_panel(as_operator, "/agents/ada/writes/w2/")
    assert f"{who} 20" in words and rest in words and "[" not in words and "channel names" not in words


def test_a_channel_that_names_nobody_and_a_message_as_long_as_a_file(as_operator, talk):
    turn = store_session(user("long " * 4_000), assistant("Done."), session_id="s2").turns.get()
    create_write(DB, 2, AFTER, AFTER + b"x\n", turn_id=turn.id, session_id="s2")
    page = get_text(as_operator.get("/agents/ada/writes/w2/"))
    assert "the channel names nobody" in page
    assert re.search(r'The first 4,000 characters\. <a href="/agents/ada/sessions/s2/records/r1/">Show all', page)
    assert len(page) < 60_000


@pytest.mark.parametrize(
    "back",
    ["https://evil.example/", "//evil.example/", "/\\evil.example/", "javascript:alert(1)", "review/", "/no/such/page/",
     "/\t/evil.example", "\x00/review/", "/review/?" + "x" * 3_000],
)  # fmt: skip
def test_only_pages_of_this_site_are_led_back_to(as_operator, talk, back):
    page = get_text(as_operator.get(SESSION, {"turn": 2, "back": back}))
    assert "Back to" not in page.partition("<main")[2]


def test_a_decision_without_a_turn_says_so(as_operator, talk):
    MemoryGateDecision.objects.using(DB).update(turn_id=None, match="none")
    assert "the source did not name it" in read_panel(as_operator, "/agents/ada/gate/d1/")[0]
