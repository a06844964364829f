"""The limit of simultaneous downloads.

A download beyond it is told when to return. Every download gives its place back, however it ends.
"""

import os
import signal
import socket
import time
import urllib.request
from http.client import HTTPConnection
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from openclaw_web.pages.downloads import StreamedDownload, TooManyDownloads
from people.models.bookkeeping import AuditEntry
from tests.factories import SessionFactory
from tests.openclaw_web.pages.test_downloads import create_export
from tests.people.test_api_limits import MAKE_A_TOKEN
from tests.processes import HANG, Home

LIST = "/agents/ada/sessions/?format=csv"
LINES = "/api/v1/agents/ada/sessions?format=jsonl"
FILE = "/exports/e1/files/train.json"
API_FILE = "/api/v1/exports/e1/files/train.json"
MANY_SESSIONS = """
from agents import databases, services
from benchmarks import bulk_rows
services.register("ada")
bulk_rows.fill_sessions(databases.get_alias("ada"), 60_000)
"""


@pytest.fixture
def site(as_admin, ada, settings, tmp_path):
    """A site with one place for downloads, an agent's list and an export."""
    settings.HOME_DIR, settings.DOWNLOADS = tmp_path, 1
    create_export(tmp_path)
    SessionFactory.create_batch(3)
    return as_admin


@pytest.mark.django_db
class TestPlaces:
    @pytest.mark.parametrize("held", [LIST, LINES, FILE, API_FILE])
    @pytest.mark.parametrize("address", [LIST, LINES, FILE, API_FILE])
    def test_who_finds_none_is_told_when_to_come_back(self, site, held, address):
        first = site.get(held)
        refused = site.get(address)
        assert (first.status_code, refused.status_code, refused["Retry-After"]) == (200, 503, "5")
        sentence = refused.json()["detail"] if address.startswith("/api/") else refused.text
        assert "Only 1 download can run at a time" in sentence
        first.close()
        second = site.get(address)
        assert second.status_code == 200
        second.close()

    def test_pages_need_no_place_and_what_was_refused_is_no_download_in_the_audit_log(self, site):
        first = site.get(LIST)
        assert site.get("/agents/ada/sessions/").status_code == 200
        site.get(LIST)
        assert AuditEntry.objects.filter(action="downloaded").count() == 1
        first.close()

    def test_an_end_and_a_request_that_fails_give_their_place_back(self, site):
        for _ in range(3):
            assert site.get(f"{LINES}&sort=x").status_code == 422
            assert site.get("/agents/ada/artifacts/" + "0" * 64 + "/download/").status_code == 404
            assert site.get(LIST).getvalue().count(b"\n") == 4

    def test_no_limit(self, site, settings):
        settings.DOWNLOADS = 0
        answers = [site.get(LIST) for _ in range(8)]
        assert {answer.status_code for answer in answers} == {200}
        for answer in answers:
            answer.close()

    def test_a_killed_process_gives_its_place_back(self, site):
        child = os.fork()
        if child == 0:
            held = StreamedDownload(())
            os.kill(os.getpid(), signal.SIGSTOP)
            held.close()
        os.waitpid(child, os.WUNTRACED)
        try:
            with pytest.raises(TooManyDownloads):
                StreamedDownload(())
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        StreamedDownload(()).close()


def test_who_hangs_up_gives_the_place_back(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    home.env["OPENCLAW_WEB_DOWNLOADS"] = "1"
    try:
        token = home.python(MAKE_A_TOKEN)
        home.python(MANY_SESSIONS + "print('made')")
        address = home.serve().address()
        caller = HTTPConnection(urlsplit(address).netloc)
        caller.request("GET", LINES, headers={"Authorization": f"Bearer {token}"})
        caller.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        assert caller.getresponse().read(100)
        assert read_status(f"{address}{LINES}", token) == 503
        caller.close()
        until = time.monotonic() + HANG
        while read_status(f"{address}{LINES}", token) != 200:
            assert time.monotonic() < until
            time.sleep(0.2)
    finally:
        home.close()


def read_status(url, token):
    """Returns the status of a download, which is read to its end."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as response:
            while response.read(1_000_000):
                pass
            return response.status
    except HTTPError as failed:
        return failed.code
