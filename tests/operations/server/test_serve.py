"""`serve` as real processes: started, killed, drained, refused, and opened in a browser."""

import os
import re
import resource
import signal
import socket
import stat
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests import homes
from tests.complaints import listen
from tests.processes import CHECKOUT, HANG, Home, descendants, is_alive, wait_for

pytestmark = pytest.mark.kill


@pytest.fixture
def home(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    yield home
    home.close()


def get(address):
    try:
        with urllib.request.urlopen(address, timeout=HANG) as answer:
            return answer.status
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code


def test_it_works(tmp_path):
    home = Home(tmp_path / "a new home")
    try:
        server = home.serve()
        address = server.address()
        link = server.invitation()
        assert (get(f"{address}/healthz"), get(f"{address}/sign-in/"), get(link)) == (200, 200, 200)
        wait_for(lambda: "No OpenClaw agents" in server.said)
        wait_for(lambda: sorted(server.descendants().values()) == ["jobs", "site", "watcher"])
        processes = server.descendants()
        server.signal(signal.SIGTERM)
        assert server.end() == 0
        assert not any(map(is_alive, processes))
        modes = {stat.S_IMODE(path.stat().st_mode) for path in home.path.rglob("*") if path.is_file()}
        assert modes == {0o600}
    finally:
        home.close()


def test_a_killed_child_is_started_again_and_no_request_is_refused(home):
    server = home.serve()
    address = server.address()
    for name in ("site", "jobs", "site"):
        killed = wait_for(lambda name=name: server.child(name))
        with_it = [killed, *dict(descendants(killed))]
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda with_it=with_it: not any(map(is_alive, with_it)))
        assert get(f"{address}/healthz") == 200
        wait_for(lambda name=name, killed=killed: server.child(name) not in (None, killed))
    assert "site ended (-9)" in server.said
    assert server.popen.poll() is None


def test_a_busy_site_gets_another_process_and_no_request_is_lost(home):
    server = home.serve()
    page = f"{server.address()}/sign-in/"
    with ThreadPoolExecutor(8) as people:
        while list(server.descendants().values()).count("site") < 2:
            assert set(people.map(get, [page] * 200)) == {200}
        assert set(people.map(get, [page] * 200)) == {200}


def test_more_connections_than_open_files_end_no_process(home):
    server = home.serve()
    page = f"{server.address()}/sign-in/"
    assert get(page) == 200
    site = server.child("site")
    used, (_soft, hard) = len(os.listdir(f"/proc/{site}/fd")), resource.prlimit(site, resource.RLIMIT_NOFILE)
    resource.prlimit(site, resource.RLIMIT_NOFILE, (used + 8, hard))
    place = urllib.parse.urlsplit(page)
    with ExitStack() as stack:
        for _connection in range(40):
            stack.enter_context(socket.create_connection((place.hostname, place.port)))
        wait_for(lambda: len(os.listdir(f"/proc/{site}/fd")) >= used + 8)
    resource.prlimit(site, resource.RLIMIT_NOFILE, (hard, hard))
    assert get(page) == 200
    assert server.child("site") == site


def test_no_child_survives_a_killed_supervisor(home):
    server = home.serve()
    address = server.address()
    children = server.descendants()
    os.kill(server.pid, signal.SIGKILL)
    server.end()
    wait_for(lambda: not any(map(is_alive, children)))
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{address}/healthz")
    assert get(f"{home.serve().address()}/healthz") == 200  # the killed supervisor's lock on the home is free


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
def test_commands_print_links_of_the_running_server_only(home, stop):
    usual = "http://127.0.0.1:8765"
    assert find_link(home, "create_user", "mei").startswith(f"{usual}/welcome/")
    server = home.serve()
    address = server.address()
    link = find_link(home, "sign_in_link", "mei")
    assert link.startswith(f"{address}/welcome/") and get(link) == 200
    assert find_link(home, "sign_in_link", "mei", "--address", "https://claw.example/").startswith(
        "https://claw.example/w"
    )
    processes = server.descendants()
    server.signal(stop)
    server.end()
    wait_for(lambda: not any(map(is_alive, processes)))
    assert find_link(home, "create_user", "lena").startswith(f"{usual}/welcome/")
    again = home.serve().address()  # another port; links name the newest running server
    assert again != address and find_link(home, "sign_in_link", "mei").startswith(f"{again}/welcome/")


def test_behind_a_proxy_links_have_its_name(home):
    home.env |= {"OPENCLAW_WEB_HTTPS": "1", "OPENCLAW_WEB_ALLOWED_HOSTS": "127.0.0.1,claw.example"}
    home.serve().invitation()
    for name in (
        "OPENCLAW_WEB_HTTPS",
        "OPENCLAW_WEB_ALLOWED_HOSTS",
    ):  # the command's terminal does not need these variables
        del home.env[name]
    assert find_link(home, "create_user", "mei").startswith("https://claw.example/welcome/")


def find_link(home, *command):
    process = home.start(*command)
    assert process.end() == 0, process.said
    return re.search(r"^https?://\S+$", process.said, re.MULTILINE)[0]


@pytest.mark.parametrize(("tell", "number"), [(os.kill, signal.SIGTERM), (os.killpg, signal.SIGINT)])
def test_a_stop_lets_the_running_job_finish(home, tmp_path, tell, number):
    """Also ctrl-c, which a terminal sends to all processes: only the supervisor reacts."""
    job_id = home.start_job("lines", file=str(tmp_path / "out"), count=60, pause=0.05)
    server = home.serve()
    wait_for(lambda: home.job(job_id)["state"] == "running")
    tell(server.pid, number)
    assert server.end() == 0
    job = home.job(job_id)
    assert (job["state"], job["done"], job["attempts"]) == ("finished", 60, 1)


