"""Runs `openclaw-web serve`: the site, the job worker and the watcher."""

import errno
import ipaddress
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import fmean

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from gunicorn import util
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

from collecting import watcher, watcher_state
from jobs import worker
from openclaw_web import reasons
from openclaw_web.disk import locks, site_address
from openclaw_web.errors import Refused
from openclaw_web.pages import templates
from openclaw_web.sqlite import connection_tuning
from people.accounts import services as accounts
from people.authentication import links

from . import preparation
from .processes import MORE, NEVER, Child, keep_up

SITE_GRACE_SECONDS = 15
WATCH_AFTER_SECONDS = 1  # the site starts first
BACKLOG = 512
HALF_REQUEST_SECONDS = 20
SWITCH_SECONDS = 0.001
HANG_SECONDS = 30
BUSY_SECONDS = 1
MOST_IDLE = 100  # connections of a web process that no thread answers; others wait in the socket
FULL_SECONDS = 0.1  # until a process that has too many files open accepts again
JOBS_GROWTH = 8_000  # kilobytes, after which an idle job worker is replaced


@dataclass(frozen=True)
class Options:
    """Options of a server: address, most web processes, threads, and whether to watch OpenClaw's home.

    With `include_deleted`, every import of this server includes reset and deleted sessions. `with_backup`: a home that
    has to be updated is backed up before.
    """

    host: str = "127.0.0.1"
    port: int = site_address.PORT
    workers: int = 2
    threads: int = 8
    watch: bool = True
    include_deleted: bool = False
    with_backup: bool = True


def serve(options: Options, say: Callable[[str], object]) -> int:
    """Serve until a stop signal; returns the exit status.

    `say` gets each sentence for the person who started the server. Raises Refused when the address or the home is in
    use, or the home cannot be updated.
    """
    sentence = _("OpenClaw Web is already running in %(home)s. Stop that server, or set OPENCLAW_WEB_HOME.")
    # One server per home: two watchers would import the same lines at once.
    lock = locks.exclusive_lock(locks.SERVING, sentence % {"home": settings.HOME_DIR})
    with lock, _open_listener(options) as listener:
        with preparation.run_apart(partial(preparation.bring_up_to_date, say, with_backup=options.with_backup)):
            preparation.load_code()
        link = None if links.has_admin() else accounts.make_first_admin_link()
        preparation.load_site()
        settings.INCLUDE_DELETED = (
            settings.INCLUDE_DELETED or options.include_deleted
        )  # for every process that is forked later
        with _publish_address(listener), watcher_state.expect_watcher(options.watch):
            return keep_up(_build_children(options, listener, link, say), on_stop=listener.close)


class WebProcess(ThreadWorker):
    """A worker of gunicorn, which the supervisor keeps up in place of gunicorn's own master process."""

    since, counts = 0.0, []

    def load_wsgi(self):
        self.wsgi = import_string("openclaw_web.wsgi.application")

    def accept(self, listener):
        try:
            super().accept(listener)
        except OSError as exc:
            if exc.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            time.sleep(FULL_SECONDS)  # the connection waits in the socket

    def handle(self, conn):
        """Answer a request; at the end, wait for the client here and not in the main thread, which accepts."""
        if not (goes_on := super().handle(conn)):
            with suppress(OSError):
                util.close_graceful(conn.sock.dup())
                conn.sock.shutdown(socket.SHUT_RD)
        return goes_on

    def notify(self):
        """Note that the main thread goes on, which it does every second: the kernel ends a process that hangs.

        While most threads have a request, ask for another process.
        """
        signal.alarm(HANG_SECONDS)
        self.counts.append(self.nr_conns - len(self.keepalived_conns) - len(self.pending_conns))
        if time.monotonic() - self.since > BUSY_SECONDS:
            if fmean(self.counts) > self.cfg.threads / 2:
                os.kill(self.ppid, MORE)
            self.since, self.counts = time.monotonic(), []


