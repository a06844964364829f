"""The Containerfile, compose.yaml and the health check; the image itself where an engine can run it."""

import fnmatch
import hashlib
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest
import yaml

from jobs import worker
from openclaw_web import VERSION
from operations.server import supervisor
from tests.homes import assistant, user
from tests.installation import containers
from tests.installation.containers import Container, Volume
from tests.installation.site_client import Browser
from tests.processes import CHECKOUT, HANG, Home, children, wait_for
from tests.sqlite_homes import SqliteHome
from tests.suite.sources import ORDER

OBSTACLE = containers.find_obstacle()
needs_engine = [pytest.mark.kill, pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE)]
HEALTH_CHECK = ["python", "-P", "-m", "operations.server.health_check"]
RUNNING = re.compile(r"is running at (\S+)/")
INVITATION = re.compile(r"first admin[^:]*: (\S+)")
IMPORTED = re.compile(r"(\d+) new records, 0 rejected")
UNREADABLE = re.compile(r"runs as user (\d+) and may not read (\S+), which belongs to user (\d+)")
SESSION = "11111111-2222-3333-4444-555555555555"
OWNER = 4242  # of the OpenClaw folder; no account in the image


class Containerfile:
    """The instructions of the Containerfile, by stage."""

    def __init__(self):
        text = (CHECKOUT / "Containerfile").read_text()
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
        self.instructions = [tuple(line.split(" ", 1)) for line in joined.splitlines()]
        self.starts = [number for number, (name, _words) in enumerate(self.instructions) if name == "FROM"]

    def read(self, name, stage=-1):
        """The words of an instruction in a stage, by default the last."""
        start = self.starts[stage]
        end = next((later for later in self.starts if later > start), None)
        return [words for instruction, words in self.instructions[start:end] if instruction == name]

    def read_environment(self):
        return dict(word.split("=", 1) for words in self.read("ENV") for word in shlex.split(words))


@pytest.fixture
def containerfile():
    return Containerfile()


@pytest.fixture
def service():
    compose = yaml.safe_load((CHECKOUT / "compose.yaml").read_text())
    assert list(compose["services"]) == ["openclaw-web"] and list(compose["volumes"]) == ["home"]
    return compose["services"]["openclaw-web"]


def test_the_image_has_two_stages_of_one_base_that_names_no_registry(containerfile):
    assert containerfile.instructions[0] == ("ARG", "BASE=debian:13-slim")
    assert [containerfile.instructions[start][1] for start in containerfile.starts] == ["${BASE} AS build", "${BASE}"]
    text = (CHECKOUT / "Containerfile").read_text() + (CHECKOUT / "compose.yaml").read_text()
    assert "latest" not in text and not re.search(r"\w\.(io|com|org)/|https?:", text)


def test_every_package_is_locked_by_its_hash(containerfile):
    installs = [part for words in containerfile.read("RUN", 0) for part in words.split("&&") if " install " in part]
    pips = [part for part in installs if "apt-get" not in part]
    assert len(pips) == 3 and all("--require-hashes" in part or "--no-index --no-deps" in part for part in pips)


def test_the_result_has_python_only_and_runs_as_an_ordinary_user(containerfile):
    [run] = containerfile.read("RUN")
    assert re.findall(r"apt-get install -y --no-install-recommends ([^&]*\w)", run) == ["python3"]
    assert "rm -rf /var/lib/apt/lists/*" in run and "pip" not in run
    assert containerfile.read("USER") == ["10001:10001"]
    assert containerfile.read("COPY") == ["--from=build /opt/openclaw-web /opt/openclaw-web"]


def test_the_image_describes_how_it_is_run(containerfile):
    places = containerfile.read_environment()
    assert (places["OPENCLAW_WEB_HOME"], places["OPENCLAW_STATE_DIR"]) == ("/data/openclaw-web", "/openclaw")
    assert containerfile.read("VOLUME") == ["/data"] and containerfile.read("EXPOSE") == [str(supervisor.Options.port)]
    assert containerfile.read("STOPSIGNAL") == ["SIGTERM"]
    assert json.loads(containerfile.read("ENTRYPOINT")[0]) == ["openclaw-web"]
    assert json.loads(containerfile.read("CMD")[0]) == ["serve", "--host", "0.0.0.0"]
    assert f'org.opencontainers.image.version="{VERSION}"' in containerfile.read("LABEL")[0]
    [health] = containerfile.read("HEALTHCHECK")
    assert json.loads(health.partition(" CMD ")[2]) == HEALTH_CHECK
    assert importlib.util.find_spec(HEALTH_CHECK[-1])


