"""Runs nginx and Caddy with the configurations of docs/proxy.md in front of a site.

Only paths, ports and addresses in them are replaced.
"""

import os
import re
import shutil
import socket
import ssl
import subprocess

import httpx
import pytest

from tests.processes import CHECKOUT, find_free_port, wait_for

NAME = "agents.example.com"
DOCS = CHECKOUT / "docs" / "proxy.md"
SCHEME_LINE = "        proxy_set_header X-Forwarded-Proto $scheme;\n"
# As Debian's nginx.conf does, which compresses what the site did not compress.
NGINX = """
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    gzip on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""
# A certificate of its own authority, because no public one certifies this machine.
CADDY = """
{{
    admin off
    default_bind 127.0.0.1
    http_port {http}
    https_port {https}
    local_certs
    skip_install_trust
    storage file_system {folder}
    servers {{
        protocols h1 h2
    }}
}}
{servers}
"""


def find_tool(name):
    """The path of a program; the test is skipped without it."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin") or pytest.skip(
        f"{name} is not installed: ./dev test installs it where apt is there"
    )


def read_example(language):
    """The configuration in docs/proxy.md for one proxy."""
    return re.search(rf"^```{language}\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)[1]


def ask(port, path, *headers, first=""):
    """Send a request as it stands here; returns the status and the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        lines = [f"{first}GET {path} HTTP/1.1", *headers, "Connection: close", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode("utf-8", "replace")
    return int(answer.split(" ", 2)[1]), answer


class Certificate:
    """A self-signed certificate for the name of the site."""

    def __init__(self, folder):
        folder.mkdir()
        self.chain, self.key = folder / "fullchain.pem", folder / "privkey.pem"
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        words += [
            "-keyout",
            self.key,
            "-out",
            self.chain,
            "-subj",
            f"/CN={NAME}",
            "-addext",
            f"subjectAltName=DNS:{NAME}",
        ]
        subprocess.run([find_tool("openssl"), *words], check=True, capture_output=True)


class Proxy:
    """A running reverse proxy; `http` and `https` are its ports, `authority` the file that certifies it."""

    def __init__(self, folder, authority, *command):
        self.authority, self.log = authority, folder / "output.log"
        with self.log.open("wb") as log:
            home = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=home)

    def wait(self):
        wait_for(self._answers)
        return self

    def _answers(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            with self.client() as client:
                return client.get("/healthz").status_code == 200
        except (OSError, httpx.TransportError):
            return False

    def client(self, address="127.0.0.1", *, port=None, host=NAME, **options):
        """A client at `address` that believes the certificate for the name of the site alone."""
        context = ssl.create_default_context(cafile=self.authority)
        transport = httpx.HTTPTransport(verify=context, local_address=address)
        base = f"https://127.0.0.1:{port or self.https}"
        return Client(base, transport, host, **options)

    def plain_client(self):
        """A client that speaks http to the proxy."""
        return Client(f"http://127.0.0.1:{self.http}", httpx.HTTPTransport(), NAME)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Client(httpx.Client):
    """A client that asks the site by its name; the certificate is checked for that name."""

    def __init__(self, base, transport, host, **options):
        self.name = host
        super().__init__(base_url=base, transport=transport, headers={"Host": host}, timeout=60, **options)

    def build_request(self, *args, **options):
        options["extensions"] = {**(options.get("extensions") or {}), "sni_hostname": NAME}
        return super().build_request(*args, **options)

    def send_form(self, path, fields, **headers):
        """Open the page of a form and send the form, as a browser does."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path).text)[1]
        origin = {
            "Origin": f"{self.base_url.scheme}://{self.name}",
            "Referer": f"{self.base_url.scheme}://{self.name}{path}",
        }
        return self.post(path, data={**fields, "csrfmiddlewaretoken": token}, headers={**origin, **headers})


class Nginx(Proxy):
    """Nginx with the example, and more servers with other lines for the scheme."""

    def __init__(self, folder, site_port, **scheme_lines):
        folder.mkdir()
        certificate = Certificate(folder / "certificate")
        self.http, self.https = find_free_port(), find_free_port()
        self.variants = {name: find_free_port() for name in scheme_lines}
        text = read_example("nginx").replace("127.0.0.1:8765", f"127.0.0.1:{site_port}")
        text = text.replace(f"/etc/ssl/{NAME}", str(folder / "certificate"))
        secure = "server {" + text.rpartition("server {")[2]
        assert SCHEME_LINE in secure
        whole = text.replace("listen 80;", f"listen 127.0.0.1:{self.http};")
        servers = [whole.replace("listen 443 ", f"listen 127.0.0.1:{self.https} ")]
        servers += [
            secure.replace(SCHEME_LINE, line).replace("listen 443 ", f"listen 127.0.0.1:{self.variants[name]} ")
            for name, line in scheme_lines.items()
        ]
        user = "user root;" if os.geteuid() == 0 else ""
        config = folder / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, user=user, servers="\n".join(servers)))
        super().__init__(
            folder, certificate.chain, find_tool("nginx"), "-p", folder, "-c", config, "-e", folder / "error.log"
        )


class Caddy(Proxy):
    """Caddy with the example and a certificate that it makes."""

    def __init__(self, folder, site_port):
        folder.mkdir()
        self.http, self.https = find_free_port(), find_free_port()
        text = read_example("caddyfile").replace("127.0.0.1:8765", f"127.0.0.1:{site_port}")
        config = folder / "Caddyfile"
        config.write_text(CADDY.format(folder=folder, http=self.http, https=self.https, servers=text))
        authority = folder / "pki" / "authorities" / "local" / "root.crt"
        super().__init__(folder, authority, find_tool("caddy"), "run", "--config", config, "--adapter", "caddyfile")
