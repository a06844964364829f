"""`python -m tests.operations.without_exchange NUMBER ...`: `openclaw-web ...` where folders cannot be exchanged.

The kernel itself says no (a seccomp filter), as it does on file systems that do not know how. Before rename NUMBER of a
folder beside the home the process is killed; 0: never.
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


def kill_before(number, home):
    seen, steps = 0, {home, f"{home}.between"}

    def look(event, words):
        nonlocal seen
        if event == "os.rename" and steps.intersection(map(os.fspath, words[:2])):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def main():
    number = int(sys.argv.pop(1))
    forbid_exchange()
    kill_before(number, os.environ["OPENCLAW_WEB_HOME"])
    sys.argv[0] = "openclaw-web"
    from openclaw_web.cli import main

    main()


if __name__ == "__main__":
    main()
