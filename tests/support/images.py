"""A small image of this machine's own Python, and a real registry that serves it."""

import contextlib
import os
import shutil
import socket
import subprocess
import tarfile
from pathlib import Path

from . import processes
from .server import ROOT

PYTHON = Path("/usr/bin/python3.11")


def libraries(program):
    """The shared libraries that a program needs, as the loader finds them."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {Path(word) for word in listed.split() if word.startswith("/")}


def python_files():
    """Debian's interpreter with the part of its library that small jobs use."""
    assert PYTHON.exists(), "Debian's python3 is not installed"
    library = Path("/usr/lib/python3.11")
    # uv is run in the image too, when packages are to be added to it.
    wanted = {PYTHON, *libraries(PYTHON), *libraries(ROOT / ".venv" / "bin" / "uv")}
    skipped = {"test", "idlelib", "tkinter", "lib2to3", "__pycache__", "config-3.11-x86_64-linux-gnu"}
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if name not in skipped]
        wanted |= {Path(folder) / name for name in files if not name.endswith(".pyc")}
    for module in (library / "lib-dynload").glob("*.so"):
        wanted |= libraries(module)
    return wanted


def archive(path):
    """A file system with /bin/busybox as shell and /usr/bin/python3."""
    busybox = shutil.which("busybox")
    assert busybox, "busybox is not installed: scripts/install-dependencies test"
    with tarfile.open(path, "w", dereference=True) as tar:
        for folder in ("bin", "tmp", "etc", "proc", "sys", "dev", "root", "usr/bin"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        tar.add(busybox, "bin/busybox")
        for link, target in [
            ("bin/sh", "busybox"),
            ("bin/true", "busybox"),
            ("bin/cat", "busybox"),
            ("bin/sleep", "busybox"),
            ("usr/bin/python3", "python3.11"),
            ("usr/bin/python", "/usr/bin/python3"),  # absolute: it must not lead out of the image
        ]:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        for file in sorted(python_files()):
            tar.add(file, str(file).lstrip("/"))
    return path


class Registry:
    """Debian's docker-registry on a port of its own, and Podman with a store of its own that trusts it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        config = self.folder / "registry.yml"
        config.write_text(
            f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {self.folder}/registry\n"
            f"http:\n  addr: {self.address}\n"
        )
        trusted = self.folder / "registries.conf"
        trusted.write_text(f'[[registry]]\nlocation = "{self.address}"\ninsecure = true\n')
        storage = self.folder / "storage.conf"
        storage.write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{self.folder}/store"\nrunroot = "{self.folder}/run"\n'
        )
        self.env = {"CONTAINERS_REGISTRIES_CONF": str(trusted), "CONTAINERS_STORAGE_CONF": str(storage)}
        program = shutil.which("docker-registry")
        assert program, "docker-registry is not installed: scripts/install-dependencies test"
        self.process = subprocess.Popen(
            [program, "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        processes.wait_until(self.answers, 20, "the registry does not answer")

    def answers(self):
        host, port = self.address.split(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
            return True
        return False

    def podman(self, *args):
        result = subprocess.run(
            ["podman", "--events-backend=file", "--cgroup-manager=cgroupfs", *args],
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, (args, result.stderr)
        return result.stdout.strip()

    def publish(self, name):
        """Imports the small image, pushes it, and forgets it here again."""
        image = f"{self.address}/{name}:1"
        self.podman(
            "import", "--change", "ENV=FROM_IMAGE=yes", str(archive(self.folder / "image.tar")), image
        )
        self.podman("push", "--quiet", image)
        self.podman("rmi", image)
        return image

    def stop(self):
        self.process.kill()
        self.process.wait()
        # Not `system reset`: it also empties /run/libpod, where the containers of tests beside this one are kept.
        for left in (["rm", "--all", "--force"], ["rmi", "--all", "--force"]):
            with contextlib.suppress(AssertionError):
                self.podman(*left)
        for folder in ("store", "run", "registry"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
