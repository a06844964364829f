"""`python -m tests.operations.backups.exchange_failure WHAT ...`: `openclaw-web ...` where folders cannot be exchanged.

The kernel itself says no (a seccomp filter), as it does on file systems that do not know how. WHAT is the number of the
rename of a folder beside the home before which the process is killed (0: never); or `visit`: before the second one
somebody else makes the home that is away for a moment; or `links`: archives get no second name, like those of others.
"""

import ctypes
import errno
import os
import platform
import signal
import struct
import sys

RENAMEAT2 = {"x86_64": 316, "aarch64": 276}
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER_AT, FLAGS_AT = 0, 48  # in what the kernel shows a filter: of the system call, and of its fifth argument


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def is_possible():
    return sys.platform == "linux" and platform.machine() in RENAMEAT2


def forbid_exchange():
    steps = [
        (LOAD, 0, 0, NUMBER_AT),
        (EQUAL, 0, 3, RENAMEAT2[platform.machine()]),
        (LOAD, 0, 0, FLAGS_AT),
        (EQUAL, 1, 0, 0),
        (RETURN, 0, 0, FAIL | errno.ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*words):
            raise OSError(ctypes.get_errno(), "prctl")


def act_before(what, home):
    seen, steps = 0, {home, f"{home}.between"}

    def look(event, words):
        nonlocal seen
        if event == "os.link" and what == "links" and os.fspath(words[0]).endswith(".tar.zst"):
            raise PermissionError(errno.EPERM, "Operation not permitted")
        if event == "os.rename" and steps.intersection(map(os.fspath, words[:2])):
            seen += 1
            if what == "visit" and seen == 2:
                os.makedirs(os.path.join(home, "state"))
            elif str(seen) == what:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def main():
    what = sys.argv.pop(1)
    forbid_exchange()
    act_before(what, os.environ["OPENCLAW_WEB_HOME"])
    sys.argv[0] = "openclaw-web"
    from openclaw_web.commands.cli import main

    main()


if __name__ == "__main__":
    main()
