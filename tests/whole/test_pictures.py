"""The pictures of README.md show the current site.

Each picture has a fingerprint of the texts of its page, without numbers and times, and of its colours and sizes.
`UPDATE_GOLDEN=1 ./dev test --nightly tests/whole/test_pictures.py` takes the pictures again.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass

import pytest

from benchmarks.corpus import UNTIL_MS
from demo.recording import Recording
from demo.showcase import MARKER
from tests.complaints import listen
from tests.processes import Home
from tests.suite.sources import ROOT

FOLDER = ROOT / "docs" / "images"
FINGERPRINTS = FOLDER / "pictures.json"
ALL_OF_A_SESSION = "/agents/main/sessions/?segment=all&q=Order+desk"
SAMPLE = """
from datasets.models import DatasetSample
print(next(row.id for row in DatasetSample.objects.all() if row.body["userMessage"].startswith("now is fine, it's")))
"""
ARTIFACT = """
from agents.databases import get_alias
from artifacts.models import Artifact
print(Artifact.objects.using(get_alias("main")).get(summary__contains="test_a_full_slot_is_not_offered FAILED").sha256)
"""
WRITE = """
from agents.databases import get_alias
from guardian.models import WriteGuardianAudit
print(WriteGuardianAudit.objects.using(get_alias("main")).get(status="rolled_back").id)
"""
TURN = """
from agents.databases import get_alias
from guardian.models import WriteGuardianAudit
print(WriteGuardianAudit.objects.using(get_alias("main")).get(id="demo-write-0").turn_id)
"""
# Widths and positions depend on fonts, numbers and times on the moment: both are left out.
SEEN = """() => {
    const looks = ["display", "visibility", "color", "backgroundColor", "fontSize", "fontWeight", "textDecorationLine",
        "borderTopWidth", "borderTopColor", "borderRadius", "paddingTop", "paddingLeft", "marginTop", "gap"];
    const describe = (element) => {
        const style = getComputedStyle(element);
        const words = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
            .map((node) => node.data.trim()).join(" ").replace(/[\\d.,]+/g, "0");
        return [element.tagName, ...looks.map((name) => style[name]), words].join("|");
    };
    return [...document.body.querySelectorAll("*")]
        .filter((element) => !element.closest("svg, time, script, [hidden]") && element.checkVisibility())
        .map(describe);
}"""


@dataclass(frozen=True)
class Picture:
    """A page of the demo in one browser; `steps` lead from `address` to the picture."""

    name: str
    address: str
    steps: object = None
    look: tuple = ()


def _open_tenth_turn(page):
    page.get_by_role("link", name="Order desk 点单台").first.click()
    page.get_by_label("Go to turn").fill("10")
    with page.expect_navigation():
        page.get_by_role("button", name="Go", exact=True).click()


def _edit_reply(page):
    page.keyboard.press("e")
    reply = page.locator("#review-sample textarea").first
    reply.fill(reply.input_value().rstrip(".") + ". Nobody's order was lost.")
    page.get_by_text("Draft saved").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("now is fine").evaluate("(line) => scrollBy(0, line.getBoundingClientRect().top - 250)")


PICTURES = (
    Picture("session", ALL_OF_A_SESSION, _open_tenth_turn),
    Picture("review", "/review/?sample={sample}", _edit_reply),
    Picture("artifact", "/agents/main/artifacts/{artifact}/?mode=grep&pattern=FAILED%7CError&context=3"),
    Picture("write", "/agents/main/writes/{write}/"),
    Picture("blame", "/agents/main/files/MEMORY.md/", look=(("color_scheme", "dark"),)),
    Picture("search", "/search/?q=flour"),
    Picture("chain", "/agents/main/chain/turn/{turn}/"),
    Picture("remediation", "/agents/main/remediation/of/{turn}/"),
    Picture("sessions", "/agents/main/sessions/", look=(("locale", "zh-CN"), ("color_scheme", "dark"))),
)


class Site:
    """The demo, served, with sign-in links."""

    def __init__(self, home):
        openclaw = home.path.parent / "openclaw"
        home.env["OPENCLAW_STATE_DIR"] = str(openclaw)
        # With a fixed last day, so that pictures stay the same.
        Recording(UNTIL_MS).write_home(openclaw)
        (openclaw / MARKER).write_text(json.dumps({"complete": True, "until_ms": UNTIL_MS}))
        self.home, self.complaints = home, []
        command = home.start("demo", "--no-serve")
        assert command.end() == 0, command.said
        command = home.start("search", "rebuild")
        assert command.end() == 0, command.said
        self.address = home.serve("--no-watch").address()
        self.facts = {"sample": home.python(SAMPLE), "artifact": home.python(ARTIFACT)}
        self.facts |= {"write": home.python(WRITE), "turn": home.python(TURN)}

    def link(self):
        """A new sign-in link: each picture has a browser of its own."""
        command = self.home.start("sign_in_link", "demo")
        assert command.end() == 0, command.said
        return re.search(r"http://[^/]+(/welcome/\S+)", command.said)[1]

    def show(self, browser, picture):
        """Open a tab that shows a picture."""
        look = {"viewport": {"width": 1400, "height": 900}, "color_scheme": "light", "reduced_motion": "reduce"}
        page = browser.new_context(**look | dict(picture.look)).new_page()
        listen(page, self.complaints)
        page.goto(self.address + self.link())
        page.locator("main form button").first.click()
        page.wait_for_url(f"{self.address}/")
        page.goto(self.address + picture.address.format(**self.facts))
        if picture.steps:
            picture.steps(page)
        page.wait_for_load_state("networkidle")
        return page


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("pictures") / "home")
    yield Site(home)
    home.close()


@pytest.mark.browser
@pytest.mark.kill
@pytest.mark.nightly
@pytest.mark.parametrize("picture", PICTURES, ids=[picture.name for picture in PICTURES])
def test_it_shows_the_site_as_it_is(site, browser, picture):
    page = site.show(browser, picture)
    seen = hashlib.sha256("\n".join(page.evaluate(SEEN)).encode()).hexdigest()
    if os.environ.get("UPDATE_GOLDEN"):
        page.screenshot(path=FOLDER / f"{picture.name}.png")
        _store_fingerprint(picture.name, seen)
    page.context.close()
    assert site.complaints == []
    assert _read_fingerprints().get(picture.name) == seen, (
        f"{picture.name}.png is stale: UPDATE_GOLDEN=1 ./dev test --nightly {__file__}"
    )


def test_every_picture_is_in_a_document_and_has_a_fingerprint():
    pictures = {path.stem for path in FOLDER.glob("*.png")}
    texts = "\n".join(path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    linked = set(re.findall(r"images/(\w+)\.png", texts))
    assert pictures == linked == {picture.name for picture in PICTURES} == set(_read_fingerprints())


def _read_fingerprints():
    return json.loads(FINGERPRINTS.read_text()) if FINGERPRINTS.exists() else {}


def _store_fingerprint(name, seen):
    FINGERPRINTS.write_text(json.dumps(_read_fingerprints() | {name: seen}, indent=2, sort_keys=True) + "\n")
