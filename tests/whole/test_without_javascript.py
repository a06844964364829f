"""Every page in a browser that runs no JavaScript: it is there, says what it has to say, and can be used.

One site with demonstration data and one browser for all of them.
"""

import json
import re

import pytest

from tests.complaints import listen
from tests.processes import Home
from tests.suite.sources import fail_for
from tests.whole.test_accessibility import ADDRESSES, BEFORE_SIGN_IN, FACTS

pytestmark = [pytest.mark.browser, pytest.mark.kill]

# How the main heading of each page begins, on the demonstration site. A page that is missing here fails the test.
HEADINGS = {
    "artifacts:artifact_detail": "Text",
    "artifacts:artifact_list": "Artifacts of main",
    "automation:background_list": "Background work of main",
    "automation:cron_detail": "Stock watch",
    "automation:cron_list": "Scheduled tasks of main",
    "automation:subagent_list": "Sub-agents of main",
    "collecting:rejected_list": "Rejected records",
    "collecting:skipped_list": "Skipped sources",
    "overview:memory_list": "Memory in prompts",
    "datasets:export_detail": "Bakery replies",
    "datasets:export_list": "Exports",
    "datasets:replay_verdicts": "Replay and verdicts",
    "datasets:review": "Review",
    "datasets:review_keys": "Your keys",
    "datasets:sample_detail": "Turn ",
    "datasets:sample_list": "Samples",
    "datasets:samples_bulk": "Approve ",
    "gate:call_detail": "Gate call",
    "gate:call_list": "Gate calls of main",
    "gate:decision_detail": "Likes tea. UPDATE_USER",
    "gate:decision_list": "Decisions of main",
    "gate:own_gate": "Built-in gate for main",
    "guardian:own_guardian": "Built-in guardian for main",
    "guardian:proposal_detail": "Proposed write to MEMORY.md",
    "guardian:file_cure": "Bring MEMORY.md back into the prompt",
    "guardian:handover_detail": "Change of MEMORY.md handed to the agent",
    "guardian:rollback": "Roll back a write to MEMORY.md",
    "guardian:session_rollback": "Roll back all writes of a session",
    "guardian:write_retry": "Retry a write of main",
    "guardian:proposal_list": "Proposed writes of main",
    "gate:prompt_detail": "Prompt version v2",
    "gate:replay_detail": "Replay of decisions",
    "gate:replay_list": "Replays of decisions of main",
    "gate:replay_new": "Replay decisions with another model or prompt",
    "gate:statistics": "Memory gate statistics of main",
    "guardian:correct": "Correct a write",
    "guardian:rule_new": "New rule",
    "datasets:write_opinion": "Wrong: should say …",
    "guardian:corrections": "Corrections of this write",
    "guardian:audit_detail": "Write to MEMORY.md",
    "guardian:blame": "Who wrote MEMORY.md",
    "guardian:chart": "Writes of main by week",
    "guardian:opted_out": "Lines of people who opted out",
    "guardian:file_history": "History of MEMORY.md",
    "guardian:audit_list": "Writes of main",
    "guardian:file_detail": "MEMORY.md",
    "guardian:file_list": "Files of main",
    "guardian:rule_list": "Rules for memory writes of main",
    "jobs:job_detail": "Import",
    "jobs:job_list": "Jobs",
    "ledger:event_list": "Records of main",
    "ledger:record_detail": "Record ",
    "ledger:savings": "Savings of main",
    "ledger:session_branches": "Order desk",
    "ledger:session_detail": "Order desk",
    "ledger:session_list": "Sessions of main",
    "ledger:session_savings": "Order desk",
    "ledger:session_steps": "Order desk",
    "ledger:session_turns": "Order desk",
    "ledger:step_detail": "Step: ",
    "ledger:stored_list": "Databases of main",
    "ledger:turn_list": "Turns of main",
    "operations:artifact_store": "Artifact store",
    "operations:backup_list": "Backups",
    "operations:checkpoint_detail": "Checkpoint",
    "operations:doctor": "Doctor",
    "operations:lint_list": "Lint of main",
    "operations:retention": "Retention",
    "operations:system": "Problems",
    "overview:agent_list": "Agents",
    "overview:overview": "Overview",
    "people:account": "demo",
    "people:audit_list": "Audit log",
    "people:invitation_list": "Open invitations",
    "people:join": "You are invited",
    "people:one_time_link": "Welcome, mei",
    "people:settings": "Settings",
    "people:sign_in": "Sign in",
    "people:token_list": "All tokens",
    "people:user_list": "Users",
}
# What can be seen of a page; `waits`: what only a script would fill or carry out, but for what asks again and again,
# because reading the page anew shows the same; `mute`: forms nobody can send.
LOOK = """() => {
    const main = document.querySelector("main");
    const seen = (element) => element.checkVisibility({ visibilityProperty: true });
    const begun = (elements) => elements.map((element) => element.outerHTML.slice(0, 160));
    const all = (what, within = document) => [...within.querySelectorAll(what)];
    const asks = "[hx-get], [hx-post], [hx-put], [hx-delete], [aria-busy=true], .htmx-indicator";
    const works = (element) => element.matches("form, a[href], [hx-trigger=poll]") || element.form;
    const submits = (element) => element.type === "submit" || element.type === "image";
    return {
        headings: all("h1").filter(seen).map((heading) => heading.innerText),
        text: all("main > *").filter((element) => !element.matches(".page-head")).map((e) => e.innerText).join(" "),
        waits: begun(all(asks, main).filter((element) => seen(element) && !works(element))),
        mute: begun(all("form").filter((form) => ![...form.elements].some(submits))),
    };
}"""


