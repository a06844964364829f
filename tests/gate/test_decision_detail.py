"""The page of one decision."""

import re
from html import unescape

import pytest

from artifacts import services as artifacts
from gate.models import GateWindow
from people.configuration import setting_values as configuration
from tests.factories import T0, GateCallFactory, SessionFactory
from tests.gate.decision_rows import EVIL, create_decision, create_turns, store_window
from tests.ledger.transcript_records import get_text

ADA = "/agents/ada/gate/"
RAW = "memoryGateAuditing.storeRawLLMResponse"
pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(ada):
    return create_turns()


def panel(page, label):
    """Returns the text of a section of a page, without its tags."""
    section = re.search(rf'<section[^>]*aria-labelledby="{label}".*?</section>', get_text(page), re.DOTALL)[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", section)).split())


def links(page):
    return {unescape(address) for address in re.findall(r'href="([^"]*)"', get_text(page))}


def find_key_address(page, name):
    """Returns the address of the control with a key, None where there is no such control."""
    match = re.search(rf'<a[^>]*data-key="{re.escape(name)}"[^>]*href="([^"]*)"', get_text(page))
    return match and unescape(match[1])


def test_it_works(as_stranger, turns):
    create_decision(
        1, reason="Says where they live.", candidate_fact="Lives in Oslo.", llm_model="gate-1", llm_latency_ms=1500,
        prompt_tokens=4000, completion_tokens=20, cost_usd=0.0021, prompt_version="v1", origin="imported",
        match="exact", sources=2, session_key="channel:irc:group:#lab",
    )  # fmt: skip
    page = as_stranger.get(f"{ADA}d1/")
    assert page.status_code == 200
    assert "Says where they live." in panel(page, "why") and "Lives in Oslo." in panel(page, "why")
    about_panel = panel(page, "about")
    for words in ("The nightly import", "Turn 1", "Certain", "gate-1", "1.5 s", "4,000 in, 20 out", "$0.0021"):
        assert words in about_panel
    assert "Imported" in about_panel and "Log of the plugin" in about_panel and "channel:irc:group:#lab" in about_panel
    session = "/agents/ada/sessions/s1/"
    addresses = {f"{session}?record=u1#r-u1", f"{session}?turn=1", "/agents/ada/gate/prompts/v1/", f"{ADA}d1/"}
    assert addresses <= links(page)
    assert "Writes of this decision" in panel(page, "guardian")


def test_what_is_not_known_is_not_nothing(as_stranger, turns):
    create_decision(1, turn_id=None, match="none", candidate_fact=None, origin="imported")
    about_panel = panel(as_stranger.get(f"{ADA}d1/"), "about")
    for words in ("Turn not known", "Model –", "Latency –", "Tokens –", "Cost –", "No turn found"):
        assert words in about_panel
    assert "did not record the fact" in panel(as_stranger.get(f"{ADA}d1/"), "why")


def test_what_is_no_longer_stored_is_not_linked(as_stranger, ada):
    create_decision(1, session_id="gone")
    page = as_stranger.get(f"{ADA}d1/")
    assert panel(page, "about").count("not stored") == 2
    assert not any("/sessions/gone/" in address for address in links(page))


class TestWhatTheGateSaw:
    def test_as_it_was_told(self, as_stranger, turns):
        create_decision(1, window_hash=store_window("Earlier", "Indeed", user="Question 1", reply=None))
        text = panel(as_stranger.get(f"{ADA}d1/"), "saw")
        assert re.search(r"−2 User .*Earlier.*−1 Agent .*Indeed.*Turn User Question 1", text)
        assert "given no reply of the agent" in text and "did not say" not in text

    def test_derived(self, as_stranger, turns):
        create_decision(1, window_hash=store_window("Earlier"), is_window_derived=True)
        text = panel(as_stranger.get(f"{ADA}d1/"), "saw")
        assert "did not record what the gate saw. Shown are the messages before this turn" in text and "Earlier" in text

    def test_not_known(self, as_stranger, turns):
        create_decision(1)
        assert "did not record what the gate saw" in panel(as_stranger.get(f"{ADA}d1/"), "saw")

    @pytest.mark.parametrize("damage", ["removed", "changed", "cut"])
    def test_lost(self, as_stranger, turns, damage):
        create_decision(1, window_hash=store_window("Earlier"))
        rows = GateWindow.objects.using("agent_ada")
        if damage == "removed":
            rows.all().delete()
        else:
            other = rows.get(hash=store_window("Another")).body_zstd
            rows.filter(hash=store_window("Earlier")).update(
                body_zstd=other if damage == "changed" else bytes(other)[:20]
            )
        text = panel(as_stranger.get(f"{ADA}d1/"), "saw")
        assert "missing or damaged" in text and "no messages" not in text

    def test_no_message_of_the_user(self, as_stranger, turns):
        create_decision(1, window_hash=store_window("Earlier", user=None), saw_user=False)
        page = as_stranger.get(f"{ADA}d1/")
        text = panel(page, "saw")
        assert "The gate was given no message of the user." in text
        assert "The user's message in the transcript Question 1" in text
        assert "No user message" in get_text(page)

    def test_nothing_at_all(self, as_stranger, turns):
        create_decision(1, window_hash=store_window(user=None, reply=None))
        assert "The gate was given no messages at all." in panel(as_stranger.get(f"{ADA}d1/"), "saw")

    def test_a_long_message_is_cut_and_whole_as_json(self, as_stranger, turns):
        create_decision(1, window_hash=store_window("x" * 9_000))
        page = as_stranger.get(f"{ADA}d1/")
        assert "Shortened: 8,000 of 9,000." in panel(page, "saw")
        whole = "/api/v1/agents/ada/gate/decisions/d1"
        assert whole in links(page)
        assert as_stranger.get(whole).json()["context"]["recent_messages"][0]["message"] == "x" * 9_000


class TestRawResponse:
    def test_it_is_for_operators(self, as_operator, as_stranger, turns):
        create_decision(1, raw_response='{"decision": "UPDATE_USER"}')
        assert '{"decision": "UPDATE_USER"}' in panel(as_operator.get(f"{ADA}d1/"), "response")
        text = panel(as_stranger.get(f"{ADA}d1/"), "response")
        assert "Operators can see" in text and "UPDATE_USER" not in text

    def test_a_long_one_is_an_artifact(self, as_operator, turns, settings, tmp_path):
        settings.HOME_DIR = tmp_path
        row, _stored = artifacts.stash(
            "agent_ada", b"long " * 20_000, kind="gate_response", place=artifacts.Place("s1")
        )
        create_decision(1, raw_response=row.handle)
        assert f"/agents/ada/artifacts/{row.sha256}/" in links(as_operator.get(f"{ADA}d1/"))

    def test_the_artifact_is_for_operators_as_well(self, as_operator, as_stranger, turns, settings, tmp_path):
        settings.HOME_DIR = tmp_path
        content = b'{"river plan": "%s"}' % (b"x" * 90_000)  # its summary would name the key
        row, _stored = artifacts.stash("agent_ada", content, kind="gate_response")
        page, api = f"/agents/ada/artifacts/{row.sha256}/", f"/api/v1/agents/ada/artifacts/{row.sha256}"
        for address in (page, f"{page}?part=1", f"{page}download/", api, f"{api}/fetch", f"{api}/content"):
            assert as_operator.get(address).status_code == 200, address
            refused = as_stranger.get(address)
            assert refused.status_code == 403 and "river plan" not in refused.content.decode(), address
        listed = as_stranger.get("/agents/ada/artifacts/")
        assert row.sha256 in listed.text and "river plan" not in listed.text
        assert "river plan" not in as_stranger.get("/api/v1/agents/ada/artifacts").content.decode()

    def test_a_tool_that_printed_the_same_may_be_read_by_everybody(self, as_stranger, turns, settings, tmp_path):
        settings.HOME_DIR = tmp_path
        for kind in ("gate_response", "tool_output"):
            row, _stored = artifacts.stash("agent_ada", b"the same " * 9_000, kind=kind)
        assert as_stranger.get(f"/agents/ada/artifacts/{row.sha256}/").status_code == 200

    def test_it_was_not_told_or_not_kept(self, as_operator, turns):
        create_decision(1)
        assert "Not recorded by the plugin." in panel(as_operator.get(f"{ADA}d1/"), "response")
        configuration.put(RAW, False, by="root")
        assert RAW in panel(as_operator.get(f"{ADA}d1/"), "response")


class TestBeside:
    @pytest.fixture
    def four(self, turns):
        SessionFactory(id="s2")
        create_decision(0), create_decision(1, decision="NO_WRITE"), create_decision(2, session_id="s2", turn_id=None)
        create_decision(3, decision="NO_WRITE", created_at=T0 + 2 * 60_000 + 1)  # at the same time as the one before

    def test_the_keys_go_through_the_list(self, as_stranger, four):
        page = as_stranger.get(f"{ADA}d2/")
        assert (find_key_address(page, "k"), find_key_address(page, "j")) == (f"{ADA}d3/", f"{ADA}d1/")
        assert find_key_address(as_stranger.get(f"{ADA}d3/"), "k") is None
        assert find_key_address(as_stranger.get(f"{ADA}d0/"), "j") is None

    def test_with_the_filters_and_the_order_of_the_list(self, as_stranger, four):
        assert find_key_address(as_stranger.get(f"{ADA}d3/?decision=NO_WRITE"), "j") == f"{ADA}d1/?decision=NO_WRITE"
        assert find_key_address(as_stranger.get(f"{ADA}d1/?sort=time"), "j") == f"{ADA}d2/?sort=time"
        assert find_key_address(as_stranger.get(f"{ADA}d3/?q=stable"), "j") == f"{ADA}d2/?q=stable"
        assert find_key_address(as_stranger.get(f"{ADA}d2/?decision=MAYBE&sort=size"), "j") == f"{ADA}d1/"

    def test_within_its_session(self, as_stranger, four):
        page = as_stranger.get(f"{ADA}d1/")
        assert (find_key_address(page, "["), find_key_address(page, "]")) == (f"{ADA}d0/", f"{ADA}d3/")
        assert f"{ADA}?session=s1" in links(page)

    def test_others_on_its_turn(self, as_stranger, turns):
        create_decision(1)
        create_decision(1, id="own", origin="own"), create_decision(1, id="old", origin="imported"), create_decision(2)
        assert re.findall(r'href="/agents/ada/gate/(\w+)/"', panel_html(as_stranger.get(f"{ADA}d1/"))) == ["old", "own"]

    def test_calls_that_were_made_for_it(self, as_stranger, turns):
        create_decision(1)
        GateCallFactory(id="c1", turn_id="s1:u1"), GateCallFactory(id="c2", decision_id="d1", outcome="decided")
        GateCallFactory(id="c3", turn_id="s1:u2"), GateCallFactory(id="c4", turn_id="s1:u1", replay_id="r1")
        calls = {address for address in links(as_stranger.get(f"{ADA}d1/")) if "/calls/c" in address}
        assert calls == {f"{ADA}calls/c1/", f"{ADA}calls/c2/"}


def panel_html(page):
    return re.search(r'aria-labelledby="others".*?</section>', get_text(page), re.DOTALL)[0]


def test_hostile_texts_are_texts(as_operator, turns):
    window = store_window(EVIL, user=EVIL, reply=EVIL)
    create_decision(
        1, id=f"../{EVIL}", reason=EVIL, candidate_fact=EVIL, llm_model=EVIL, prompt_version=EVIL, session_key=EVIL,
        window_hash=window, raw_response=EVIL,
    )  # fmt: skip
    create_decision(2)
    (address,) = {link.partition("#")[0] for link in links(as_operator.get(ADA)) if f"{ADA}..%2F" in link}
    page = as_operator.get(address)
    assert page.status_code == 200
    assert "<script>alert" not in get_text(page) and "\u202e" not in get_text(page).partition("<main")[2]
    assert page.context["row"].id == f"../{EVIL}"
