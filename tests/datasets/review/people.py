"""People who label by keyboard alone, in real browsers on a real `serve`."""

import json

from playwright.sync_api import expect

from tests.complaints import listen
from tests.datasets.browser_sessions import sign_in
from tests.processes import wait_for

PREPARE = """
import json
from agents import services
from datasets.models import DatasetSample
from people.accounts import services as accounts
services.register("ada")
evil = "</textarea><img src=x onerror=alert(1)><script>document.title='owned'</script>\\u202e"
long = "A line that goes on and on. " * 200
for n in range(30):
    body = {"type": "annotated_turn", "userMessage": f"Question {n} {evil}", "agentReply": f"Answer {n}",
            "context": [{"role": "user", "message": evil}, {"role": "agent", "message": long}] * 3,
            "memoryGate": {"output": {"decision": "UPDATE_USER", "reason": evil, "candidateFact": f"fact {n}"}}}
    DatasetSample.objects.create(id=f"s{n:02}", sample_type="annotated_turn", agent_id="ada", session_id="s",
        turn_number=n, content=json.dumps(body), created_at=1000 - n)
print(json.dumps([accounts.add_user(name, "labeller")[1] for name in ("ann", "bea")]).replace(" ", ""))
"""
STORED = "SELECT json_group_object(id, annotation_status) FROM dataset_samples"


class Person:
    """A person with a separate browser, who uses only the keyboard after signing in."""

    def __init__(self, site, name, complaints):
        self.page = site.browser.new_context(reduced_motion="reduce").new_page()
        listen(self.page, complaints)
        sign_in(self.page, site.address, site.links[name])
        self.page.goto(f"{site.address}/review/")
        self.section = self.page.locator("#review-sample")

    @property
    def sample(self):
        return self.section.get_attribute("data-sample")

    def ready(self):
        """Wait until a key press counts as meant for the sample on the screen."""
        wait_for(lambda: self.page.evaluate("performance.now() - shownAt > LOOK_MS"))

    def press(self, key):
        """Press a key that brings another sample to the screen."""
        sample = self.sample
        self.ready()
        self.page.keyboard.press(key)
        expect(self.section).not_to_have_attribute("data-sample", sample)

    def settled(self):
        """Wait until every request has been answered."""
        self.page.evaluate("() => line")


class Site:
    """A site with 30 samples, and links to sign in to it."""

    def __init__(self, home, browser):
        self.home, self.browser = home, browser
        self.address = home.serve("--no-watch").address()
        self.links = dict(zip(("ann", "bea"), json.loads(home.python(PREPARE)), strict=True))

    def stored(self):
        return json.loads(self.home.count(STORED))