def test_the_build_gets_what_the_wheel_is_made_of_and_nothing_private():
    lines = (CHECKOUT / ".dockerignore").read_text().splitlines()
    patterns = [line.removeprefix("**/") for line in lines if line and not line.startswith("#")]

    def is_left_out(name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    needed = (*ORDER, "static", "templates", "locale", "pyproject.toml", "README.md", "requirements.lock")
    assert [name for name in needed if is_left_out(name) or not (CHECKOUT / name).exists()] == []
    private = (".env", ".git", ".demo", ".venv", "tests", "__pycache__")
    assert [name for name in private if not is_left_out(name)] == []


def test_compose_publishes_the_port_on_this_machine_and_gives_nothing_away(service):
    port = supervisor.Options.port
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    home, openclaw = service["volumes"]
    assert home == "home:/data"
    assert (openclaw["target"], openclaw["read_only"]) == ("/openclaw", True)
    assert (service["read_only"], service["cap_drop"], service["tmpfs"]) == (True, ["ALL"], ["/tmp"])
    assert service["security_opt"] == ["no-new-privileges"]
    assert not {"privileged", "network_mode", "pid", "cap_add", "devices"} & set(service)


def test_compose_agrees_with_the_image(service, containerfile):
    places = containerfile.read_environment()
    assert service["environment"] == {name: places[name] for name in ("OPENCLAW_WEB_HOME", "OPENCLAW_STATE_DIR")}
    read = re.findall(r"\$\{(\w+)", (CHECKOUT / "compose.yaml").read_text())
    assert not set(read) & set(places)  # podman-compose would read what the container gets
    assert service["healthcheck"]["test"] == ["CMD", *HEALTH_CHECK]
    options = dict(re.findall(r"--(\S+)=(\S+)", containerfile.read("HEALTHCHECK")[0]))
    assert options == {
        name.replace("_", "-"): str(value) for name, value in service["healthcheck"].items() if name != "test"
    }


def test_compose_waits_longer_than_a_stop_takes(service):
    longest = supervisor.SITE_GRACE_SECONDS + worker.GRACE_SECONDS + 3
    assert int(service["stop_grace_period"].removesuffix("s")) > longest


# The health check and what else a container needs, without one.


@pytest.fixture
def home(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    yield home
    home.close()


def check_health(home):
    """The status and the words of the health check."""
    command, env = [sys.executable, *HEALTH_CHECK[1:]], home.env | {"PYTHONPATH": str(CHECKOUT)}
    process = subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True)
    return process.returncode, process.stdout


@pytest.mark.kill
@pytest.mark.parametrize(
    "hosts",
    [
        "claw.example",
        *(pytest.param(hosts, marks=pytest.mark.nightly) for hosts in (".example.com", "*", "*,claw.example")),
    ],
)
def test_a_site_behind_a_proxy_is_healthy_until_it_stops(home, hosts):
    """The check knows the port, and a name that the site accepts."""
    home.env |= {"OPENCLAW_WEB_HTTPS": "1", "OPENCLAW_WEB_ALLOWED_HOSTS": hosts}
    server = home.serve("--no-watch")
    server.address()
    assert check_health(home) == (0, "the site answers with 200\n")
    server.signal(signal.SIGTERM)
    assert server.end() == 0
    status, words = check_health(home)
    assert status == 1 and words.startswith("the site does not answer: ") and words.count("\n") == 1


@pytest.mark.kill
def test_a_site_that_was_killed_is_not_healthy(home):
    server = home.serve("--no-watch")
    server.address()
    server.signal(signal.SIGKILL)
    server.end()
    assert wait_for(lambda: check_health(home)[0])
    assert "Connection refused" in check_health(home)[1]


@pytest.mark.kill
@pytest.mark.parametrize(("https", "warnings"), [("0", 1), ("1", 0)])
def test_serve_warns_of_plain_http_only(home, https, warnings):
    home.env |= {"OPENCLAW_WEB_HTTPS": https}
    server = home.serve("--no-watch", "--host", "0.0.0.0")
    server.address()
    assert server.said.count("the site uses plain HTTP and listens on 0.0.0.0") == warnings


@pytest.mark.django_db
def test_only_the_health_page_is_not_redirected_to_https(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz").status_code == 200
    for path in ("/sign-in/", "/healthz/", "/agents/healthz", "/api/v1/me"):
        answer = client.get(path)
        assert (answer.status_code, answer["Location"]) == (301, f"https://testserver{path}")


@pytest.mark.kill
@pytest.mark.parametrize("folder", ["", "agents"])
def test_a_folder_that_may_not_be_read_is_a_sentence_at_the_start_and_on_the_page(tmp_path, folder):
    """The watcher goes on by itself when the folder can be read."""
    openclaw = SqliteHome(tmp_path / "openclaw")
    openclaw.session(SESSION, user("Hello"), assistant("Hi."))
    private = openclaw.root / folder
    is_root = os.geteuid() == 0
    os.chown(private, OWNER, OWNER) if is_root else None
    private.chmod(0o700 if is_root else 0)
    home = {"OPENCLAW_WEB_HOME": str(tmp_path / "home"), "OPENCLAW_STATE_DIR": str(openclaw.root)}
    before = ("setpriv", "--bounding-set=-all") if is_root else ()  # root without its privileges
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    output = (tmp_path / "output").open("w+")
    command = [*before, sys.executable, "-m", "openclaw_web", "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=CHECKOUT, env=inherited | home, stdout=output, stderr=output)

    def wait_for_line(pattern):
        return wait_for(lambda: re.search(pattern, (tmp_path / "output").read_text()))

    try:
        sentence = wait_for_line(rf".* may not read {private}, .*")[0]
        assert not is_root or UNREADABLE.search(sentence).groups() == ("0", str(private), str(OWNER))
        with Browser(wait_for_line(RUNNING)[1]) as browser:
            browser.make_admin(wait_for_line(INVITATION)[1])
            page = browser.get("/").text
            assert sentence in page and "OpenClaw's folder cannot be read" in page.replace("&#39;", "'")
            private.chmod(0o755)
            wait_for_line(IMPORTED)
            assert sentence not in browser.get("/").text
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(HANG)
        output.close()
    printed = (tmp_path / "output").read_text()
    assert status == 0 and printed.count(sentence) == 1 and "Traceback" not in printed


@pytest.mark.kill
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_first_process_of_a_container_ends_on_a_signal(home, number):
    """The kernel ignores signals without a handler there: a stop would take the whole grace."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs unshare and the right to make a process namespace")
    wait = "import time; print('waiting', flush=True); time.sleep(1000)"
    command = [*unshare, sys.executable, "-m", "openclaw_web", "shell", "--no-imports", "-c", wait]
    process = subprocess.Popen(command, cwd=CHECKOUT, env=home.env, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    [first] = children(process.pid)
    os.kill(first, number)
    process.communicate()
    assert process.returncode == 128 + number


# The image.


@pytest.fixture(scope="module")
def image():
    tag = f"openclaw-web-test:{os.getpid()}"
    containers.build(tag)
    yield tag
    containers.call("rmi", "-f", tag)


@pytest.fixture
def volume():
    with Volume() as volume:
        yield volume


@pytest.fixture
def openclaw(tmp_path):
    """An OpenClaw folder for its owner only, with a search index as OpenClaw has."""
    openclaw = SqliteHome(tmp_path / "openclaw")
    with openclaw.writing() as store:
        store.execute("CREATE VIRTUAL TABLE memory_index_paths_fts USING fts5(path, source UNINDEXED)")
        store.execute("INSERT INTO memory_index_paths_fts VALUES ('MEMORY.md', 'memory')")
    openclaw.session(SESSION, user("早上好"), assistant("早上好！今天有三件事。"))
    return openclaw


def give_to_owner(openclaw):
    for path in (openclaw.root, *openclaw.root.rglob("*")):
        os.chown(path, OWNER, OWNER)
    openclaw.root.chmod(0o700)


def describe(folder):
    """Everything about the files of a folder that reading leaves as it is."""
    described = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        described[str(path)] = (stat.st_mode, stat.st_uid, stat.st_mtime_ns, stat.st_ctime_ns, content)
    return described


AS_OWNER = ("--user", f"{OWNER}:{OWNER}")


class TestImage:
    pytestmark = needs_engine

    def test_it_has_no_tools_and_an_ordinary_user(self, image, volume, tmp_path):
        with Container(image, volume, tmp_path) as container:
            container.wait_for_line(RUNNING)
            assert container.run("id", "-u") == "10001\n"
            tools = ("gcc", "cc", "make", "pip", "pip3", "curl", "wget", "git")
            assert container.run("sh", "-c", f"for tool in {' '.join(tools)}; do command -v $tool; done; true") == ""
            assert container.run("ls", "/var/lib/apt/lists") == ""
            container.run("python", "-c", "import pip", status=1)
            assert container.run("openclaw-web", "--version").startswith(f"openclaw-web {VERSION} (Python 3.")
            container.run("touch", "/opt/openclaw-web/file", status=1)
            assert container.run("sh", "-c", "grep CapEff /proc/1/status").split() == ["CapEff:", "0" * 16]

    def test_a_person_imports_exports_and_stops_it(self, image, volume, openclaw):
        """The agent's database is open in another program, and nothing in the folder changes."""
        with openclaw.writing() as store:  # the block keeps a -wal and a -shm beside the file
            store.execute("SELECT count(*) FROM session_nodes").fetchone()
            openclaw.append(SESSION, user("And now?"), assistant("Nothing else."))
            give_to_owner(openclaw)
            before = describe(openclaw.root)
            assert any(name.endswith("-wal") for name in before)
            with Container(image, volume, openclaw.root, options=AS_OWNER) as container:
                assert container.wait_for_line(IMPORTED)[1] == "5"
                with Browser(container.wait_for_line(RUNNING)[1]) as browser:
                    browser.make_admin(container.wait_for_line(INVITATION)[1])
                    assert browser.approve() == 2
                    assert browser.export() == {"早上好！今天有三件事。", "Nothing else."}
                assert container.run(*HEALTH_CHECK) == "the site answers with 200\n"
                assert "opened and verified" in container.run("openclaw-web", "backup", "create")
                assert container.stop() == 0
                printed = container.read_log()
                assert "Traceback" not in printed and "ERROR" not in printed
            assert describe(openclaw.root) == before

    def test_another_image_and_a_restored_backup_keep_the_data(self, image, volume, openclaw, tmp_path):
        give_to_owner(openclaw)
        with Container(image, volume, openclaw.root, options=AS_OWNER) as container:
            container.wait_for_line(IMPORTED)
            container.run("openclaw-web", "create_user", "mei")
            created = container.run("openclaw-web", "backup", "create")
            archive = re.search(r"/data/\S+\.tar\.zst", created)[0]
            container.stop()
        second = containers.build(f"{image}-2")
        try:
            words = ("backup", "restore", archive, "--replace")
            with Container(second, volume, openclaw.root, options=AS_OWNER, words=words) as container:
                wait_for(lambda: not container.is_running())
                assert container.inspect()["ExitCode"] == 0, container.read_log()
            with Container(second, volume, openclaw.root, options=AS_OWNER) as container:
                address = container.wait_for_line(RUNNING)[1]
                link = container.run("openclaw-web", "sign_in_link", "mei")
                assert re.search(rf"{address}/welcome/\S+", link)
                sessions = json.loads(container.run("openclaw-web", "doctor", "--json", "--quiet"))
                assert sessions["ok"] is True
        finally:
            containers.call("rmi", "-f", second)

    def test_a_killed_site_is_started_again(self, image, volume, tmp_path):
        with Container(image, volume, tmp_path) as container:
            container.wait_for_line(RUNNING)
            killed = min(container.read_processes()["site"])
            container.run("python", "-c", f"import os; os.kill({killed}, 9)")
            container.wait_for_line(re.compile(r"site ended \(-9\)"))
            wait_for(lambda: min(container.read_processes().get("site", [killed])) != killed)
            wait_for(lambda: "200" in container.run("sh", "-c", f"{' '.join(HEALTH_CHECK)} || true"))
            assert container.stop() == 0

    def test_a_stop_during_the_start_ends_it_at_once(self, image, volume, tmp_path):
        with Container(image, volume, tmp_path) as container:
            wait_for(lambda: "secret.key" in container.run("sh", "-c", "ls $OPENCLAW_WEB_HOME 2>/dev/null || true"))
            assert container.stop() in (0, 128 + signal.SIGTERM)

    def test_a_folder_of_another_user_is_named(self, image, volume, openclaw):
        give_to_owner(openclaw)
        with Container(image, volume, openclaw.root) as container:
            assert container.wait_for_line(UNREADABLE).groups() == ("10001", "/openclaw", str(OWNER))
            assert "Run it as user 4242" in container.read_log()

    @pytest.mark.parametrize("options", [("--shm-size", "4k"), ("--user", "1234"), ("--user", "0"), ("-e", "LANG=")])
    def test_it_runs_with_little_memory_to_share_and_as_any_user(self, image, volume, tmp_path, options):
        with Container(image, volume, tmp_path, options=options) as container:
            address = container.wait_for_line(RUNNING)[1]
            with Browser(address) as browser:
                assert browser.get("/healthz").text == "ok"
            assert container.stop() == 0
            assert "Traceback" not in container.read_log()

    def test_behind_a_proxy_it_is_healthy(self, image, volume, tmp_path):
        options = ("-e", "OPENCLAW_WEB_HTTPS=1", "-e", "OPENCLAW_WEB_ALLOWED_HOSTS=claw.example")
        with Container(image, volume, tmp_path, options=options) as container:
            assert container.wait_for_line(RUNNING)[1] == "https://claw.example"
            assert container.run(*HEALTH_CHECK) == "the site answers with 200\n"