class Plain:
    """A site with demonstration data, a signed-in tab, and one of a stranger."""

    def __init__(self, home, browser):
        home.env["OPENCLAW_STATE_DIR"] = str(home.path.parent / "openclaw")
        demo = home.start("demo", "--no-serve")
        assert demo.end() == 0, demo.said
        self.facts = json.loads(home.python(FACTS))
        self.origin = home.serve("--no-watch").address()
        self.complaints = []
        self.stranger, self.page = self._tab(browser), self._tab(browser)
        self._sign_in(re.search(r"http://[^/]+(/welcome/\S+)", demo.said)[1])

    def _tab(self, browser):
        page = browser.new_context(java_script_enabled=False).new_page()
        listen(page, self.complaints)
        return page

    def _sign_in(self, link):
        self.page.goto(self.origin + link)
        self.page.locator("main form button").first.click()
        self.page.wait_for_url(f"{self.origin}/")


@pytest.fixture
def site(tmp_path, browser):
    home = Home(tmp_path / "home")
    yield Plain(home, browser)
    home.close()


def problems(site, name):
    """What a page lacks when nothing of it runs."""
    page = site.stranger if name in BEFORE_SIGN_IN else site.page
    site.complaints.clear()
    answer = page.goto(site.origin + ADDRESSES[name].format(**site.facts))
    look = page.evaluate(LOOK)
    if answer.status != 200:
        yield f"{name}  answers {answer.status}"
    if len(look["headings"]) != 1 or not look["headings"][0].startswith(HEADINGS[name]):
        yield f"{name}  has the headings {look['headings']}, not {HEADINGS[name]!r}"
    if not look["text"].strip():
        yield f"{name}  says nothing below its heading"
    yield from (f"{name}  needs a script: {element}" for element in look["waits"])
    yield from (f"{name}  has a form without a button that sends it: {form}" for form in look["mute"])
    yield from (f"{name}  the browser complains: {said}" for said in site.complaints)


def test_every_page_has_a_heading():
    assert HEADINGS.keys() == ADDRESSES.keys()


def test_every_page_works_without_javascript(site):
    fail_for([problem for name in ADDRESSES for problem in problems(site, name)])
