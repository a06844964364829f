"""A site with a signed-in person in a real browser.

For the browser tests of the transcript pages.
"""

from tests.complaints import listen
from tests.processes import Home, wait_for

WATCH = """
window.ran = false;
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


class Site:
    """A running `serve` on a home of its own (tests.homes.Home), with the complaints of its pages."""

    def __init__(self, folder, openclaw, page, migrated, **env):
        self.home = Home.copied(migrated, folder / "store")
        self.home.env |= {"OPENCLAW_STATE_DIR": str(openclaw.root), **env}
        self.complaints = []
        self.page = page
        self._listen()
        self.server = self.home.serve()
        self.origin = self.server.address()
        self._sign_in()

    def _listen(self):
        self.page.add_init_script(WATCH)
        listen(self.page, self.complaints)

        def dismiss(dialog):
            self.complaints.append(f"a dialog: {dialog.message}")
            dialog.dismiss()

        self.page.on("dialog", dismiss)

    def _sign_in(self):
        link = self.server.invitation()
        self.page.goto(link)
        self.page.get_by_label("User name").fill("ada")
        for field in self.page.locator("input[type=password]").all():
            field.fill("a long enough pass phrase")
        self.page.get_by_role("button", name="Create account").click()
        self.page.wait_for_url(lambda address: "/welcome/" not in address)

    def wait_for_session(self, session):
        """Wait until a session of the agent main has a page with records; return its address.

        Its index may be imported before its records.
        """
        address = f"{self.origin}/agents/main/sessions/{session}/"
        wait_for(lambda: 'id="transcript"' in self.page.request.get(address).text())
        return address

    def check(self):
        """Assert that no script ran, and that the page reported no violation or complaint.

        Violations are those of the content security policy.
        """
        assert self.page.evaluate("window.ran") is False
        assert self.page.evaluate("window.violations") == []
        assert self.complaints == []
