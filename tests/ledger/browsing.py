"""A site with a person signed in, in a real browser, for the browser tests of the transcript pages."""

from tests.complaints import listen
from tests.processes import Home, wait_for

WATCH = """
window.ran = false;
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


class Site:
    """A running `serve` on a home of its own (tests.homes.Home), with what its pages complained about."""

    def __init__(self, folder, openclaw, page, migrated):
        self.home = Home.copied(migrated, folder / "store")
        self.home.env["OPENCLAW_STATE_DIR"] = str(openclaw.root)
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

    def collected(self, session):
        """Wait until a session of the agent main has a page with records: its index may be collected before them."""
        address = f"{self.origin}/agents/main/sessions/{session}/"
        wait_for(lambda: 'id="transcript"' in self.page.request.get(address).text())
        return address

    def check(self):
        """Nothing ran that should not, and the content security policy had nothing to report."""
        assert self.page.evaluate("window.ran") is False
        assert self.page.evaluate("window.violations") == []
        assert self.complaints == []
