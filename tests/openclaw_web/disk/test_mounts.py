"""The kind of file system of a folder, on real mounts."""

import os
import subprocess
import sys

import pytest

from openclaw_web.disk import mounts
from tests.processes import CHECKOUT

REPORT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from openclaw_web.disk import mounts
for name in sys.argv[2:]:
    print(mounts.find_file_system(Path(name)).kind)
"""


def test_it_works(tmp_path):
    assert mounts.find_file_system(mounts.MOUNTS.parent).kind == "proc"
    own = mounts.find_file_system(tmp_path)
    assert own.kind and not own.is_remote
    assert mounts.find_file_system(tmp_path / "missing") is None


def test_mounts_over_mounts_and_odd_names_are_those_that_a_path_reaches(tmp_path):
    """A ramfs hides the tmpfs below it; a bind mount has its source's kind."""
    odd = "a b\\040\n\tc"
    script = (
        'set -e; cd "$1"; mkdir -p below/inner "$2" bound; mount -t tmpfs none below/inner; mount -t ramfs none below; '
        'mkdir below/inner; mount -t tmpfs none "$2"; mount --bind "$2" bound; ln -s bound link; shift 2; exec "$@"'
    )
    folders = [tmp_path / name for name in ("below", "below/inner", odd, "bound", "link")]
    command = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "bash", "-c", script, "bash"]
    report = [sys.executable, "-c", REPORT, CHECKOUT, *folders]
    done = subprocess.run([*command, tmp_path, odd, *report], capture_output=True, text=True)
    if "permitted" in done.stderr:
        pytest.skip("this machine gives no mount namespace")
    assert done.stdout.split() == ["ramfs", "ramfs", "tmpfs", "tmpfs", "tmpfs"], done.stderr


REMOTE = {
    "nfs4": "nas.example:/home",
    "nfs": "nas.example:/home",
    "cifs": "//nas.example/share",
    "9p": "drvfs",  # /mnt/c of WSL
    "fuse.sshfs": "somebody@nas.example:",
    "fuse.grpcfuse": "grpcfuse",  # folders of macOS in Docker Desktop
    "ceph": "10.0.0.1:6789:/",
    "fuse.glusterfs": "nas.example:/volume",
    "lustre": "nas.example@tcp:/scratch",
    "vboxsf": "shared",
    "fuse": "https://cloud.example/dav",  # davfs2
}
LOCAL = {
    "ext4": "/dev/sda1",
    "btrfs": "/dev/sda1",
    "zfs": "tank/home",
    "xfs": "/dev/sda1",
    "overlay": "overlay",
    "tmpfs": "tmpfs",
    "virtiofs": "shared",
    "fuseblk": "/dev/sdb1",
    "fuse.mergerfs": "a:b",
    "fuse": "/dev/fuse",
    "fuse.fuse-overlayfs": "fuse-overlayfs",
}


@pytest.mark.parametrize(("kind", "source"), REMOTE.items())
def test_disks_of_other_machines_are_remote(kind, source):
    assert mounts.FileSystem(kind, source).is_remote


@pytest.mark.parametrize(("kind", "source"), LOCAL.items())
def test_disks_of_this_machine_are_not(kind, source):
    assert not mounts.FileSystem(kind, source).is_remote
    assert mounts.FileSystem(kind, source).is_in_memory == (kind == "tmpfs")


def test_a_system_without_the_list_of_mounts_knows_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "missing")
    assert mounts.find_file_system(tmp_path) is None
