"""Typing never gives a verdict.

From the key that opens a field until Escape, no key but Ctrl+Enter files one.
"""

import random

import pytest
from playwright.sync_api import Error, expect

from tests.datasets.review.people import Person

pytestmark = [pytest.mark.browser, pytest.mark.kill]
PREPARE = """
import json
from datasets.models import DatasetSample
from datasets.review import forms
gate = {"output": {"decision": "UPDATE_USER", "reason": "A habit.", "candidateFact": "Bakes rye."}}
said = [{"role": "user", "message": "I bake rye"}, {"role": "agent", "message": "Noted"}]
BODIES = {
    "turn": ("annotated_turn", {"userMessage": "Q", "agentReply": "A", "context": said, "memoryGate": gate}),
    "decision": ("memory_gate_positive", {"correctDecision": "UPDATE_USER", "correctFact": "Bakes rye.",
                 "correctReason": "A habit.", "conversation": said, "turnMessages": 2}),
    "write": ("write_guardian_decision", {"candidateFact": "Bakes rye.", "targetFile": "USER.md", "decision": "written",
              "currentFileContent": "# User", "writtenContent": "# User\\nBakes rye.", "fileExisted": True,
              "decisionReason": "New.", "memoryGate": gate}),
    "long": ("annotated_turn", {"userMessage": "Q", "agentReply": "A" * 150_000, "context": said}),
}
for number, (name, (kind, body)) in enumerate(BODIES.items()):
    DatasetSample.objects.create(id=name, sample_type=kind, agent_id="ada", session_id="s", turn_number=number,
        content=json.dumps({"type": kind, **body}), created_at=9000 - number)
OWN = dict(zip(forms.DEFAULTS, "1axqvRoFT2wlfdcbg", strict=True))
forms.store_keys("bea", OWN)
print(len(BODIES))
"""
ADDRESSES = [f"/{page}{name}{end}" for name in ("turn", "decision", "write") for page, end in
             (("review/?sample=", ""), ("samples/", "/"))]  # fmt: skip
# Links are disabled, because following one would leave the sample.
STAY = "window.addEventListener('click', (event) => { if (event.target.closest('a')) event.preventDefault(); })"
EACH = 25  # sequences of each person on each address: 300
LONGEST = 9
# Steps after the edit key: keys of both people, of pages and of browsers, and steps that move the focus.
STEPS = [
    *"areonstjku123456lvxqwRTG7890? /",
    *("Tab", "Tab", "Shift+Tab", "Enter", "Backspace", "ArrowDown", "ArrowLeft", "Shift+A", "Shift+E", "Alt+a"),
    *("click outside", "radio", "select", "button", "caps a", "caps 1", "compose a", "compose Enter", "hold a"),
]
PLACES = {
    "radio": "[type=radio][form=verdict]",
    "select": "select[form=verdict]",
    "button": ".verdicts [value=approved]",
}


def perform_step(page, step):
    """Perform one step of a sequence."""
    kind, _blank, key = step.partition(" ") if len(step) > 1 else ("", "", "")
    if step == "click outside":
        page.mouse.click(640, 4)
    elif step in PLACES:
        page.evaluate("(place) => document.querySelector(place)?.focus()", PLACES[step])
    elif kind in ("caps", "compose"):
        event = {"key": key.upper() if kind == "caps" and len(key) == 1 else key, "bubbles": True, "cancelable": True}
        event |= {"modifierCapsLock": True} if kind == "caps" else {"isComposing": True}
        page.evaluate("(event) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', event))", event)
    elif kind == "hold":
        page.keyboard.down(key), page.keyboard.down(key), page.keyboard.up(key)
    else:
        page.keyboard.press("Space" if step == " " else step)


class Typist(Person):
    """A person whose verdicts are counted."""

    def __init__(self, site, name, edit):
        super().__init__(site, name, [])
        self.address, self.edit, self.filed, self.at = site.address, edit, [], ""
        self.page.on("request", self.hear)
        self.page.add_init_script(STAY)

    def hear(self, request):
        if request.method == "POST" and any(act in request.url for act in ("/label/", "/skip/", "/undo/", "/reason/")):
            self.filed.append(request.post_data or "")

    def look_at(self, address):
        """Open a sample with no field focused."""
        page = self.page
        if self.at != address or not page.url.endswith(address.partition("?")[2] or address) or self.filed:
            page.goto(self.address + address)
        self.at, self.filed[:] = address, []
        page.keyboard.press("Escape"), page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        if "review" in address:
            self.ready()

    def begin(self, steps):
        """Press the key that opens a field, perform the steps, and return the filed requests."""
        try:
            self.page.keyboard.press(self.edit)
            for step in steps:
                perform_step(self.page, step)
            self.page.evaluate("() => document.readyState")
        except Error:
            assert self.filed, "the page was left"
        return list(self.filed)


