"""A new rule from words: the facts that they match, and the fact it comes from."""

import html
import re

import pytest

from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import get_text

pytestmark = pytest.mark.django_db
DB, PAGE = "agent_ada", "/agents/ada/writes/rules/"


@pytest.mark.usefixtures("ada")
def test_a_new_rule_begins_with_words_and_a_fact(as_operator):
    assert 'href="/agents/ada/writes/rules/new/"' in get_text(as_operator.get(PAGE))
    create_write(DB, 2, None, b"x", candidate_fact="Drinks green tea at four.")
    assert "Facts that contain all of" in get_text(as_operator.get(f"{PAGE}new/"))
    typed = {"contains": "green, black\ntea", "name": "Hot drinks", "chooses": "1"}
    part = as_operator.post(f"{PAGE}try/", typed, headers={"HX-Request": "true"}).text
    (address,) = re.findall(r'href="([^"]+)">Create the rule from this fact', part)
    form = as_operator.get(html.unescape(address)).text
    assert (
        'value="Hot drinks"' in form and "green, black\ntea" in form and re.search("apply_to_future[^>]*checked", form)
    )
    assert 'value="refused" selected' in form
    nothing = as_operator.post(f"{PAGE}try/", typed | {"contains": "coal"}).text
    assert "A rule starts from a fact" in nothing and "Make the rule" not in nothing
