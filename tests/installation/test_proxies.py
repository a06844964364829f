"""A real site behind nginx and Caddy that end TLS, configured as docs/proxy.md says."""

import hashlib
import json
import random
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.complaints import listen
from tests.homes import Home as OpenClawHome
from tests.homes import assistant, result, user
from tests.installation.proxies import NAME, Caddy, Nginx, ask
from tests.processes import Home, find_free_port

pytestmark = pytest.mark.kill
PASSWORD = "correct horse battery"
GZIP = {"Accept-Encoding": "gzip"}
BROWSER_OVER_HTTPS = {"Sec-Fetch-Mode": "navigate"}
# Who is signed in by password, and who by a link; the token and the artifact of the session.
PREPARE = """
import json
from django.contrib.auth.hashers import make_password
from people.accounts import services as accounts, tokens
from agents import databases
from artifacts.models import Artifact
from operations.models import BackupRun
hashed = make_password("correct horse battery")
roles = ("root", "link", "secret", "locked", "forged", "browser")
names = [f"{proxy}_{role}" for proxy in ("nginx", "caddy") for role in roles]
people = {name: accounts.create_user(name, "admin", hashed, by="test") for name in names}
links = {name: accounts.make_sign_in_link(user) for name, user in people.items() if name.endswith(("_link", "_secret"))}
token = tokens.make_token(people["nginx_root"], name="test", role="admin")[1]
row = Artifact.objects.using(databases.get_alias("main")).get()
backup = BackupRun.objects.get()
facts = {"links": links, "token": token, "artifact": row.handle, "backup": backup.id, "path": backup.archive_path}
print(json.dumps(facts, separators=(",", ":")))
"""
SILENT = 'proxy_set_header X-Forwarded-Proto "";\n'
DOUBLE = 'proxy_set_header X-Forwarded-Proto "https, $scheme";\n'
LYING = "proxy_set_header X-Forwarded-Proto http;\n"
ODD = "proxy_set_header X-Forwarded-Proto on;\n"


class Site:
    """A running site with a large tool output and a backup."""

    def __init__(self, folder, migrated):
        self.home = Home.copied(migrated, folder / "home")
        openclaw = OpenClawHome(folder / "openclaw")
        self.output = "".join(random.Random(1).choices("0123456789abcdefghijklmnop \n", k=3 * 2**20))
        call = ("call-1", "exec", {"command": "cat log"})
        openclaw.transcript(
            user("Show the log."), assistant("", call), result("call-1", self.output), assistant("Done.")
        )
        self.home.env["OPENCLAW_STATE_DIR"] = str(openclaw.root)
        for words in (["collect"], ["backup", "create"]):
            command = self.home.start(*words)
            assert command.end() == 0, command.said
        self.facts = json.loads(self.home.python(PREPARE))
        self.home.env |= {"OPENCLAW_WEB_HTTPS": "1", "OPENCLAW_WEB_ALLOWED_HOSTS": f"{NAME},127.0.0.1"}
        self.port = find_free_port()
        self.server = self.home.start("serve", "--no-watch", "--port", str(self.port))
        self.address = self.server.address()

    def ask(self, path, *headers):
        """The status and the answer to a request that reaches the site without a proxy."""
        return ask(self.port, path, f"Host: {NAME}", *headers)

    def read_addresses(self, name):
        """The addresses that signed in as a user."""
        tables = "sign_ins JOIN users ON users.id = user_id"
        sql = f"SELECT group_concat(address, ' ') FROM {tables} WHERE username = '{name}'"
        return (self.home.count(sql) or "").split()


@pytest.fixture(scope="module")
def site(tmp_path_factory, migrated):
    site = Site(tmp_path_factory.mktemp("proxied"), migrated)
    yield site
    site.home.close()


