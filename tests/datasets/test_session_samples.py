"""Links from the turns of a session to their samples."""

import re
from html import unescape

import pytest

from tests.datasets.review.test_review_evidence import make_sample
from tests.ledger.transcript_records import working_turns

pytestmark = pytest.mark.django_db


def test_a_turn_leads_to_its_sample(as_stranger, ada):
    sample = make_sample(ada, *working_turns(3), turn=2)
    page = as_stranger.get("/agents/ada/sessions/s1/").text
    (address,) = re.findall(r'hx-get="(/agents/ada/sessions/s1/samples/of/[^"]*)"', page)
    assert 'href="/samples/?agent=ada&amp;session=s1"' in page  # without JavaScript
    answer = as_stranger.get(unescape(address))
    assert re.findall(r'id="([^"]+)"[^>]*href="([^"]+)"', answer.text) == [("sample-of-2", f"/samples/{sample.id}/")]
    for number in (1, 2, 3):
        assert page.count(f'id="sample-of-{number}"') == 1


def test_only_turns_that_were_asked_for(as_stranger, ada):
    make_sample(ada, *working_turns(3), turn=2)
    base = "/agents/ada/sessions/s1/samples/of/"
    for query in ("?turn=1&turn=3", "", "?turn=x&turn=-1&turn=99999999999999"):
        assert "href" not in as_stranger.get(base + query).text
    assert "href" not in as_stranger.get("/agents/ada/sessions/other/samples/of/?turn=2").text
