"""The snapshot of a source folder: which files it has, and the digest of each one's content.

No link is followed; sockets, pipes and devices are left out and reported.
"""

import hashlib
import heapq
import os
import stat
import time
from typing import Dict, List, NamedTuple, Optional, Tuple

from ._http import Json
from ._ignore import ALWAYS_IGNORED, IGNORE_FILE_NAMES, MAX_IGNORE_FILE_BYTES, IgnoreFile
from .errors import ConflictError, InvalidArgumentError, TooLargeError

MAX_FILES = 300000
MAX_BYTES = 10 << 30
MAX_DEPTH = 200


class Entry(NamedTuple):
    path: str
    mode: int  # 0o644 or 0o755: of a file's permissions only "may be executed" is kept
    size: int
    digest: str


class Snapshot(NamedTuple):
    entries: List[Entry]  # in the order of their paths
    skipped: List[Tuple[str, str]]  # path and why

    def document(self) -> Json:
        files = [dict(zip(Entry._fields, entry)) for entry in self.entries]
        return {"version": 1, "files": files}


def size_text(size: float) -> str:
    """
    >>> size_text(812), size_text(3 << 20), size_text(5 << 30)
    ('812 bytes', '3.0 MiB', '5.0 GiB')
    """
    if size >= 1 << 30:
        return f"{size / (1 << 30):.1f} GiB"
    if size >= 1 << 20:
        return f"{size / (1 << 20):.1f} MiB"
    return f"{int(size)} bytes"