@pytest.fixture(autouse=True)
def samples(site):
    """A sample of each kind at the top, and a person with other keys."""
    site.home.python(PREPARE)


@pytest.mark.nightly
def test_no_sequence_that_begins_with_the_edit_key_files_a_verdict(site):
    chosen = random.Random(25)
    after_escape = 0
    for name, edit, approve in (("ann", "e", "a"), ("bea", "v", "1")):
        person = Typist(site, name, edit)
        for address in [address for address in ADDRESSES for _ in range(EACH)]:
            person.look_at(address)
            steps = [chosen.choice(STEPS) for _ in range(chosen.randint(1, LONGEST))]
            filed = person.begin(steps)
            assert not filed, (name, address, steps)
            if chosen.random() < 0.2 and "review" in address:
                person.page.keyboard.press("Escape")
                person.ready()
                person.page.keyboard.press(approve)
                person.page.wait_for_timeout(50)
                after_escape += bool(person.filed)
                person.at = ""
    assert after_escape > 5


def test_the_edit_key_opens_the_first_field_and_says_so(site):
    person = Typist(site, "ann", "e")
    for name, field in (("turn", "output"), ("decision", "gate_fact"), ("write", "guardian_content")):
        for address in (f"/review/?sample={name}", f"/samples/{name}/"):
            person.look_at(address)
            person.page.keyboard.press("e")
            expect(person.page.locator(f"[name={field}]")).to_be_focused()
            expect(person.page.locator(".editing")).to_have_text(
                "Editing: keys are off until you press Escape. Ctrl+Enter approves with your text.", use_inner_text=True
            )
            expect(person.page.locator("#announce")).to_contain_text("until you press Escape")
            person.page.keyboard.press("Escape")
            expect(person.page.locator(".editing")).to_be_hidden()
            if name != "turn":  # nothing was typed, so no part is marked as wrong
                expect(person.page.locator(f"[name={field}]")).to_be_hidden()


def test_ctrl_enter_approves_with_what_was_typed(site):
    person = Typist(site, "ann", "e")
    for chord in ("Control+Enter", "Meta+Enter"):
        person.look_at("/review/?sample=decision")
        person.page.keyboard.press("e")
        person.page.keyboard.press("Control+End")
        person.page.keyboard.type(" 1 loaf a day")
        person.page.get_by_label("Why is it wrong?").fill("Not stable.")
        person.page.mouse.click(640, 4)
        person.page.keyboard.press(chord)
        expect(person.section).not_to_have_attribute("data-sample", "decision")
        person.settled()
        expect(person.page.locator(".editing")).to_be_hidden()
    assert len(person.filed) == 1 and "1 loaf a day" in person.filed[0]


def test_a_sample_without_a_field_says_so(site):
    person = Typist(site, "ann", "e")
    person.look_at("/review/?sample=long")
    assert person.begin("a1r") == []
    expect(person.page.locator(".editing")).to_contain_text("This sample has no text to edit.")
    expect(person.page.locator("#announce")).to_contain_text("no text to edit")
    person.page.keyboard.press("Escape")
    person.press("a")


def test_the_next_sample_is_judged_by_its_keys_right_after_a_reject(site):
    person = Typist(site, "ann", "e")
    person.look_at("/review/?sample=turn")
    person.press("r")
    expect(person.page.locator("#reject-reasons")).to_be_visible()
    keys = person.page.locator("#reject-reasons button").evaluate_all("all => all.map(one => one.dataset.key)")
    assert not set(keys) & set("arnsetuojk123456np") and len(set(keys)) == 5
    assert person.sample == "decision"
    person.page.keyboard.press("2")
    expect(person.page.locator("[name=gate_label][value=incorrect]")).to_be_checked()
    expect(person.page.locator("#reject-reasons")).to_be_visible()
    person.page.keyboard.press(keys[0])
    expect(person.page.locator(".review-top__said")).to_contain_text("Rejected, Wrong fact")
    assert person.sample == "decision"


def test_a_verdict_that_fails_while_the_next_sample_is_edited_leaves_its_keys_off(site):
    person = Typist(site, "ann", "e")
    person.look_at("/review/?sample=turn")
    person.page.route("**/review/label/**", lambda route: (person.page.wait_for_timeout(600), route.abort()))
    person.press("a")
    person.page.keyboard.press("e")
    person.page.keyboard.type("1 loaf")
    expect(person.section).to_have_attribute("data-sample", "turn")
    filed = len(person.filed)
    person.ready()
    person.page.keyboard.type("aran1")
    expect(person.page.locator(".editing")).to_contain_text("Another sample is shown now.")
    assert len(person.filed) == filed