def test_a_second_signal_breaks_the_job_off_and_the_next_server_goes_on(home, tmp_path):
    gate = tmp_path / "gate"
    gate.write_text("50")
    job_id = home.start_job("lines", file=str(tmp_path / "out"), count=100, gate=str(gate))
    server = home.serve()
    wait_for(lambda: home.job(job_id)["done"] == 50)
    server.signal(signal.SIGINT)
    wait_for(lambda: not server.child("site"))  # the first signal has arrived
    server.signal(signal.SIGINT)
    assert server.end() == 0
    gate.write_text("100")
    home.serve()
    wait_for(lambda: home.job(job_id)["state"] == "finished")
    assert (tmp_path / "out").read_text().split() == [str(number) for number in range(100)]


def test_a_port_in_use_is_said_in_a_sentence(home):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = home.start("serve", "--port", str(port))
        assert server.end() == 3
    assert f"Port {port} of 127.0.0.1 is in use." in server.said
    assert "Traceback" not in server.said


def test_an_address_of_another_machine_is_refused_in_a_sentence(home):
    server = home.serve("--host", "192.0.2.1")
    assert server.end() == 3
    assert "Port 0 of 192.0.2.1 cannot be used: " in server.said
    assert "Traceback" not in server.said


def test_a_home_has_one_server(home):
    home.serve().address()
    second = home.serve()
    assert second.end() == 3
    assert f"OpenClaw Web is already running in {home.path}." in second.said


def test_an_address_for_everybody_comes_with_a_warning(home):
    server = home.serve("--host", "0.0.0.0")
    server.address()
    assert "plain HTTP" in server.said


def test_the_home_of_an_agent_is_watched(home, tmp_path):
    """The watcher begins when the first agent has spoken.

    Before that it says once that there is none, also where there is no folder at all.
    """
    source = tmp_path / "openclaw"
    home.env["OPENCLAW_STATE_DIR"] = str(source)
    server = home.serve()
    server.address()
    watcher = wait_for(lambda: server.child("watcher"))
    wait_for(lambda: "No OpenClaw agents" in server.said)
    (source / "agents" / "main" / "agent").mkdir(parents=True)  # the state after OpenClaw's own first start
    (source / "openclaw.json").write_text("{}")
    time.sleep(5)  # several checks without a message
    openclaw = homes.Home(source)
    openclaw.transcript(homes.user("Hello"))
    wait_for(lambda: "1 new records" in server.said or "2 new records" in server.said)
    assert server.child("watcher") == watcher
    openclaw.transcript(*(homes.user(f"Hello {number}") for number in range(400)))
    wait_for(lambda: server.child("watcher") not in (None, watcher))  # without the memory of this import
    wait_for(lambda: server.said.count("Watching") == 2)
    imports = server.said.count(" new records")
    openclaw.transcript(homes.user("Hello again"))
    wait_for(lambda: server.said.count(" new records") > imports)
    server.signal(signal.SIGTERM)
    assert server.end() == 0
    assert server.said.count("No OpenClaw agents") == 1 and "Traceback" not in server.said
    assert "ended" not in server.said


def test_a_server_that_waits_for_an_agent_stops_at_once(home):
    server = home.serve()
    wait_for(lambda: "No OpenClaw agents" in server.said)
    server.signal(signal.SIGTERM)
    assert server.end() == 0
    assert "Traceback" not in server.said
    assert (home.path / "secret.key").exists()


def test_an_essential_child_that_cannot_be_kept_up_ends_everything(home):
    process = home.start(
        "shell",
        "--no-imports",
        "-c",
        "import sys, time\n"
        "from operations.server import processes\n"
        "processes.LONGEST_PAUSE = 0.01\n"
        "children = [processes.Child('bad', lambda: sys.exit(3)), processes.Child('good', lambda: time.sleep(1000))]\n"
        "sys.exit(processes.keep_up(children, on_stop=lambda: print('stopping')))",
    )
    assert process.end() == 1
    assert "bad ended 6 times in a row; giving up" in process.said
    assert "stopping" in process.said


def test_the_supervisor_works_from_any_folder(home, tmp_path):
    home.env["PYTHONPATH"] = str(CHECKOUT)
    server = home.serve(folder=tmp_path)
    assert get(f"{server.address()}/sign-in/") == 200


@pytest.mark.browser
def test_the_page_of_a_job_moves_by_itself_and_comes_to_rest(home, tmp_path, page):
    problems = []
    listen(page, problems)
    answers = []
    page.on("response", lambda response: answers.append(response.status))
    link = home.python(
        "from people.accounts import services as accounts; print(accounts.add_user('root', 'admin', by='a test')[1])"
    )
    gate = tmp_path / "gate"
    gate.write_text("50")
    job_id = home.start_job("lines", file=str(tmp_path / "out"), count=100, gate=str(gate))
    address = home.serve().address()
    page.goto(address + link)
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{address}/operations/jobs/{job_id}/")
    expect(page.locator("progress")).to_have_attribute("value", re.compile("[1-9]"), timeout=HANG * 1000)
    page.evaluate("document.body.dataset.same = 'page'")
    gate.write_text("100")
    expect(page.locator("#job-state")).to_contain_text("Finished", timeout=HANG * 1000)
    expect(page.locator("progress")).to_have_attribute("value", "100")
    expect(page.locator("body")).to_have_attribute("data-same", "page")
    expect(page.get_by_text("line 99")).to_be_visible()
    assert answers[-1] == 286
    page.wait_for_timeout(1_500)
    assert answers[-1] == 286
    assert problems == []
