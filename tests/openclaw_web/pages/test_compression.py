"""Compression of answers: pages and JSON are compressed, files are not."""

import gzip

import pytest
from django.http import HttpResponse

from openclaw_web.pages import compression

pytestmark = pytest.mark.django_db
GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def test_it_works(as_admin):
    plain = as_admin.get("/operations/settings/")
    packed = as_admin.get("/operations/settings/", headers=GZIP)
    assert packed["Content-Encoding"] == "gzip" and "Accept-Encoding" in packed["Vary"]
    assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 2
    assert b"<h1>" in gzip.decompress(packed.content)
    assert not plain.has_header("Content-Encoding") and "Accept-Encoding" in plain["Vary"]


@pytest.mark.parametrize("accepts", ["", "br", "gzip;q=0", "deflate, gzip; q=0.0"])
def test_who_cannot_read_it_gets_it_plain(as_admin, accepts):
    answer = as_admin.get("/operations/settings/", headers={"Accept-Encoding": accepts})
    assert not answer.has_header("Content-Encoding")


def test_the_same_page_has_many_lengths(as_admin):
    lengths = {len(as_admin.get("/nowhere/", headers=GZIP).content) for _ in range(12)}
    assert len(lengths) > 1


def test_files_and_short_answers_go_out_as_they_are(as_admin):
    files = as_admin.get("/samples/?format=csv", headers=GZIP)
    assert files.streaming and not files.has_header("Content-Encoding")
    assert not as_admin.get("/healthz", headers=GZIP).has_header("Content-Encoding")


def test_pages_with_secrets_go_out_as_they_are(as_admin):
    made = as_admin.post("/operations/tokens/make/", {"name": "x", "role": "viewer", "days": "30"}, headers=GZIP)
    assert b"oc_" in made.content and not made.has_header("Content-Encoding")


def test_what_has_an_etag_keeps_it(rf):
    def view(_request):
        return HttpResponse("x" * 5_000, headers={"ETag": '"abc"'})

    answer = compression.CompressionMiddleware(view)(rf.get("/", headers=GZIP))
    assert answer["ETag"] == '"abc"' and len(answer.content) == 5_000
