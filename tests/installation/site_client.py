"""A browser without a screen for an installed site: signs in, asks the API, exports."""

import json
import re

import httpx

from tests.processes import wait_for

PASSWORD = "a long enough pass phrase"


class Browser(httpx.Client):
    """A browser at the site: it keeps cookies, and sends the token of forms."""

    def __init__(self, address):
        super().__init__(base_url=address, timeout=240, trust_env=False)

    def follow(self, link, **fields):
        """Open a page and send its form; return the page after it."""
        page = self.get(link)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
        return self.post(link, data={**fields, "csrfmiddlewaretoken": token}, follow_redirects=True)

    def make_admin(self, link, name="ada"):
        """Create the first admin with the link that `serve` prints."""
        answer = self.follow(link, username=name, password=PASSWORD, again=PASSWORD)
        assert answer.status_code == 200
        assert self.ask("/me")["username"] == name

    def ask(self, path, body=None):
        """Ask the API; with a body, to do something."""
        if body is None:
            answer = self.get(f"/api/v1{path}")
        else:
            headers = {"X-CSRFToken": self.cookies["openclaw_web_csrf"]}
            answer = self.post(f"/api/v1{path}", json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def approve(self, agent="main"):
        """Make samples of all turns of an agent, and approve them; return their number."""
        for session in self.ask(f"/agents/{agent}/sessions")["items"]:
            self.ask(f"/agents/{agent}/sessions/{session['id']}/samples", {"all": True})
        samples = self.ask("/samples")["items"]
        for sample in samples:
            self.ask(f"/samples/{sample['id']}/label", {"status": "approved"})
        return len(samples)

    def export(self):
        """Export what is approved, and download the training file that the page links; return its replies."""
        made = self.ask("/exports", {"name": "first", "format": "alpaca", "trainSplit": 1})
        wait_for(lambda: self.ask(f"/exports/{made['id']}")["state"] == "ready")
        page = self.get(f"/exports/{made['id']}/").text
        file = self.get(re.search(r'href="([^"]*ocl_first_alpaca\.train\.jsonl[^"]*)"', page)[1])
        assert "attachment" in file.headers["content-disposition"]
        return {json.loads(line)["output"] for line in file.text.splitlines()}
