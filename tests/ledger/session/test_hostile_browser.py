"""A hostile transcript can do nothing in a real browser.

It is collected as any other, and every page of it is opened.
"""

import json

import pytest
from playwright.sync_api import expect

from tests.homes import Home, assistant, result, user
from tests.ledger.browser_site import Site

pytestmark = [pytest.mark.browser, pytest.mark.kill]

SCRIPTS = [
    "<script>window.ran = true</script>",
    "<img src=x onerror='window.ran = true'><svg onload='window.ran = true'></svg>",
    "</pre></div></article></main><script>window.ran = true</script>",
    "[a link](javascript:window.ran=true) <a href='javascript:window.ran=true'>b</a> ![x](x onerror=window.ran=true)",
    "<iframe srcdoc='<script>parent.ran = true</script>'></iframe><base href='//evil.example/'>",
    "<div hx-get='/sign-out/' hx-trigger='load' data-key='n' data-announce='owned' data-jump='turn'></div>",
    "<style>body { display: none }</style><link rel=stylesheet href=//evil.example/x.css>",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200b\ufeff \x1b[31mred\x1b[0m \x00 \x07 \x85",
    "{% load x %}{{ request }} {# c #}",
]
IDS = ["a' \"b", "x''y", "<b>z", "../../..", "#r-1", "100%", "日本", "a b"]


def deep(levels):
    return "[" * levels + "]" * levels


@pytest.fixture
def openclaw(tmp_path):
    return Home(tmp_path / "openclaw")


@pytest.fixture
def script(openclaw):
    """A session in which every record is hostile."""
    transcript = openclaw.transcript()
    for number, text in enumerate(SCRIPTS):
        call = f"c{number}"
        arguments = {"command": text, text: text, "path": text}
        transcript.add(user(text), assistant(text, (call, text[:60] or "exec", arguments), model=text[:80]))
        transcript.add(result(call, text, name=text[:60], details={"exitCode": 3, "diff": text}))
        transcript.add(
            {"type": "compaction", "summary": text, "details": {"modifiedFiles": [text], "readFiles": [text]}}
        )
        transcript.add({"type": text[:40], "data": text}, {"type": "session_info", "name": text})
    for odd in IDS:
        transcript.add(user("an odd id") | {"id": odd}, user("a branch") | {"parentId": odd}, assistant("on it"))
    transcript.add(user("<script>window.ran = true</script>" + "a" * 5_000_000))
    transcript.raw(
        '{"type":"message","id":"deep","parentId":"x","message":{"role":"user","content":' + deep(5_000) + "}}\n"
    )
    transcript.raw('{"type":"custom","id":"deeper","data":' + deep(900) + "}\n")
    arguments = json.dumps({"x": "<script>window.ran = true</script>", "y": [[[[]]]]})
    transcript.add(assistant("", ("last", "exec", {"_text": arguments})))
    openclaw.index({"agent:main:telegram:<script>window.ran=true</script>": {
        "sessionId": transcript.session, "label": SCRIPTS[0], "spawnedBy": SCRIPTS[1], "channel": SCRIPTS[2],
        "skillsSnapshot": {"prompt": SCRIPTS[3]},
    }})  # fmt: skip
    return transcript


@pytest.fixture
def site(tmp_path, openclaw, script, page, migrated):
    made = Site(tmp_path, openclaw, page, migrated)
    made.wait_for_session(script.session)
    yield made
    made.home.close()


def weigh(site, page, address):
    """Open a page, and assert that no script runs and that its size is bounded."""
    # A browser that is slow to tell of its requests makes `goto` return no response.
    with page.expect_response(lambda response: response.request.is_navigation_request()) as arriving:
        page.goto(address)
    response = arriving.value
    assert response.status in (200, 404), (response.status, address)
    assert len(response.body()) < 1_200_000, address
    if response.status == 200:
        site.check()
    site.complaints.clear()


def test_nothing_runs(site, script, page):
    address = site.wait_for_session(script.session)
    sessions = address.rsplit("/", 2)[0] + "/"
    weigh(site, page, sessions)
    expect(page.locator("body")).to_be_visible()
    views = ["", "?branch=all", "?all=1", "?before=999", "turns/", "branches/", "?kind=errors", "?kind=tools"]
    views += ["?find=%3Cscript%3E", "?kind=memory", "?kind=compactions", "?after=40", "?branch=%3Cscript%3E"]
    for view in views:
        weigh(site, page, address + view)
    for record in ("r1", "r2", "r3", "r4", "r5", "deeper", "a'%20%22b", "x''y", "%3Cb%3Ez", "100%25"):
        weigh(site, page, f"{address}?record={record}#r-{record}")
        weigh(site, page, f"{address}records/{record}/")


def test_everything_can_be_opened_and_loaded_on(site, script, page):
    page.goto(site.wait_for_session(script.session) + "?branch=all")
    while (more := page.get_by_role("link", name="Show more records")).count():
        count = page.locator("article").count()
        more.press("Enter")  # turns that are drawn late move what a mouse aims at
        expect(page.locator("article").nth(count)).to_be_attached()
    for fold in page.locator("details").all():
        fold.evaluate("(fold) => { fold.open = true; }")
    for key in "nnttTpecCE":
        page.keyboard.press(key)
    expect(page.locator("body")).to_be_visible()
    assert (
        page.locator(
            "main script:not([src]), main iframe, main base, main style, main [onerror], main [onload]"
        ).count()
        == 0
    )
    assert page.locator("main a[href^='javascript']").count() == 0
    site.check()


def test_what_arrives_while_the_page_is_open_is_inert_too(site, script, page):
    page.goto(site.wait_for_session(script.session) + "?before=999")
    script.add(user(SCRIPTS[0] + SCRIPTS[1]) | {"id": "x''\"> new", "parentId": script.last})
    expect(page.locator('[id="r-x\'\'\\"> new"]')).to_be_attached()
    site.check()


def test_samples_of_it_are_inert_too(site, script, page):
    page.goto(site.wait_for_session(script.session))
    page.locator("input[name=all]").last.check()
    page.get_by_role("button", name="Create samples from selected turns").click()
    expect(page.locator("main tbody a").first).to_be_visible()
    site.check()
    for address in page.locator("main tbody a").evaluate_all("(links) => links.slice(0, 9).map((link) => link.href)"):
        weigh(site, page, address)
