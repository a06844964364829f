"""The kind of file system that a folder is on, as the kernel knows it (Linux).

SQLite's write-ahead log needs memory that all processes of a database share, and locks that they all see. Disks of
another machine have neither, and SQLite does not notice: https://www.sqlite.org/wal.html.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
# Disks of other machines, and folders that a virtual machine gets from its host.
REMOTE = frozenset(
    (
        *("9p", "acfs", "afs", "auristorfs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre"),
        *("ncpfs", "nfs", "nfs4", "orangefs", "prl_fs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "vmhgfs"),
        *("fuse.beegfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.davfs", "fuse.gcsfuse"),
        *("fuse.glusterfs", "fuse.goofys", "fuse.grpcfuse", "fuse.gvfsd-fuse", "fuse.juicefs", "fuse.JuiceFS"),
        *("fuse.mfs", "fuse.moosefs", "fuse.osxfs", "fuse.prl_fsd", "fuse.rclone", "fuse.s3fs", "fuse.seaweedfs"),
        *("fuse.smbnetfs", "fuse.sshfs", "fuse.vmhgfs-fuse"),
    )
)
IN_MEMORY = frozenset(("tmpfs", "ramfs"))
WEB = ("http://", "https://")  # sources of davfs2, which calls itself only `fuse`


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A mounted file system: its kind, such as `ext4` or `nfs4`, and its disk or share."""

    kind: str
    source: str

    @property
    def is_remote(self) -> bool:
        """Whether another machine holds the files."""
        return self.kind in REMOTE or (self.kind == "fuse" and self.source.startswith(WEB))

    @property
    def is_in_memory(self) -> bool:
        """Whether the files are lost when the machine restarts."""
        return self.kind in IN_MEMORY


def find_file_system(folder: Path) -> FileSystem | None:
    """The file system of an existing folder; None where this machine cannot tell.

    The kernel names the mount of an open folder by a number. So mounts over mounts, bind mounts, links and odd names
    need no rules of ours.
    """
    with suppress(OSError):
        handle = _open_folder(folder)
        try:
            lines = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii").splitlines()
            number = next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")
        finally:
            os.close(handle)
        return dict(_list_mounts()).get(number)
    return None


def _open_folder(folder):
    """Open a folder; opening it also mounts a share that is mounted on demand."""
    flags = os.O_DIRECTORY | os.O_CLOEXEC
    try:
        return os.open(folder, os.O_RDONLY | flags)
    except PermissionError:
        return os.open(folder, getattr(os, "O_PATH", 0) | flags)


def _list_mounts() -> Iterator[tuple[str, FileSystem]]:
    """Every mount by its number: see proc_pid_mountinfo(5)."""
    for line in MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        mount, _separator, file_system = line.partition(" - ")
        if mount and len(fields := file_system.split(" ")) >= 2:
            yield mount.split(" ")[0], FileSystem(fields[0], fields[1])
