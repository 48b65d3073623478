"""Contents on their way: up to the server by digest, only what it lacks; down into a folder, checked and whole.

Small files travel together, large ones side by side, each from where an interrupted transfer had stopped.
"""

import fcntl
import hashlib
import http.client
import os
import socket
import struct
from binascii import unhexlify
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from ._connection import Connection
from ._http import ANSWER_SECONDS, Transport, error_of
from ._parallel import for_each
from ._snapshot import Entry, Snapshot, changed, hash_file, take_snapshot
from .errors import (
    TRANSIENT,
    ConflictError,
    InternalError,
    InvalidArgumentError,
    SlipwayError,
    TimedOutError,
    UnavailableError,
)

SMALL_FILE = 64 << 10
PACK_BYTES = 4 << 20
DIGESTS_AT_ONCE = 20000
ROUNDS = 3


class Missing(NamedTuple):
    entry: Entry
    offset: int  # held by the server from an interrupted upload


class Uploader:
    """Brings files to the workspace's store; `path_of` says where an entry lies here."""

    def __init__(self, transport: Transport, path_of: Callable[[str], str]) -> None:
        self._transport = transport
        self._path_of = path_of

    @property
    def _connection(self) -> Connection:
        return self._transport.connection

    def send(self, entries: List[Entry]) -> int:
        """Uploads what the server lacks of these; gives how many bytes that were."""
        unique = {entry.digest: entry for entry in entries}
        missing = self._missing(list(unique.values()))
        loads: List[List[Missing]] = []
        pack = 0
        # Large files first, so that no connection is left alone with one at the end; then packs.
        for one in sorted(missing, key=lambda m: -m.entry.size):
            size = one.entry.size
            if not loads or size >= SMALL_FILE or pack + size > PACK_BYTES:
                loads.append([])
                pack = 0 if size < SMALL_FILE else PACK_BYTES
            loads[-1].append(one)
            pack += size
        for_each(loads, self._send_load)
        return sum(one.entry.size - one.offset for one in missing)

    def _missing(self, entries: List[Entry]) -> List[Missing]:
        found: List[Missing] = []
        for start in range(0, len(entries), DIGESTS_AT_ONCE):
            asked = {entry.digest: entry for entry in entries[start : start + DIGESTS_AT_ONCE]}
            answer = self._transport.call(
                "POST", self._connection.in_workspace("/blobs/missing"), {"digests": list(asked)}
            )
            for item in answer.get("missing", []):
                entry = asked.get(item["digest"])
                if entry is not None:
                    found.append(Missing(entry, min(int(item.get("offset", 0)), entry.size)))
        return found

    def _send_load(self, load: List[Missing]) -> None:
        if load[0].entry.size >= SMALL_FILE:
            self._send_large(load[0])
        else:
            self._send_pack([one.entry for one in load])

    def _path(self, entry: Entry) -> str:
        return self._path_of(entry.path)

    def _send_pack(self, entries: List[Entry]) -> None:
        body = bytearray()
        for entry in entries:
            try:
                with open(self._path(entry), "rb") as file:
                    content = file.read(entry.size + 1)
            except OSError:
                raise changed(entry.path) from None
            if hashlib.sha256(content).hexdigest() != entry.digest:
                raise changed(entry.path)
            body += unhexlify(entry.digest) + struct.pack("<Q", len(content)) + content
        self._transport.send(
            "POST",
            self._connection.in_workspace("/blobs/pack"),
            bytes(body),
            {"Content-Type": "application/octet-stream"},
        )

    def _send_large(self, one: Missing) -> None:
        failures = 0
        while True:
            try:
                self._put(one)
                return
            except (ConflictError, *TRANSIENT) as error:
                # Another upload of the same file runs, or the server holds more or less than we think: look again.
                failures += self._transport.wait_to_repeat(error, failures)
                still = self._missing([one.entry])
                if not still:
                    return
                if still[0].offset > one.offset:
                    failures = 1  # it moves
                one = still[0]
            except InvalidArgumentError:
                # A wrong digest at the end: the server has dropped the bytes.
                raise changed(one.entry.path) from None

    def _put(self, one: Missing) -> None:
        target = self._connection.in_workspace(f"/blobs/{one.entry.digest}?offset={one.offset}")
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(one.entry.size - one.offset),
        }
        with open(self._path(one.entry), "rb") as file:
            if os.fstat(file.fileno()).st_size != one.entry.size:
                raise changed(one.entry.path)
            file.seek(one.offset)
            self._transport.exchange("PUT", target, file, headers)


def send_source(transport: Transport, folder: str) -> Tuple[str, Snapshot]:
    """Takes the snapshot of a folder and makes it visible on the server; gives its id. A file that changes in between
    makes it start again, three times in all."""
    for last in (False, False, True):
        snapshot = take_snapshot(folder)
        try:
            return send_snapshot(transport, folder, snapshot), snapshot
        except ConflictError:
            if last:
                raise
    raise AssertionError("the loop returns or raises")


def send_snapshot(transport: Transport, folder: str, snapshot: Snapshot) -> str:
    target = transport.connection.in_workspace("/snapshots")
    uploader = Uploader(transport, lambda path: os.path.join(folder, path))
    document = snapshot.document()
    # Usually the server knows it all. It may also drop a content nobody refers to between our question and the
    # manifest: rare, and asked again.
    for _ in range(ROUNDS):
        try:
            return str(transport.call("POST", target, document)["snapshot"])
        except ConflictError:
            uploader.send(snapshot.entries)
    return str(transport.call("POST", target, document)["snapshot"])


# -- downloads --------------------------------------------------------------------------------------------------


