"""Fixtures of all tests: the agents ada and bob, users of each role, real files.

Each agent has its own database file. Real files are used only where a test asks for them.
"""

import gc
import os
import shutil
import socket
from collections import Counter

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.utils import translation
from hypothesis import HealthCheck, settings
from playwright.sync_api import expect

from agents import databases
from openclaw_web import clock
from tests import factories, processes
from tests.guarantees.catalogue import read_guarantees
from tests.homes import Home
from tests.suite import browsers, fixture_cache
from tests.suite.browsers import BACKEND

# Tests have no time limits, because a slow machine is no fault of the code. Hypothesis uses the same examples in every
# run; HUNT=1 makes it look for new ones.
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("HUNT"),
)
settings.load_profile("nightly")
EXAMPLES = 10  # of each property, without --nightly
browsers.make_cheaper()
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # sync playwright keeps a loop in the test's thread
ALL = ["default", "agent_ada", "agent_bob"]
STARTERS = {"subprocess", "backing_up", "old_sessions"}  # modules that test files import to start processes
ROLES = ("viewer", "labeller", "operator", "admin")


def pytest_addoption(parser):
    parser.addoption(
        "--nightly", action="store_true", help="also run repetitions: more kills and examples, pictures, every browser"
    )


def pytest_configure(config):
    if config.getoption("nightly"):
        processes.KILLS, processes.FEW = processes.NIGHTLY_KILLS, processes.NIGHTLY_FEW


def pytest_collection_modifyitems(config, items):
    """Leave out what is for --nightly, let `django_db` tests use three databases, and run slow files first.

    The databases are the global file and two agents' files. Slow files come first so that several workers end together:
    files that start processes, then those with many tests.
    """
    if not config.getoption("nightly"):
        chosen = choose_for_every_run(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]
        limit_examples(items)
    for item in items:
        for mark in item.iter_markers("django_db"):
            mark.kwargs.setdefault("databases", ALL)
    tests = Counter(item.path for item in items)
    slow = {item.path for item in items if STARTERS & vars(item.module).keys() or item.get_closest_marker("kill")}
    items.sort(key=lambda item: (item.path not in slow, -tests[item.path], item.path))


def choose_for_every_run(items):
    """Choose all but those marked `nightly`, and few of those with a browser or kills.

    Of these each file has its first in every run, and each guarantee (tests/guarantees) the first case of its test.
    """
    chosen, firsts, guards = set(), set(), {guarantee.test for guarantee in read_guarantees()}
    for item in items:
        if item.get_closest_marker("nightly"):
            continue
        if item.get_closest_marker("browser") or item.get_closest_marker("kill"):
            test = item.nodeid.partition("[")[0]
            names = {item.path, test} & {item.path, *guards}
            if names <= firsts:
                continue
            firsts |= names
        chosen.add(item)
    return chosen