def _answer_requests(listener, options):
    # A thread in a write transaction waits this long for its next turn, and others wait for its transaction.
    sys.setswitchinterval(SWITCH_SECONDS)
    shared_memory = Path("/dev/shm")  # noqa: S108 - gunicorn's file of a worker must not wait for a disk
    values = {
        "threads": options.threads,
        "worker_connections": options.threads + MOST_IDLE,
        "graceful_timeout": SITE_GRACE_SECONDS - 3,
        "loglevel": "warning",
        # openclaw_web/pages/proxy_headers.py decides whose headers count: gunicorn would believe all of loopback.
        "forwarded_allow_ips": "",
        "secure_scheme_headers": {},
        "header_map": "drop",  # X_Forwarded_For would be read as X-Forwarded-For
        "proxy_protocol": "off",
        "forwarder_headers": "",  # gunicorn takes SCRIPT_NAME and PATH_INFO from loopback, where proxies are
        "worker_tmp_dir": str(shared_memory) if os.access(shared_memory, os.W_OK) else None,
    }
    config = Config()
    for name, value in values.items():
        config.set(name, value)
    WebProcess(0, os.getppid(), [listener], None, HANG_SECONDS, config, Logger(config)).init_process()


def _build_children(options, listener, link, say):
    children = [
        *(
            Child("site", lambda: _answer_requests(listener, options), grace_seconds=SITE_GRACE_SECONDS, due_at=due_at)
            for due_at in (0, *[NEVER] * (options.workers - 1))
        ),
        Child("jobs", _work, stop_round=1, grace_seconds=worker.GRACE_SECONDS + 3),
    ]
    if options.watch:
        soon = time.monotonic() + WATCH_AFTER_SECONDS
        children.append(Child("watcher", lambda: _watch(say), is_essential=False, due_at=soon))
    host, port = listener.getsockname()[:2]
    return [*children, Child("announcer", lambda: _announce(host, port, link, say), is_essential=False, is_once=True)]


def _work():
    os.environ["OPENCLAW_WEB_BUSY_SECONDS"] = str(worker.BUSY_SECONDS)
    worker.work(JOBS_GROWTH)


def _watch(say):
    os.environ["OPENCLAW_WEB_BUSY_SECONDS"] = str(worker.BUSY_SECONDS)
    connection_tuning.wait_for_writers(worker.BUSY_SECONDS)
    watcher.watch({}, say=say, waits=True)


def _announce(host, port, link, say):
    """Print the address of the site once it answers."""
    reachable_host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    while not _answers(reachable_host, port):
        time.sleep(0.05)
    address = site_address.site_address(host, port)
    say(_("OpenClaw Web is running at %(address)s") % {"address": f"{address}/"})
    if link:
        say(_("There is no admin yet. Create the first admin within a day: %(link)s") % {"link": address + link})
    templates.compile_all()  # into the home, where the site loads them one by one


def _answers(host, port):
    connection = HTTPConnection(host, port, timeout=10)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status < 500
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def _publish_address(listener):
    """Publish the server's address for links that commands print."""
    site_address.write_site_address(*listener.getsockname()[:2])
    try:
        yield
    finally:
        site_address.remove_site_address()


@contextmanager
def _open_listener(options):
    """Open the socket of the site. Raises Refused with the reason when that fails."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Connections inherit the timeout, so that an unfinished request does not occupy a thread for ever.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", HALF_REQUEST_SECONDS, 0))
        try:
            listener.bind((options.host, options.port))
            listener.listen(BACKLOG)
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                sentence = _(
                    "Port %(port)s of %(host)s is in use. Stop the program that uses the port, or choose another "
                    "port with --port."
                )
                raise Refused(sentence % {"port": options.port, "host": options.host}) from exc
            sentence = _(
                "Port %(port)s of %(host)s cannot be used: %(why)s. Choose another host or port with --host and --port."
            )
            words = {"port": options.port, "host": options.host, "why": reasons.describe_os_error(exc)}
            raise Refused(sentence % words) from exc
        yield listener


def find_free_port() -> int:
    """Find a free port, for a program that needs the port before it serves."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
