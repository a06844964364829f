"""The page of one version of a prompt."""

import re
from html import unescape

import pytest
from markupsafe import escape

from tests.factories import T0, DecisionFactory, GateCallFactory, PromptFactory
from tests.gate.decision_rows import EVIL
from tests.ledger.transcript_records import get_text

ADA, API = "/agents/ada/gate/prompts/", "/api/v1/agents/ada/gate/prompts/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def prompts(ada):
    for number, line in enumerate(("Be brief.", "Be exact.", "Be kind.")):
        PromptFactory(id=f"v{number}", text=f"Decide.\n{line}\n", created_at=T0 + number)


def find_changes(page):
    """Returns the removed and the added lines that a page with a difference marks."""
    lines_by_kind = {
        kind: re.findall(rf'side--{kind}">.*?diff__text">(.*?)</div>', get_text(page)) for kind in ("removed", "added")
    }
    return tuple([unescape(re.sub(r"<[^>]*>", "", line)) for line in lines] for lines in lines_by_kind.values())


def test_it_works(as_stranger, prompts):
    for _each in range(2):
        DecisionFactory(prompt_version="v1")
    page = as_stranger.get(f"{ADA}v1/")
    assert "2 decisions with this prompt" in get_text(page)
    assert 'href="/agents/ada/gate/?prompt=v1"' in get_text(page)
    assert find_changes(page) == (["Be brief."], ["Be exact."])  # since the one before


def test_another_one_to_compare_with(as_stranger, prompts):
    assert find_changes(as_stranger.get(f"{ADA}v0/?from=v2")) == (["Be kind."], ["Be brief."])
    assert "no earlier version" in get_text(as_stranger.get(f"{ADA}v0/"))
    assert "There is no prompt version v9" in get_text(as_stranger.get(f"{ADA}v0/?from=v9"))


@pytest.mark.parametrize("line", ["1", "0", "x", "9999999999999"])
def test_a_long_one_comes_in_pieces(as_stranger, ada, line):
    PromptFactory(id="v1", text="".join(f"line {n}\n" for n in range(1, 2_001)))
    page = get_text(as_stranger.get(f"{ADA}v1/?line={line}"))
    assert "Lines 1 to 1,000 of 2,000" in page
    assert "line 2000<" in get_text(as_stranger.get(f"{ADA}v1/?line=1001"))


def test_a_version_that_only_a_plugin_knows(as_stranger, ada):
    DecisionFactory(prompt_version="plugin/3")
    GateCallFactory(prompt_version="plugin-4")
    page = as_stranger.get(f"{ADA}plugin/3/")
    assert page.status_code == 200 and "The text of this prompt is not known." in get_text(page)
    answer = as_stranger.get(f"{API}plugin-4").json()
    assert answer == {"id": "plugin-4", "text": None, "created_at": None, "decision_count": 0}


def test_the_api_tells_the_text(as_stranger, prompts):
    answer = as_stranger.get(f"{API}v1").json()
    assert answer == {"id": "v1", "text": "Decide.\nBe exact.\n", "created_at": T0 + 1, "decision_count": 0}


def test_one_that_nobody_knows_leads_on(as_stranger, prompts):
    page = as_stranger.get(f"{ADA}v9/")
    assert page.status_code == 404 and "There is no prompt version v9." in get_text(page)
    assert as_stranger.get(f"{API}v9").status_code == 404


def test_hostile_texts_are_texts(as_stranger, ada):
    PromptFactory(id="v1", text=EVIL)
    PromptFactory(id=EVIL, text=f"{EVIL}\nmore", created_at=T0 - 1)
    for address in (f"{ADA}v1/", f"{ADA}v1/?from={EVIL}"):
        page = get_text(as_stranger.get(address)).replace(f'value="{escape(EVIL)}"', "")
        assert "<script>alert" not in page and "\u202e" not in page
