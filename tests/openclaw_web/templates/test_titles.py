"""Titles and headings say what a page is, without counts and relative times."""

import re

import pytest

from tests.suite.sources import ROOT, TEMPLATES, fail_for, where

BLOCK = re.compile(
    r"\{% block (?:title|heading) %\}(.*?)\{% endblock"
    r"|\{% set (?:name|title) %\}(.*?)\{% endset"
    r"|<(?:title|h[1-3])\b[^>]*>(.*?)</(?:title|h[1-3])>",
    re.DOTALL,
)
PASSES = re.compile(r"\|\s*(ago|number|tokens|money)\b|\bcounted\b|\bcounter=")
# Headings of one act with its numbers, which are those of the form or of the receipt below. The number of a row of
# an export is in its address, and the file does not change. Trying a rule is an act as well.
ACTS = {
    "guardian/rule_try.html",
    "datasets/export_rows.html",
    "datasets/version_parts.html",
    "datasets/samples_bulk.html",
    "episodes/redaction_preview.html",
    "episodes/scope_retention.html",
    "operations/artifact_store.html",
    "operations/doctor_receipt.html",
    "operations/retention.html",
}


def test_they_do_not_change_a_minute_later():
    fail_for(
        f"{where(path, text.count(chr(10), 0, heading.start()) + 1)}  {' '.join(heading[0].split())[:90]}"
        for path in TEMPLATES
        if str(path.relative_to(ROOT / "templates")) not in ACTS
        for text in [path.read_text()]
        for heading in BLOCK.finditer(text)
        if PASSES.search("".join(filter(None, heading.groups())))
    )


@pytest.mark.parametrize("address", ["/agents/", "/agents/?from=2026-02-21&to=2026-02-21"])
def test_title_and_heading_are_the_same(as_admin, ada, address):
    page = as_admin.get(address).text
    title = re.search(r"<title>(.*?) · OpenClaw Web</title>", page)[1]
    heading = re.sub(r"<[^>]+>", "", re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)[1]).strip()
    assert title == heading