@pytest.fixture(scope="module")
def nginx(site, tmp_path_factory):
    proxy = Nginx(
        tmp_path_factory.mktemp("nginx") / "run", site.port, silent=SILENT, double=DOUBLE, lying=LYING, odd=ODD, none=""
    )
    yield proxy.wait()
    proxy.stop()


@pytest.fixture(scope="module")
def caddy(site, tmp_path_factory):
    proxy = Caddy(tmp_path_factory.mktemp("caddy") / "run", site.port)
    yield proxy.wait()
    proxy.stop()


@pytest.fixture(params=["nginx", pytest.param("caddy", marks=pytest.mark.nightly)])
def kind(request):
    """The name of a proxy, with which the names of its users begin."""
    return request.param


@pytest.fixture
def proxy(request, kind):
    return request.getfixturevalue(kind)


@pytest.fixture
def signed_in(proxy, kind):
    with proxy.client("127.0.0.2") as client:
        assert sign_in(client, f"{kind}_root").status_code == 302
        yield client


def sign_in(client, name, password=PASSWORD, **headers):
    return client.send_form("/sign-in/", {"username": name, "password": password}, **headers)


def test_the_site_names_its_public_address(site):
    assert site.address == f"https://{NAME}"


def test_a_link_signs_in_with_cookies_for_https_alone(site, proxy, kind):
    with proxy.client() as client:
        response = client.send_form(site.facts["links"][f"{kind}_link"], {})
        assert response.status_code == 302
        cookies = response.headers.get_list("set-cookie")
        session = next(cookie for cookie in cookies if cookie.startswith("openclaw_web_session="))
        for attribute in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
            assert attribute in session.split("; ")
        assert all("Secure" in cookie for cookie in cookies if cookie.startswith("openclaw_web_csrf="))
        page = client.get("/")
        assert page.status_code == 200 and f"{kind}_link" in page.text
        assert page.headers["strict-transport-security"].startswith("max-age=31536000")


@pytest.mark.parametrize("has_port", [False, True])
def test_forms_are_accepted_from_the_site_alone(proxy, kind, has_port):
    """Also where browsers name the port, as on every port but 443."""
    host = f"{NAME}:{proxy.https}" if has_port else NAME
    with proxy.client("127.0.0.2", host=host) as client:
        refused = sign_in(client, f"{kind}_root", Origin="https://evil.example", Referer="https://evil.example/")
        assert refused.status_code == 403 and "openclaw_web_session" not in client.cookies
        assert sign_in(client, f"{kind}_root", Origin=f"http://{host}").status_code == 403
        assert sign_in(client, f"{kind}_root").headers["location"] == "/"


def test_http_leads_to_https_once(proxy):
    with proxy.plain_client() as client:
        response = client.get("/sign-in/?next=/jobs/")
    assert response.is_redirect and response.headers["location"] == f"https://{NAME}/sign-in/?next=/jobs/"
    with proxy.client() as client:
        assert client.get("/sign-in/?next=/jobs/").status_code == 200


def test_another_host_gets_the_usual_page(site, nginx):
    with nginx.client(host="evil.example") as client:
        response = client.get("/sign-in/")
        assert response.status_code == 400 and "OPENCLAW_WEB_ALLOWED_HOSTS" in response.text


def test_htmx_gets_fragments_and_ways_back(proxy, signed_in):
    htmx = {"HX-Request": "true", "HX-Current-URL": f"https://{NAME}/operations/users/"}
    fragment = signed_in.get("/operations/jobs/", headers={**htmx, "HX-Target": "list-part"})
    assert fragment.status_code == 200 and "<html" not in fragment.text
    with proxy.client() as stranger:
        stranger.get("/sign-in/")
        sent = {"X-CSRFToken": stranger.cookies["openclaw_web_csrf"], "Origin": f"https://{NAME}", **htmx}
        redirect = stranger.post("/operations/backups/create/", headers=sent)
    assert redirect.headers["hx-redirect"] == "/sign-in/?next=/operations/users/"