class _Walker:
    def __init__(self, folder: str, max_files: int, max_bytes: int) -> None:
        self.folder = os.fsencode(folder)
        self.max_files = max_files
        self.max_bytes = max_bytes
        self.files: Dict[bytes, os.stat_result] = {}
        self.skipped: List[Tuple[str, str]] = []
        self.size = 0
        self.ignore_name = next(
            (name for name in IGNORE_FILE_NAMES if self._is_regular(os.path.join(folder, name))), ""
        )

    @staticmethod
    def _is_regular(path: str) -> bool:
        try:
            return stat.S_ISREG(os.lstat(path).st_mode)
        except OSError:
            return False

    def enter(self, relative: bytes, above: List[Tuple[bytes, IgnoreFile]], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise TooLargeError(
                f"the folder {_text(relative)} lies more than {MAX_DEPTH} levels deep",
                next="name it in .slipwayignore",
            )
        scopes = above
        ignore_file = self._ignore_file(relative)
        if ignore_file is not None:
            scopes = [*above, (relative, ignore_file)]
        try:
            entries = list(os.scandir(os.path.join(self.folder, relative)))
        except FileNotFoundError:
            return  # gone since its folder was listed
        except OSError as error:
            raise _unreadable("folder", relative, error) from None
        for entry in entries:
            self._visit(entry, relative, scopes, depth)

    def _ignore_file(self, relative: bytes) -> Optional[IgnoreFile]:
        if not self.ignore_name:
            return None
        path = os.path.join(self.folder, relative, self.ignore_name.encode())
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return None
            with open(path, "rb") as file:
                text = file.read(MAX_IGNORE_FILE_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable("file", path, error) from None
        if len(text) > MAX_IGNORE_FILE_BYTES:
            raise TooLargeError(f"the ignore file {_text(path)} is larger than 1 MiB")
        return IgnoreFile(text)

    def _visit(
        self, entry: "os.DirEntry[bytes]", folder: bytes, scopes: List[Tuple[bytes, IgnoreFile]], depth: int
    ) -> None:
        name = entry.name
        if name in ALWAYS_IGNORED:
            return
        path = folder + b"/" + name if folder else name
        is_folder = entry.is_dir(follow_symlinks=False)
        if _ignored(path, is_folder, scopes):
            return
        try:
            name.decode("utf-8")
        except UnicodeDecodeError:
            self.skipped.append((_text(path), "its name is not UTF-8"))
            return
        if b"\\" in name:
            self.skipped.append((_text(path), "its name has a backslash"))
        elif is_folder:
            self.enter(path, scopes, depth + 1)
        else:
            self._take(entry, path)

    def _take(self, entry: "os.DirEntry[bytes]", path: bytes) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unreadable("file", path, error) from None
        if not stat.S_ISREG(status.st_mode):
            self.skipped.append((_text(path), _kind(status.st_mode)))
            return
        self.files[path] = status
        self.size += status.st_size
        if len(self.files) > self.max_files or self.size > self.max_bytes:
            self._refuse()

    def _refuse(self) -> None:
        if len(self.files) > self.max_files:
            raise TooLargeError(
                f"the folder has more than {self.max_files} files",
                next="name what a run does not need in .slipwayignore",
            )
        largest = heapq.nlargest(5, self.files.items(), key=lambda item: item[1].st_size)
        named = ", ".join(f"{_text(path)} ({size_text(status.st_size)})" for path, status in largest)
        raise TooLargeError(
            f"the folder has more than {size_text(self.max_bytes)} of files; the largest found so far: {named}",
            next="name what a run does not need in .slipwayignore",
        )


def _text(path: bytes) -> str:
    return path.decode("utf-8", "replace").replace("\ufffd", "?")


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISSOCK(mode):
        return "a socket"
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
        return "a device"
    return "not a regular file"


def _ignored(path: bytes, is_folder: bool, scopes: List[Tuple[bytes, IgnoreFile]]) -> bool:
    """The nearest ignore file that says something decides."""
    for folder, rules in reversed(scopes):
        verdict = rules.check(path[len(folder) + 1 :] if folder else path, is_folder)
        if verdict is not None:
            return verdict
    return False


def _unreadable(what: str, path: bytes, error: OSError) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"cannot read the {what} {_text(path) or '.'}: {error.strerror}",
        next="make it readable, or name it in .slipwayignore",
    )


def hash_file(path: bytes) -> Tuple[int, str]:
    """Size and digest of what is in the file now."""
    digest = hashlib.sha256()
    size = 0
    # Not through a link that took the file's place, and not waiting at a pipe that did.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        while True:
            piece = file.read(1 << 18)
            if not piece:
                return size, digest.hexdigest()
            digest.update(piece)
            size += len(piece)


# Digests of files that this process has read before, by all that tells a file's content apart without reading it, as
# git's index does. A file that was changed a moment ago may change again within one tick of the clock it is stamped by.
_known: Dict[Tuple[int, int, int, int, int], str] = {}
_MOST_KNOWN = 200000
_TICK_NS = 20000000


def _identity(status: os.stat_result) -> Tuple[int, int, int, int, int]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _digest_of(path: bytes, status: os.stat_result, started_ns: int) -> Tuple[int, str]:
    known = _known.get(_identity(status))
    if known is not None:
        return status.st_size, known
    size, digest = hash_file(path)
    settled = max(status.st_mtime_ns, status.st_ctime_ns) < started_ns - _TICK_NS
    if settled and size == status.st_size and len(_known) < _MOST_KNOWN and _is_same(path, status):
        _known[_identity(status)] = digest
    return size, digest


def _is_same(path: bytes, status: os.stat_result) -> bool:
    """Whether nothing happened to the file while it was read."""
    try:
        return _identity(os.lstat(path)) == _identity(status)
    except OSError:
        return False


def take_snapshot(folder: str, max_files: int = MAX_FILES, max_bytes: int = MAX_BYTES) -> Snapshot:
    """Reads every file that the ignore rules leave."""
    if not os.path.isdir(folder):
        what = "is not a folder" if os.path.exists(folder) else "does not exist"
        raise InvalidArgumentError(
            f"the source folder {folder} {what}", next="name the folder of your code with source=..."
        )
    started_ns = int(time.time() * 1e9)
    walker = _Walker(folder, max_files, max_bytes)
    walker.enter(b"", [], 0)
    entries: List[Entry] = []
    for path in sorted(walker.files):
        mode = 0o755 if walker.files[path].st_mode & stat.S_IXUSR else 0o644
        try:
            size, digest = _digest_of(os.path.join(walker.folder, path), walker.files[path], started_ns)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _unreadable("file", path, error) from None
        entries.append(Entry(path.decode("utf-8"), mode, size, digest))
    return Snapshot(entries, sorted(walker.skipped))


def changed(path: str) -> ConflictError:
    return ConflictError(
        f"the file {path} changed while it was uploaded",
        next="submit again when nothing writes to it, or name it in .slipwayignore",
    )