class RemoteFile(NamedTuple):
    path: str  # below the target folder
    target: str  # of the GET that answers with its bytes; takes Range
    size: int
    digest: str  # empty: not known
    mode: int = 0o644


def is_clean(path: str) -> bool:
    """Whether a path stays below the folder it is taken from.

    >>> is_clean("outputs/model/weights.bin"), is_clean("a/../../b"), is_clean("/etc/passwd")
    (True, False, False)
    """
    return (
        "\0" not in path and "\\" not in path and not any(part in ("", ".", "..") for part in path.split("/"))
    )


def check_path(path: str) -> str:
    """A path for a file of a run, as a user gives it."""
    if not is_clean(path):
        raise InvalidArgumentError(f"{path!r} is no path for a file", next="write it as outputs/plot.png")
    return path


def download_files(
    transport: Transport, files: List[RemoteFile], folder: str, overwrite: bool = True
) -> List[str]:
    """Gives the paths of the files, as they lie in `folder` then. A file of the same name and other content is
    replaced, in one step, when the new one is whole; without `overwrite` it is an error before anything is fetched."""
    for remote in files:
        if not is_clean(remote.path):
            raise InternalError(f"the server names a file {remote.path!r} that leaves the folder")
    os.makedirs(folder, exist_ok=True)
    if not overwrite:
        taken = [remote.path for remote in files if os.path.lexists(os.path.join(folder, remote.path))]
        if taken:
            raise ConflictError(
                f"{os.path.join(folder, taken[0])} is there already",
                next="choose another folder, or overwrite=True",
            )
    order = sorted(files, key=lambda remote: -remote.size)
    for_each(order, lambda remote: _fetch(transport, remote, folder))
    return [os.path.join(folder, remote.path) for remote in files]


def _inside(folder: str, path: str) -> str:
    """The file's own folder, made where it is missing. A link on the way that leads out of the folder is refused."""
    target = os.path.join(folder, path)
    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    root = os.path.realpath(folder)
    real = os.path.realpath(parent)
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise InvalidArgumentError(
            f"{parent} is a link that leads out of {folder}", next="remove it, or choose another folder"
        )
    return target


def _fetch(transport: Transport, remote: RemoteFile, folder: str) -> None:
    target = _inside(folder, remote.path)
    if remote.digest and _is_there(target, remote):
        return
    # The digest in the name: what is left of another version is never continued.
    name = os.path.basename(target)[:200]
    part = os.path.join(os.path.dirname(target), f".{name}.{remote.digest[:16] or 'new'}.part")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "r+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConflictError(
                f"another download of {remote.path} into this folder is running", next="wait for it to end"
            ) from None
        # A part left by a crash may be damaged: then all of it is fetched once more.
        if not remote.digest:
            file.truncate(0)
        _receive(transport, remote, file.fileno())
        if remote.digest and hash_file(os.fsencode(part))[1] != remote.digest:
            file.truncate(0)
            _receive(transport, remote, file.fileno())
            if hash_file(os.fsencode(part))[1] != remote.digest:
                os.unlink(part)
                raise InternalError(
                    f"what the server sent for {remote.path} does not match its digest",
                    next="try again; when it stays so, the server's storage is damaged",
                )
        os.fchmod(file.fileno(), 0o755 if remote.mode & 0o100 else 0o644)
        os.replace(part, target)


def _is_there(target: str, remote: RemoteFile) -> bool:
    if os.path.islink(target) or not os.path.isfile(target) or os.path.getsize(target) != remote.size:
        return False
    return hash_file(os.fsencode(target))[1] == remote.digest


def _receive(transport: Transport, remote: RemoteFile, descriptor: int) -> None:
    """Brings the part to its full size, from where it stands."""
    failures = 0
    while True:
        size = os.fstat(descriptor).st_size
        if size > remote.size:
            os.ftruncate(descriptor, 0)
            size = 0
        if size == remote.size:
            return
        try:
            received = read_into(transport, remote.target, size, _appender(descriptor, remote, size))
        except TRANSIENT as error:
            moved = os.fstat(descriptor).st_size > size
            failures = transport.wait_to_repeat(error, 0 if moved else failures) + (0 if moved else failures)
            continue
        if received == 0 and os.fstat(descriptor).st_size < remote.size:
            raise InternalError(f"the server has less of {remote.path} than it says")


def _appender(descriptor: int, remote: RemoteFile, start: int) -> Callable[[bytes], None]:
    position = [start]

    def append(piece: bytes) -> None:
        if position[0] + len(piece) > remote.size:
            raise InternalError(f"the server sent more than {remote.path} has")
        os.lseek(descriptor, position[0], os.SEEK_SET)
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
        position[0] += len(piece)

    return append


def read_into(transport: Transport, target: str, start: int, sink: Callable[[bytes], Any]) -> int:
    """One try to read an answer's body from byte `start` on, piece by piece; gives how many bytes came."""
    headers: Dict[str, str] = {"Range": f"bytes={start}-"} if start else {}
    connection, answer = transport.open("GET", target, None, headers, ANSWER_SECONDS)
    count = 0
    try:
        if answer.status >= 400:
            raise transport.explain(error_of(answer.status, answer.read()))
        if start and answer.status != 206:
            raise InternalError("the server answered without the range that was asked for")
        while True:
            piece = answer.read(1 << 18)
            if not piece:
                break
            sink(piece)
            count += len(piece)
    except SlipwayError:
        connection.close()
        raise
    except socket.timeout:
        connection.close()
        raise TimedOutError("the server stopped sending in the middle of a file") from None
    except (http.client.HTTPException, ConnectionError) as error:
        connection.close()
        raise UnavailableError(f"the connection to the server broke: {error}") from None
    except BaseException:
        connection.close()
        raise
    transport.done(connection, answer)
    return count
