"""Starts processes of openclaw-web as copies of one that has imported everything.

A copy saves 0.5 s of a command and 3.5 s of a `serve`. Each is a real process, a child of the test run with its own
arguments, environment, folder and pipes, and reads the settings anew. Imports, and the first steps of a process, are
tested by the processes that tests/installation starts.
"""

import atexit
import contextlib
import ctypes
import functools
import gc
import io
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
SETTINGS = "openclaw_web.settings"
PR_SET_CHILD_SUBREAPER = 36
READ_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC")  # variables that an interpreter reads when it starts
USER = "OPENCLAW_TEST_USER"  # in an environment: the number of another user, whom only root can become
LENGTH = 8  # bytes of a number on the socket
_lock = threading.Lock()


def start(module, *words, env, cwd=CHECKOUT, **options):
    """Start `python -m module words` as a `subprocess.Popen`, as a copy where possible."""
    command = [sys.executable, "-m", module, *words]
    is_own = cwd != CHECKOUT or "COVERAGE_PROCESS_CONFIG" in env or sys.platform != "linux"
    return (subprocess.Popen if is_own else Copy)(command, env=env, cwd=cwd, **options)


class Copy(subprocess.Popen):
    """A process that is copied instead of started from nothing."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        pipes = rest[3:9]  # to read and to write at both ends: of stdin, stdout and stderr
        theirs = [own if own >= 0 else number for number, own in enumerate((pipes[0], pipes[3], pipes[5]))]
        request = {"words": [os.fsdecode(word) for word in args[2:]], "env": env, "new_session": rest[-2]}
        try:
            with _lock:
                self.pid = _request_copy(_start_template(_select_interpreter_environment(env)), request, theirs)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)


def _select_interpreter_environment(env):
    """Return the environment variables that an interpreter reads when it starts.

    Processes that differ in them cannot be copies of the same one.
    """
    return frozenset((name, value) for name, value in env.items() if name.startswith(READ_AT_START))


@functools.cache
def _start_template(interpreter):
    """Return the socket of the process to copy, which ends with this one."""
    # A copy becomes a child of this process, so that it can be waited for.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ours, theirs = socket.socketpair()
    others = ("OPENCLAW", "DJANGO", *READ_AT_START)
    env = {name: value for name, value in os.environ.items() if not name.startswith(others)} | dict(interpreter)
    command = [sys.executable, "-m", "tests.jobs.fork_server", str(theirs.fileno())]
    process = subprocess.Popen(
        command, cwd=CHECKOUT, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    theirs.close()

    def end():
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _request_copy(template, request, files):
    data = json.dumps(request).encode()
    socket.send_fds(template, [len(data).to_bytes(LENGTH)], files)
    template.sendall(data)
    return int.from_bytes(_receive(template, LENGTH))


def _receive(template, length):
    data = b""
    while len(data) < length:
        more = template.recv(length - len(data))
        if not more:
            raise EOFError("the process to copy has ended")
        data += more
    return data


def main(handle):
    """Import everything, then make copies of this process until the socket is closed."""
    connection = socket.socket(fileno=handle)
    _import_everything()
    gc.collect()
    gc.freeze()
    while True:
        length, files, *_ = socket.recv_fds(connection, LENGTH, 3)
        if not length:
            return
        request = json.loads(_receive(connection, int.from_bytes(length)))
        if (pid := _fork_copy()) == 0:
            connection.close()
            _run_request(files, **request)
            return
        for file in files:
            os.close(file)
        connection.sendall(pid.to_bytes(LENGTH))


def _import_everything():
    os.environ["OPENCLAW_WEB_HOME"] = tempfile.mkdtemp(prefix="openclaw-web-nursery-")
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import get_commands, load_command_class
    from django.urls import get_resolver
    from django.utils.module_loading import import_string

    _ = get_resolver().url_patterns
    for name, app in get_commands().items():
        if not app.startswith(("django", "axes", "ninja", "whitenoise")):
            load_command_class(app, name)
    for path in (
        *settings.JOB_KINDS.values(),
        *settings.PROBLEM_KINDS.values(),
    ):  # imported here, since a copy may lack permission to read them
        import_string(path)
    shutil.rmtree(os.environ["OPENCLAW_WEB_HOME"])


def _fork_copy():
    """Fork a copy that is nobody's child yet; returns its id, and 0 in the copy."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if (pid := os.fork()) == 0:
            os.close(reader)
            os.close(writer)
            return 0
        os.write(writer, pid.to_bytes(LENGTH))
        os._exit(0)
    os.waitpid(child, 0)
    pid = int.from_bytes(os.read(reader, LENGTH))
    os.close(reader)
    os.close(writer)
    return pid


def _run_request(files, words, env, new_session):
    """Turn into the requested process."""
    if new_session:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    _open_output()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the template ignores it
    os.environ.clear()
    os.environ.update(env)
    if user := os.environ.pop(USER, ""):  # after all imports, since the other user may not read the interpreter
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    tempfile.tempdir = None  # also depends on the environment
    _forget_settings()
    sys.argv = [words[0], *words[1:]]
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def _open_output():
    """Open both outputs anew: an open stream remembers whether its first file could seek."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        old = getattr(sys, name)
        buffer = open(number, "wb", 0 if old.write_through else -1, closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(buffer, old.encoding, old.errors, None, old.line_buffering, old.write_through)
        setattr(sys, name, stream)


def _forget_settings():
    """Let settings be read anew from this environment; additions by packages stay."""
    from django.conf import global_settings, settings
    from django.db import connections
    from django.utils.functional import empty

    known = {*vars(global_settings), *vars(sys.modules.pop(SETTINGS))}
    added = {name: value for name, value in vars(settings._wrapped).items() if name.isupper() and name not in known}
    settings.__dict__.clear()
    settings._wrapped = empty
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    for name, value in added.items():
        setattr(settings, name, value)
    for alias in connections:
        if hasattr(connections._connections, alias):
            del connections[alias]
    connections.__dict__.pop("settings", None)
    connections._settings = None


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main(int(sys.argv[1]))