def test_static_files_are_compressed_and_cached(proxy, signed_in):
    path = re.search(r'href="(/static/app\.\w+\.css)"', signed_in.get("/").text)[1]
    response = signed_in.get(path, headers=GZIP)
    assert response.headers["content-encoding"] == "gzip" and "immutable" in response.headers["cache-control"]
    again = signed_in.get(path, headers={**GZIP, "If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_pages_with_secrets_are_not_compressed(site, signed_in, kind):
    assert signed_in.get("/", headers=GZIP).headers["content-encoding"] == "gzip"
    page = signed_in.get(site.facts["links"][f"{kind}_secret"], headers=GZIP)
    assert page.status_code == 200 and "no-store" in page.headers["cache-control"]
    assert page.headers["content-type"].startswith("text/html") and "content-encoding" not in page.headers


class TestDownloads:
    @pytest.fixture
    def api(self, site, proxy):
        with proxy.client("127.0.0.2") as client:
            client.headers["Authorization"] = f"Bearer {site.facts['token']}"
            yield client

    def test_a_large_output_arrives_whole(self, site, api):
        response = api.get(f"/api/v1/agents/main/artifacts/{site.facts['artifact']}/content", headers=GZIP)
        assert response.text == site.output and "attachment" in response.headers["content-disposition"]

    def test_a_file_arrives_as_it_is_on_the_disk_also_in_parts(self, site, signed_in):
        path = f"/operations/backups/{site.facts['backup']}/file"
        content = Path(site.facts["path"]).read_bytes()
        assert len(content) > 2**20
        whole = signed_in.get(path, headers=GZIP)
        assert hashlib.sha256(whole.content).digest() == hashlib.sha256(content).digest()
        assert int(whole.headers["content-length"]) == len(content)
        part = signed_in.get(path, headers={"Range": "bytes=1000-1999", "If-Range": whole.headers["etag"]})
        assert (part.status_code, part.content) == (206, content[1000:2000])
        assert part.headers["content-range"] == f"bytes 1000-1999/{len(content)}"
        assert signed_in.get(path, headers={"Range": f"bytes={len(content)}-"}).status_code == 416

    def test_a_streamed_list_is_as_without_the_proxy(self, site, api):
        path = "/api/v1/operations/audit?format=jsonl"
        streamed = api.get(path, headers=GZIP)
        assert (
            streamed.headers["content-type"].startswith("application/x-ndjson")
            and "content-length" not in streamed.headers
        )
        direct = site.ask(path, "X-Forwarded-Proto: https", f"Authorization: Bearer {site.facts['token']}")[1]
        lines = streamed.text.splitlines()
        assert lines and all(line in direct for line in lines)

    def test_the_api_answers_304_for_what_has_not_changed(self, api):
        first = api.get("/api/v1/agents", headers=GZIP)
        assert first.status_code == 200 and first.json()
        again = api.get("/api/v1/agents", headers={**GZIP, "If-None-Match": first.headers["etag"]})
        assert again.status_code == 304

    def test_the_site_itself_refuses_a_body_that_is_too_large(self, api):
        """A body below the site's limit passes; a larger one gets the site's sentence."""
        accepted = api.post("/api/v1/exports", content=b" " * 4_900_000)
        refused = api.post("/api/v1/exports", content=b" " * 5_100_000)
        assert (accepted.status_code, accepted.json()["code"]) != (refused.status_code, refused.json()["code"])
        assert refused.status_code in (400, 413) and refused.json()["detail"]


class TestAddresses:
    def test_a_lockout_is_of_one_client(self, site, proxy, kind):
        name = f"{kind}_locked"
        with proxy.client("127.0.0.2") as guessing, proxy.client("127.0.0.3") as owner:
            statuses = [sign_in(guessing, name, "wrong").status_code for _ in range(5)]
            assert statuses == [422, 422, 422, 422, 429]
            assert sign_in(guessing, name).status_code == 429
            assert sign_in(owner, name).status_code == 302
        assert site.read_addresses(name) == ["127.0.0.3"]

    def test_a_client_cannot_choose_an_address(self, site, proxy, kind):
        name = f"{kind}_forged"
        forged = {
            "X-Forwarded-For": "9.9.9.9",
            "Forwarded": "for=9.9.9.9",
            "X-Real-IP": "9.9.9.9",
            "X_Forwarded_For": "9.9.9.9",
            "X-Forwarded-Host": "evil.example",
            "X-Forwarded-Proto": "http",
        }
        with proxy.client("127.0.0.4") as client:
            response = sign_in(client, name, **forged)
            assert response.status_code == 302 and "evil" not in response.headers["location"]
        assert site.read_addresses(name) == ["127.0.0.4"]


class TestScheme:
    """Proxies that do not say, say twice or misstate whether the connection is encrypted."""

    @pytest.mark.parametrize("name", ["silent", "none", "double", "odd"])
    def test_a_proxy_that_does_not_say_it_gets_a_sentence(self, nginx, name):
        with nginx.client(port=nginx.variants[name]) as client:
            page, answer = client.get("/sign-in/"), client.get("/api/v1/agents")
            chinese = client.get("/sign-in/", headers={"Accept-Language": "zh-CN"})
            assert client.get("/healthz").status_code == 200
        assert (page.status_code, answer.status_code, answer.json()["code"]) == (400, 400, "proxy")
        for text in (page.text, answer.json()["detail"]):
            assert "exactly one value, http or https. See “Behind a reverse proxy”" in text
        assert '<html lang="zh' in chinese.text

    def test_a_proxy_that_misstates_it_gets_a_sentence_from_browsers(self, nginx):
        with nginx.client(port=nginx.variants["lying"]) as client:
            response = client.get("/sign-in/", headers=BROWSER_OVER_HTTPS)
            assert response.status_code == 400 and "the browser uses https" in response.text
            assert client.get("/sign-in/").headers["location"] == f"https://{NAME}/sign-in/"

    @pytest.mark.parametrize(
        "lines",
        [
            (),
            ("X-Forwarded-Proto: https", "X-Forwarded-Proto: http"),
            ("X-Forwarded-Proto: https", "X-Forwarded-Proto: https"),
            ("X-Forwarded-Proto: HTTPS",),
            ("X-Forwarded-Proto:",),
            ("X_Forwarded_Proto: https",),
            ("Forwarded: proto=https",),
            ("X-Forwarded-Ssl: on", "X-Forwarded-Protocol: ssl"),
        ],
    )
    def test_only_one_plain_word_counts(self, site, lines):
        status, answer = site.ask("/sign-in/", *lines)
        assert status == 400 and "exactly one value" in answer
        assert site.ask("/healthz", *lines)[0] == 200

    def test_the_word_of_a_listed_proxy_decides(self, site):
        assert site.ask("/sign-in/", "X-Forwarded-Proto: https")[0] == 200
        status, answer = site.ask("/sign-in/", "X-Forwarded-Proto: http")
        assert status == 301 and f"Location: https://{NAME}/sign-in/\r\n" in answer


@pytest.fixture(scope="module")
def plain_port(tmp_path_factory, migrated):
    """The port of a site without a proxy, as it is unless somebody sets variables."""
    home = Home.copied(migrated, tmp_path_factory.mktemp("plain") / "home")
    yield int(home.serve("--no-watch").address().rpartition(":")[2])
    home.close()


@pytest.mark.parametrize(
    "line",
    [
        "X-Forwarded-Proto: https",
        "X-Forwarded-Ssl: on",
        "X-Forwarded-Protocol: ssl",
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-For: 9.9.9.9",
        "SCRIPT_NAME: /evil",
        "Script-Name: /evil",
        "PATH_INFO: /operations/users/",
    ],
)
def test_without_a_proxy_such_headers_change_nothing(plain_port, line):
    def read(*lines):
        status, answer = ask(plain_port, "/sign-in/", f"Host: 127.0.0.1:{plain_port}", *lines)
        return status, re.sub(r"\w{64}|\w{32}|Date: .*|nonce", "", answer)

    plain = read()
    assert plain[0] == 200 and "Secure" not in plain[1] and "https://" not in plain[1].split("\r\n\r\n")[0]
    assert read(line) == plain


@pytest.mark.parametrize("line", ["X-Forwarded-Proto: https", "X-Forwarded-Ssl: on", "X-Forwarded-Protocol: ssl"])
def test_without_a_proxy_the_site_keeps_its_scheme(plain_port, line):
    """The check of a form's origin compares the scheme, which gunicorn takes from such headers."""
    address, headers = f"http://127.0.0.1:{plain_port}", dict([line.split(": ")])
    with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get("/sign-in/").text)[1]
        fields = {"csrfmiddlewaretoken": token, "username": "nobody", "password": "wrong"}
        own = client.post("/sign-in/", data=fields, headers={"Origin": address})
        other = client.post("/sign-in/", data=fields, headers={"Origin": address.replace("http:", "https:")})
    assert (own.status_code, other.status_code) == (422, 403)


def test_the_proxy_protocol_is_not_understood(plain_port):
    line = "PROXY TCP4 9.9.9.9 127.0.0.1 1 2\r\n"
    assert ask(plain_port, "/sign-in/", "Host: 127.0.0.1", first=line)[0] == 400


def test_a_proxy_that_is_not_listed_gets_a_sentence(tmp_path, migrated):
    home = Home.copied(migrated, tmp_path / "home")
    port = find_free_port()
    home.env |= {"OPENCLAW_WEB_HTTPS": "1", "OPENCLAW_WEB_ALLOWED_HOSTS": NAME, "OPENCLAW_WEB_PROXIES": "192.0.2.0/24"}
    try:
        home.start("serve", "--no-watch", "--port", str(port)).address()
        status, answer = ask(port, "/sign-in/", f"Host: {NAME}", "X-Forwarded-Proto: https")
        assert status == 400 and "proxy at 127.0.0.1 is not in OPENCLAW_WEB_PROXIES" in answer
        assert ask(port, "/sign-in/", f"Host: {NAME}", "X-Forwarded-For: 192.0.2.1")[0] == 301
    finally:
        home.close()


@pytest.mark.browser
def test_a_browser_works_through_the_proxy(site, proxy, kind, browser_type, browser_type_launch_args):
    """With nginx at the usual port of the name, with Caddy at another one."""
    origin = f"https://{NAME}" if kind == "nginx" else f"https://{NAME}:{proxy.https}"
    rules = f"--host-resolver-rules=MAP {NAME}:443 127.0.0.1:{proxy.https}, MAP {NAME} 127.0.0.1"
    options = {**browser_type_launch_args, "args": [*browser_type_launch_args["args"], rules]}
    complaints = []
    browser = browser_type.launch(**options)
    try:
        page = browser.new_context(ignore_https_errors=True, reduced_motion="reduce").new_page()
        page.set_default_timeout(options["timeout"])
        listen(page, complaints)
        page.goto(f"{origin}/operations/jobs/")
        page.get_by_label("User name").fill(f"{kind}_browser")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{origin}/operations/jobs/")
        for path in ("/operations/users/", "/operations/audit/"):
            page.locator(f"a[href='{path}']:visible").first.click()
            page.wait_for_url(f"{origin}{path}")
        with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true") as fragment:
            page.locator("#line-text").fill("actor:nobody")
            page.locator("#line-text").press("Enter")
        assert fragment.value.status == 200
        expect(page.locator("#list-part")).to_be_visible()
        assert complaints == []
    finally:
        browser.close()
