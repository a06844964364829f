"""Runs `openclaw-web ...` where the kernel cannot exchange two folders.

`python -m tests.operations.backups.exchange_failure EVENT ...`. The kernel itself refuses the exchange (a seccomp
filter), as file systems do that do not support it. EVENT is the number of the rename of a folder beside the home before
which the process is killed (0: never); or `visit`: before the second rename somebody else creates the home that is
missing for a moment; or `links`: archives cannot be hard-linked, as archives of other owners cannot.
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
NUMBER_AT, FLAGS_AT = 0, 48  # offsets of the system call's number and its fifth argument in seccomp_data


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


def act_before(event_name, home):
    rename_count, steps = 0, {home, f"{home}.between"}

    def audit(event, words):
        nonlocal rename_count
        if event == "os.link" and event_name == "links" and os.fspath(words[0]).endswith(".tar.zst"):
            raise PermissionError(errno.EPERM, "Operation not permitted")
        if event == "os.rename" and steps.intersection(map(os.fspath, words[:2])):
            rename_count += 1
            if event_name == "visit" and rename_count == 2:
                os.makedirs(os.path.join(home, "state"))
            elif str(rename_count) == event_name:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)


def main():
    event_name = sys.argv.pop(1)
    forbid_exchange()
    act_before(event_name, os.environ["OPENCLAW_WEB_HOME"])
    sys.argv[0] = "openclaw-web"
    from openclaw_web.commands.cli import main

    main()


if __name__ == "__main__":
    main()
