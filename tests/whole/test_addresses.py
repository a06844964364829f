"""Links lead to their row, even if its id has slashes, dots or percent signs."""

import re
from html import unescape
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from django.urls import resolve, reverse
from hypothesis import given
from hypothesis import strategies as st

from guardian.models import WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
from tests.factories import T0
from tests.guardian.runner.proposal_rows import create_decision

PIECES = st.sampled_from([".", "..", "~.", "~~..", "...", "a", "~a", "", "%2e%2e", "\\", "é"])
NAMES = st.lists(PIECES, min_size=1, max_size=5).map("/".join).filter(bool)


def resolve_link(page, address):
    """The path that a browser opens for a link.

    The browser removes `..` and the segment before it.
    """
    return urlsplit(urljoin(f"http://site{page}", address.replace("%2e", "."))).path


@given(NAMES)
def test_an_id_comes_back_out_of_its_address(name):
    address = reverse("guardian:audit_detail", args=["ada", name])
    assert resolve_link("/", address) == address
    assert resolve(resolve_link("/", reverse("guardian:rollback_do", args=["ada", name]))).url_name == "rollback_do"
    match = resolve(unquote(address))
    assert match.url_name != "audit_detail" or match.kwargs["audit_id"] == name


@pytest.mark.django_db
def test_a_button_of_a_hostile_write_leads_to_that_write(as_admin, ada):
    name = "../../../operations/users/stranger/deactivate"
    create_decision()
    facts = {"session_id": "s0", "turn_id": "s0:u", "target_file": "USER.md", "candidate_fact": "Likes tea."}
    row = WriteGuardianAudit(id=name, status="written", created_at=T0, **facts)
    write_store.store_reports("agent_ada", [Report(row, Source.API, FileChange(None, b"x\n"), body_sha256="1")])
    page = "/agents/ada/writes/"
    part_address = re.search(r'hx-get="([^"]*write-verdicts[^"]*)"', as_admin.get(page).content.decode())[1]
    words = as_admin.get(unescape(part_address)).content.decode()
    actions = {resolve_link(page, unescape(action)) for action in re.findall(r'action="([^"]+)"', words)}
    assert actions and all(resolve(unquote(action)).url_name == "write_judge" for action in actions)
    assert all(resolve(unquote(action)).kwargs["audit_id"] == name for action in actions)
    links = re.findall(r'<a href="([^"]*deactivate[^"]*)"', as_admin.get(page).content.decode())
    assert links and all(as_admin.get(resolve_link(page, link)).status_code == 200 for link in links)
