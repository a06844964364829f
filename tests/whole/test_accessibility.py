"""Every page in a real browser: axe-core in both themes, on a desk and on a phone, full and empty.

One site with demonstration data, one that is new, one browser. Each page is opened once and looked at four ways,
and once more in Chinese, whose colours are the same.
"""

import json
import re
from importlib import resources

import pytest

from tests.complaints import listen
from tests.people.test_roles import PAGES
from tests.processes import Home
from tests.suite.sources import fail_for

pytestmark = [pytest.mark.browser, pytest.mark.kill]

DESK, WIDE, PHONE = ({"width": width, "height": 900} for width in (1280, 1440, 390))
SIZES = dict.fromkeys(("gate:replay_detail", "gate:statistics"), (DESK, WIDE, PHONE))  # tables beside panels
# Where each page is; {names} are taken from the site. A page that is missing here fails the test.
ADDRESSES = {
    "artifacts:artifact_detail": "/agents/main/artifacts/{artifact}/?mode=grep&pattern=line&context=1",
    "artifacts:artifact_list": "/agents/main/artifacts/",
    "datasets:review": "/review/",
    "datasets:review_keys": "/review/keys/",
    "datasets:sample_detail": "/samples/{sample}/",
    "datasets:sample_list": "/samples/",
    "datasets:samples_bulk": "/samples/bulk/?verdict=approved",
    "gate:call_detail": "/agents/main/gate/calls/{call}/",
    "gate:call_list": "/agents/main/gate/calls/",
    "gate:decision_detail": "/agents/main/gate/{decision}/",
    "gate:decision_list": "/agents/main/gate/",
    "gate:prompt_detail": "/agents/main/gate/prompts/{prompt}/",
    "gate:own_gate": "/agents/main/gate/own/",
    "guardian:own_guardian": "/agents/main/writes/own/",
    "guardian:proposal_detail": "/agents/main/writes/own/proposals/{proposal}/",
    "guardian:file_cure": "/agents/main/writes/cure/{file}/",
    "guardian:handover_detail": "/agents/main/writes/handovers/{handover}/",
    "guardian:rollback": "/agents/main/writes/rollback/of/{write}/",
    "guardian:session_rollback": "/agents/main/writes/session/of/{session}/",
    "guardian:write_retry": "/agents/main/writes/own/retry/{write}/",
    "guardian:proposal_list": "/agents/main/writes/own/proposals/",
    "gate:replay_detail": "/agents/main/gate/replays/{replay}/",
    "gate:replay_list": "/agents/main/gate/replays/",
    "gate:replay_new": "/agents/main/gate/replays/new/?decision=NO_WRITE",
    "gate:statistics": "/agents/main/gate/statistics/",
    "datasets:replay_verdicts": "/agents/main/replays/{replay}/verdicts/",
    "guardian:correct": "/agents/main/writes/correct/{corrected}/",
    "datasets:write_opinion": "/agents/main/opinions/{write}/?opinion=should_say",
    "guardian:corrections": "/agents/main/corrections/{corrected}/",
    "guardian:rule_list": "/agents/main/writes/rules/",
    "guardian:rule_new": "/agents/main/writes/rules/new/",
    "guardian:audit_detail": "/agents/main/writes/{write}/",
    "guardian:blame": "/agents/main/writes/blame/{file}/",
    "guardian:chart": "/agents/main/writes/chart/",
    "guardian:opted_out": "/agents/main/writes/opted-out/",
    "guardian:file_history": "/agents/main/writes/history/{file}/",
    "guardian:audit_list": "/agents/main/writes/",
    "guardian:file_detail": "/agents/main/files/{file}/",
    "guardian:file_list": "/agents/main/files/",
    "ledger:event_list": "/agents/main/events/",
    "ledger:record_detail": "/agents/main/sessions/{session}/records/{record}/",
    "ledger:savings": "/agents/main/savings/",
    "ledger:session_branches": "/agents/main/sessions/{session}/branches/",
    "ledger:session_detail": "/agents/main/sessions/{session}/",
    "ledger:session_list": "/agents/main/sessions/",
    "ledger:session_savings": "/agents/main/sessions/{session}/savings/",
    "ledger:session_steps": "/agents/main/sessions/{session}/steps/",
    "ledger:session_turns": "/agents/main/sessions/{session}/turns/",
    "ledger:step_detail": "/agents/main/sessions/{session}/steps/{step}/",
    "ledger:turn_list": "/agents/main/turns/",
    "people:account": "/account/",
    "overview:agent_list": "/agents/",
    "operations:artifact_store": "/operations/artifacts/",
    "people:audit_list": "/operations/audit/",
    "operations:checkpoint_detail": "/agents/main/checkpoints/{checkpoint}/",
    "operations:backup_list": "/operations/backups/",
    "operations:doctor": "/operations/doctor/",
    "operations:retention": "/operations/retention/",
    "operations:system": "/operations/",
    "automation:background_list": "/agents/main/background/",
    "automation:cron_detail": "/agents/main/cron/{cron}/",
    "automation:cron_list": "/agents/main/cron/",
    "datasets:export_detail": "/exports/{export}/",
    "datasets:export_list": "/exports/",
    "people:invitation_list": "/operations/invitations/",
    "jobs:job_detail": "/operations/jobs/{job}/",
    "jobs:job_list": "/operations/jobs/",
    "people:join": "/join/{invitation}/",
    "operations:lint_list": "/agents/main/lint/",
    "people:one_time_link": "/welcome/{welcome}/",
    "overview:overview": "/",
    "collecting:rejected_list": "/operations/rejected/",
    "collecting:skipped_list": "/operations/skipped/",
    "overview:memory_list": "/operations/memory/",
    "people:settings": "/operations/settings/",
    "people:sign_in": "/sign-in/",
    "ledger:stored_list": "/agents/main/stored/",
    "automation:subagent_list": "/agents/main/subagents/",
    "people:token_list": "/operations/tokens/",
    "people:user_list": "/operations/users/",
}
NO_PAGES = {
    "api:openapi-json": "a document for programs",
    "api:openapi-view": "ninja's page, not ours",
    "artifacts:artifact_download": "a file",
    "datasets:decision_verdict": "a part of a decision's page; tests/datasets/from_decisions looks at it",
    "datasets:decision_verdicts": "verdicts for places in a list",
    "datasets:write_verdict": "a part of a write's page; tests/datasets/from_writes looks at it",
    "datasets:write_verdicts": "verdicts for places in a list",
    "datasets:review_waiting": "a number for a script",
    "operations:system_needs": "a number for a script",
    "datasets:session_samples": "links for places on another page",
    "gate:session_decisions": "links for places on another page",
    "guardian:proposal_patch": "a file",
    "guardian:audit_lines": "lines for a place on another page",
    "guardian:decision_writes": "links for a place on another page",
    "guardian:session_writes": "links for places on another page",
    "jobs:job_notice": "what a notice about a job asks for until the job has ended",
    "ledger:session_live": "what a session's page asks for while it is open",
    "operations:backup_file": "a file",
    "datasets:export_file": "a file",
    "datasets:export_zip": "a file",
    "overview:healthz": "one word for a supervisor",
}
FAILURES = {
    "404": "/nowhere/",
    "404 of an agent": "/agents/nobody/sessions/",
    "409": "/agents/?from=yesterday",
    "400": "/agents/main/sessions/?format=xml",
    "404 of an artifact": "/agents/main/artifacts/x/",
    "422 of an artifact": "/agents/main/artifacts/{artifact}/?mode=grep&pattern=(",
    "expired link": "/welcome/this-was-used/",
}
BEFORE_SIGN_IN = {"people:sign_in", "people:join", "people:one_time_link"}
# Both themes beside each other, whatever the browser prefers: every landmark is there twice (tests/components).
BOTH_AT_ONCE = "components"
NOT_ASKED = {BOTH_AT_ONCE: {"landmark-unique"}}
# Prints what ADDRESSES are filled with.
FACTS = """
import json
from agents.databases import alias
from artifacts import services
from agents.models import Agent
from gate.models import GateCall, GatePrompt, GateReplay, GateReplayDecision
from gate.recording import storing
from gate.recording.told import MemoryGateDecision, Source, Told
from gate.recording.windows import Window
from guardian.models import GuardianRun, Handover, WriteGuardianAudit
from guardian.recording import storing as writes
from guardian.recording.told import FileChange, Source as Teller, Told as Write
from datasets.models import DatasetExport, DatasetSample
from guardian.correcting.correcting import correct
from openclaw_web.disk import packing
from guardian.recording import told as tells
from guardian.recording.storing import store
from ledger.transcripts import around
from ledger.collectors.trajectories import Step
from ledger.models import Session
from operations.checkpoints import services as checkpoints
from people.accounts import invitations, services as accounts
from automation.models import CronJob
from jobs.models import JobRun
from people.models import User
accounts.add_user("mei", User.Role.LABELLER)
session = Session.objects.using(alias("main")).order_by("-turn_count", "id")[0]
main = Agent.objects.get(agent_id="main")
compacted = Session.objects.using(alias("main")).filter(compaction_count__gt=0).order_by("-compaction_count", "id")[0]
step = Step(session.id, 1, "run", "session.started", 1)
around.store_steps(alias("main"), [step])
text = "a token in a line\\n" * 900
place = services.Place(session.id, None, session.leaf_record_id, "exec")
artifact = services.stash(alias("main"), text, place=place)[0]
turn = session.turns.exclude(agent_message_id=None).order_by("-turn_number")[0]
about = {"session_id": session.id, "turn_id": turn.id, "llm_model": "gate-1", "llm_latency_ms": 6200}
about |= {"prompt_version": "v2", "created_at": turn.created_at + 2000, "cost_usd": 0.0002}
facts = {"decision": "UPDATE_USER", "reason": "Tells what they like.", "candidate_fact": "Likes tea."}
window = Window(({"role": "user", "message": "Good morning", "timestamp": turn.created_at},), None, "Tea it is.")
rows = [MemoryGateDecision(id=name, raw_response="{}", saw_user=False, **facts, **about) for name in ("a1", "a2")]
storing.store(alias("main"), [Told(rows[0], Source.API, window), Told(rows[1], Source.LOG, None)])
failed = GateCall(id="c1", origin="own", outcome="malformed", failure="not_json", reason="No JSON.", **about)
storing.store_calls(alias("main"), [failed])
for name, text in (("v1", "Decide."), ("v2", "Decide well.")):
    GatePrompt.objects.using(alias("main")).create(id=name, text=text, created_at=turn.created_at)
about = {"session_id": session.id, "turn_id": turn.id, "decision_id": "a1", "target_file": "MEMORY.md"}
about |= {"created_at": turn.created_at + 3000, "candidate_fact": "Likes tea.", "reason": "New.", "match": "exact"}
sides = b"# Memory\\n" + b"line\\n" * 20, b"# Memories\\n" + b"line\\n" * 20 + b"Likes tea.\\n"
rows = [WriteGuardianAudit(id=name, status="written", **about) for name in ("m1", "m2")]
rows[1].is_diff_shared = rows[0].is_diff_shared = True
writes.store(alias("main"), [Write(row, Teller.API, FileChange(*sides)) for row in rows])
about = {"llm_model": "gate-2", "prompt_version": "v2", "started_by": "demo", "created_at": turn.created_at}
replay = GateReplay(id="r1", state="finished", total=2, decided=2, agreed=1, **about)
replay.save(using=alias("main"))
for number, (name, decision) in enumerate([("a1", "UPDATE_USER"), ("a2", "NO_WRITE")]):
    told = {"original": "UPDATE_USER", "decision": decision, "is_same": decision == "UPDATE_USER", "outcome": "decided"}
    told |= {"reason": "Says so.", "number": number, "llm_latency_ms": 900, "cost_usd": 0.001}
    GateReplayDecision.objects.using(alias("main")).create(replay_id="r1", decision_id=name, **told)
about = {"session_id": session.id, "turn_id": turn.id, "created_at": turn.created_at + 3000, "status": "written"}
about |= {"target_file": "USER.md", "candidate_fact": "Likes tea.", "reason": "New."}
for name in ("k1", "k2"):
    row = WriteGuardianAudit(id=name, **about)
    store(alias("main"), [tells.Told(row, tells.Source.API, tells.FileChange(b"", name.encode()))])
    if name == "k1":
        correct(main, "k1", status="refused", reason="Said in jest.", apply_to_future=True, by="demo")
packed = {"before_zstd": packing.pack(b"a\\n"), "after_zstd": packing.pack(b"a\\nb\\n"), "before_hash": "x"}
about = {"target_file": "MEMORY.md", "candidate_fact": "Likes tea.", "state": "proposed", "started_by": "demo"}
about_change = {"file_name": "MEMORY.md", "audit_id": "m1", "own_audit_id": "h1", "asked_by": "demo"}
about_change |= {"now_hash": "", "before_hash": "", "wanted_hash": "", "state": "ended", "outcome": "timed_out"}
about_change |= {"before_zstd": packed["before_zstd"], "wanted_zstd": packed["after_zstd"], "answer": "Busy."}
Handover(id="h1", created_at=turn.created_at, **about_change).save(using=alias("main"))
GuardianRun(id="p1", created_at=turn.created_at, **about, **packed).save(using=alias("main"))
print(json.dumps({
    "call": failed.id,
    "corrected": "k1",
    "replay": "demo-replay",
    "decision": "a1",
    "write": "m1",
    "proposal": "p1",
    "handover": "h1",
    "prompt": "v2",
    "artifact": artifact.sha256,
    "checkpoint": next(checkpoints.make(main, compacted, by="demo")).row.sha256,
    "session": session.id,
    "step": step.id,
    "record": session.leaf_record_id,
    "file": "MEMORY.md",
    "sample": DatasetSample.objects.order_by("id")[0].id,
    "export": DatasetExport.objects.order_by("id")[0].id,
    "job": JobRun.objects.order_by("id")[0].id,
    "cron": CronJob.objects.filter(agent_id="main").order_by("id")[0].id,
    "welcome": accounts.make_sign_in_link(User.objects.get(username="mei")).split("/")[2],
    "invitation": invitations.invite("labeller", by="demo", days=1)[1].split("/")[2],
}).replace(" ", ""))
"""
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()
RUN_AXE = """(rules) => {
    const options = { resultTypes: ["violations"], selectors: false, preload: false };
    if (rules) options.runOnly = rules;
    const told = (v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200), v.nodes[0].failureSummary];
    return axe.run(document, options).then((found) => found.violations.map(told));
}"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDEST = """() => [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3)
    .map((e) => e.outerHTML.slice(0, 160))"""
SPILLING = """() => [...document.querySelectorAll(".table-wrap")]
    .filter((wrap) => wrap.querySelector("table").scrollWidth > wrap.clientWidth + 1).slice(0, 3)
    .map((wrap) => wrap.innerText.slice(0, 160))"""
OVERLAPPING = """() => [...document.querySelectorAll(".split > *")]
    .flatMap((part) => [part, ...part.querySelectorAll("table")].map((e) => [part, e.getBoundingClientRect()]))
    .filter(([part, one]) => [...part.parentElement.children].some((other) => {
        const two = other.getBoundingClientRect();
        return other !== part && Math.min(one.right, two.right) - Math.max(one.left, two.left) > 1
            && Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top) > 1;
    })).slice(0, 3).map(([part]) => part.innerText.slice(0, 160))"""
UNSEEN_FOCUS = """() => {
    const focused = document.activeElement;
    const style = getComputedStyle(focused);
    const shows = style.outlineStyle !== "none" || style.boxShadow !== "none" || focused.closest("svg");
    return shows || focused === document.body ? null : focused.outerHTML.slice(0, 160);
}"""


class Site:
    """A running `serve` with a signed-in browser tab, one of a stranger, and what the addresses are filled with."""

    def __init__(self, home, browser, link, facts):
        self.facts = facts
        self.address = home.serve("--no-watch").address()
        self.complaints = []
        self.stranger = self.tab(browser)
        self.page = self.tab(browser)
        self.page.goto(self.address + link)
        self.page.locator("main form button").first.click()
        self.page.wait_for_url(f"{self.address}/")
        self.in_chinese = self.tab(browser, locale="zh-CN", storage_state=self.page.context.storage_state())
        self.stranger_in_chinese = self.tab(browser, locale="zh-CN")

    def tab(self, browser, **more):
        page = browser.new_context(viewport=DESK, color_scheme="light", **more).new_page()
        listen(page, self.complaints)
        return page


@pytest.fixture(scope="module")
def full(tmp_path_factory, browser):
    """A site with demonstration data."""
    home = Home(tmp_path_factory.mktemp("full") / "home")
    home.env["OPENCLAW_STATE_DIR"] = str(home.path.parent / "openclaw")
    demo = home.start("demo", "--no-serve")
    assert demo.end() == 0, demo.said
    link = re.search(r"http://[^/]+(/welcome/\S+)", demo.said)[1]
    yield Site(home, browser, link, json.loads(home.python(FACTS)))
    home.close()


@pytest.fixture(scope="module")
def new(tmp_path_factory, browser, migrated):
    """A site on which nothing has happened but that somebody was added."""
    home = Home.copied(migrated, tmp_path_factory.mktemp("new") / "home")
    made = home.start("create_user", "ada", "--role", "admin")
    assert made.end() == 0, made.said
    yield Site(home, browser, re.search(r"http://[^/]+(/\S+)", made.said)[1], {})
    home.close()


def look(site, name, address, *, is_failure=False):
    """Everything that is wrong with a page, in four looks: each theme, on a desk and on a phone."""
    page = site.stranger if name in BEFORE_SIGN_IN else site.page
    return look_in(site, page, name, address, looks_of(name), is_failure=is_failure)


def looks_of(name):
    """Every rule in light; what another theme can change, in dark."""
    return {"light": None} if name == BOTH_AT_ONCE else {"light": None, "dark": ["color-contrast"]}


def look_in(site, page, name, address, looks, *, is_failure=False):
    """Everything that is wrong with a page in a tab; `looks`: the rules to ask about, or None for all, by theme."""
    site.complaints.clear()
    page.goto(site.address + address)
    found = [*problems_of(page), *unseen_focus(page)]
    page.evaluate(AXE)
    skipped = NOT_ASKED.get(name, set())
    for size in SIZES.get(name, (DESK, PHONE)):
        page.set_viewport_size(size)
        for theme, rules in looks.items():
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            violations = page.evaluate(RUN_AXE, rules)
            found += [(size["width"], theme, *one) for one in violations if one[0] not in skipped]
        if page.evaluate(WIDER) > 0:
            found.append((size["width"], "scrolls sideways", page.evaluate(WIDEST)))
        found += [(size["width"], "a table is wider than its panel", said) for said in page.evaluate(SPILLING)]
        found += [(size["width"], "panels overlap", said) for said in page.evaluate(OVERLAPPING)]
    page.set_viewport_size(DESK)
    # Chromium itself reports an answer that is no success.
    said = [text for text in site.complaints if not (is_failure and "Failed to load resource" in text)]
    return map(str, [*found, *said])


def problems_of(page):
    if (count := page.locator("h1").count()) != 1:
        yield f"{count} h1"
    if not page.title().split(" · ")[0].strip():
        yield "no title"


def unseen_focus(page):
    for _step in range(8):
        page.keyboard.press("Tab")
        if unseen := page.evaluate(UNSEEN_FOCUS):
            yield f"focus cannot be seen: {unseen}"


def test_every_page_has_an_address():
    assert {name for name, (method, _role) in PAGES.items() if method == "GET"} == ADDRESSES.keys() | NO_PAGES.keys()


@pytest.mark.parametrize("name", ADDRESSES)
def test_page(full, name):
    fail_for(look(full, name, ADDRESSES[name].format(**full.facts)))


@pytest.mark.parametrize("name", ADDRESSES)
def test_page_in_chinese(full, name):
    page = full.stranger_in_chinese if name in BEFORE_SIGN_IN else full.in_chinese
    fail_for(look_in(full, page, name, ADDRESSES[name].format(**full.facts), looks_of(name)))
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"


def is_empty_at_first(name):
    return not re.search("{|/main/", ADDRESSES[name])


@pytest.mark.parametrize("name", list(filter(is_empty_at_first, ADDRESSES)))
def test_page_of_a_new_site(new, name):
    fail_for(look(new, name, ADDRESSES[name]))


@pytest.mark.parametrize("what", FAILURES)
def test_failure(full, what):
    fail_for(look(full, what, FAILURES[what].format(**full.facts), is_failure=True))


def test_a_chart_has_one_tab_stop_and_arrows(full):
    page = full.page
    page.goto(full.address)
    chart = page.locator(".chart__svg").first
    points, stops = chart.locator(".chart__point"), chart.locator('.chart__point[tabindex="0"]')
    points.last.focus()
    page.keyboard.press("ArrowLeft")
    before = points.nth(points.count() - 2)
    assert before.evaluate("point => point === document.activeElement")
    assert before.locator(".chart__tip").is_visible() and not points.last.locator(".chart__tip").is_visible()
    page.keyboard.press("Home")
    assert points.first.evaluate("point => point === document.activeElement")
    assert stops.count() == 1