def pytest_collection_finish():
    """Spare the collector of cycles the tests themselves, which stay until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def limit_examples(items):
    """Let properties, of functions and of state machines, run EXAMPLES examples, whatever number they set."""
    for item in items:
        function = getattr(item.obj, "__func__", item.obj)
        for holder, name in ((function, "_hypothesis_internal_use_settings"), (item.cls, "settings")):
            own = getattr(holder, name, None)
            if isinstance(own, settings) and own.max_examples > EXAMPLES:
                setattr(holder, name, settings(own, max_examples=EXAMPLES))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and item.nodeid in processes.TALLIES:
        report.user_properties.append(("kills", processes.TALLIES.pop(item.nodeid)))
    return report


def pytest_terminal_summary(terminalreporter):
    """Print how many kills of each kill test hit a process at work.

    A kill that came too late proves nothing.
    """
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    rows = [(report.nodeid, value) for report in reports for name, value in report.user_properties if name == "kills"]
    if rows:
        terminalreporter.section("kills that met work, of tries")
        for test, (met, tries) in sorted(rows):
            terminalreporter.write_line(f"{met:>3} of {tries:>2}  {test}")


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_blocker):
    """Fill the in-memory databases with copies, so that no worker has to migrate them."""
    files = fixture_cache.databases()
    with django_db_blocker.unblock():
        for alias in ALL:
            fixture_cache.fill_connection(
                connections[alias], files / ("default.sqlite" if alias == "default" else "agent.sqlite")
            )


@pytest.fixture(autouse=True)
def own_language():
    """Reset the language after each test.

    The language of a request stays active in its thread, so the next test would begin in it.
    """
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Allow connections to loopback addresses only."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "localhost", "::1"):
            raise AssertionError(f"a test tried to reach {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def ada(db):
    """The agent ada, whose file is `agent_ada`."""
    return factories.AgentFactory(agent_id="ada")


@pytest.fixture
def bob(db):
    """The agent bob, whose file is `agent_bob`."""
    return factories.AgentFactory(agent_id="bob")


@pytest.fixture(params=ROLES)
def each_role(request, db):
    """A user of each role in turn."""
    return factories.UserFactory(username=request.param, role=request.param)


@pytest.fixture
def admin(db):
    return factories.UserFactory(username="root", role="admin")


@pytest.fixture
def reviewer(db):
    return factories.UserFactory(username="reviewer", role="labeller")


@pytest.fixture
def stranger(db):
    """A user who may only read."""
    return factories.UserFactory(username="stranger", role="viewer")


@pytest.fixture
def as_admin(client, admin):
    """A browser signed in as an admin."""
    client.force_login(admin, backend=BACKEND)
    return client


@pytest.fixture
def as_operator(client, db):
    """A browser signed in as an operator."""
    client.force_login(factories.UserFactory(username="otto", role="operator"), backend=BACKEND)
    return client


@pytest.fixture
def as_reviewer(client, reviewer):
    """A browser signed in as a user who labels."""
    client.force_login(reviewer, backend=BACKEND)
    return client


@pytest.fixture
def as_stranger(stranger):
    """A separate browser signed in as a user who may only read."""
    browser = Client()
    browser.force_login(stranger, backend=BACKEND)
    return browser


@pytest.fixture
def later(monkeypatch):
    """Move the clock on: `later(hours=25)`."""
    now = clock.now_ms()

    def move(*, hours=0.0, seconds=0.0):
        monkeypatch.setattr(clock, "now_ms", lambda: now + round((hours * 3600 + seconds) * 1000))

    return move


@pytest.fixture(scope="session")
def agent_template():
    """An empty agent file, as the product creates and caches it."""
    (file,) = (fixture_cache.home() / "state").glob("agent-template-*.sqlite")
    return file


@pytest.fixture
def real_files(monkeypatch, settings, tmp_path, agent_template, db):
    """Let the code under test create and open agents' files; return their folder.

    The folder is tmp_path.
    """

    def ensure_connection(self):
        if self.connection is None:
            with self.wrap_database_errors:
                self.connect()

    known = connections.settings
    settings.HOME_DIR = tmp_path
    (tmp_path / "state").mkdir(exist_ok=True)  # every home has one: locks are in it
    monkeypatch.setattr(databases, "_template", lambda: agent_template)
    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", ensure_connection)
    yield tmp_path
    for name in connections.settings.keys() - known.keys():
        databases.remove_alias(name)


@pytest.fixture
def home(tmp_path, real_files):
    """An empty OpenClaw home with the agent main, beside a store of its own."""
    return Home(tmp_path / "openclaw")


@pytest.fixture(scope="session")
def migrated():
    """The folder of a home with current databases and static files.

    `processes.Home.copied` takes it.
    """
    return fixture_cache.served_home()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """Launch arguments for Debian's Chromium that stop its own network requests."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync"]
    return {**browser_type_launch_args, "executable_path": chromium, "args": flags, "timeout": PATIENCE_MS}


@pytest.fixture(scope="session")
def browser(browser):
    """A browser whose pages and clicks wait as long as a slow machine needs."""
    make = browser.new_context

    def new_context(**options):
        context = make(**options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    browser.new_context = new_context
    return browser
