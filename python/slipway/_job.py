"""From what a user says to the job that the server is sent."""

import os
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._http import Json
from .errors import InvalidArgumentError, NotFoundError

_IDENTIFIER = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,254}$")


def texts(values: Mapping[str, Any]) -> Dict[str, str]:
    return {str(name): str(value) for name, value in values.items()}


def memory_bytes(memory: Any) -> int:
    """A number counts GiB, as on the command line.

    >>> memory_bytes(4) == memory_bytes("4G") == memory_bytes("4096MiB") == 4 << 30
    True
    """
    if isinstance(memory, (int, float)):
        return int(memory * (1 << 30))
    found = re.match(r"^\s*([0-9.]+)\s*([KMGT]?)(?:i?B)?\s*$", str(memory), re.IGNORECASE)
    try:
        number, unit = float(found.group(1)), found.group(2).upper()  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        raise InvalidArgumentError(
            f"{memory!r} is no amount of memory", next="write 4, 4G or 512MiB"
        ) from None
    return int(number * (1 << {"": 30, "K": 10, "M": 20, "G": 30, "T": 40}[unit]))


def resources_of(cpus: Optional[float], memory: Any, gpus: Optional[int]) -> Optional[Json]:
    size = None if memory is None else memory_bytes(memory)
    given = {"cpus": cpus, "memory_bytes": size, "gpus": gpus}
    return {name: value for name, value in given.items() if value is not None} or None


class Place:
    """An input or an output of a job. `kind` is "inputs" or "outputs", `document` what the job says about it, `wish`
    the name it gets when it is used in the arguments without one."""

    kind = "inputs"
    wish = "data"

    @property
    def document(self) -> Json:
        raise NotImplementedError


class Places:
    """The inputs and outputs of one job, by name. One that stands only in the arguments gets a name of its own."""

    def __init__(self, inputs: Optional[Mapping[str, Any]], outputs: Optional[Mapping[str, Any]]) -> None:
        self.inputs: Dict[str, Json] = {}
        self.outputs: Dict[str, Json] = {}
        self._known: Dict[int, str] = {}  # id of the object -> how an argument names it
        for kind, given in (("inputs", inputs), ("outputs", outputs)):
            for name, place in (given or {}).items():
                self._add(kind, name, place)

    def _add(self, kind: str, name: str, place: Any) -> str:
        if not isinstance(name, str) or not _IDENTIFIER.match(name):
            raise InvalidArgumentError(
                f"{name!r} is no name for one of the {kind}", next="use letters, digits and _, no digit first"
            )
        if isinstance(place, Place):
            if place.kind != kind:
                raise InvalidArgumentError(
                    f"{name!r} is given among the {kind} and belongs to the {place.kind}"
                )
            document = place.document
        elif isinstance(place, str):
            document = {"dataset": place} if kind == "inputs" else {"register_as": place}
        else:
            document = dict(place)
        (self.inputs if kind == "inputs" else self.outputs)[name] = document
        self._known[id(place)] = f"${{{kind}.{name}}}"
        return self._known[id(place)]

    def word(self, argument: Any) -> str:
        """An argument as the job gets it; an input or output stands for the path it has on the node."""
        if not isinstance(argument, Place):
            return str(argument)
        known = self._known.get(id(argument))
        if known is not None:
            return known
        taken = self.inputs if argument.kind == "inputs" else self.outputs
        name = stem = re.sub(r"[^A-Za-z0-9_]", "_", argument.wish).lstrip("0123456789") or "data"
        number = 2
        while name in taken:
            name, number = f"{stem}_{number}", number + 1
        return self._add(argument.kind, name, argument)


def command_of(
    script: Optional[str], args: Sequence[Any], command: Union[str, Sequence[Any], None], places: Places
) -> List[str]:
    if (script is None) == (command is None):
        raise InvalidArgumentError(
            "a job has a script or a command, and not both", next='submit("train.py", args=[...])'
        )
    if isinstance(args, str):
        raise InvalidArgumentError("args is a list of arguments, not one text", next='args=["--epochs", 3]')
    words = [places.word(word) for word in args]
    if script is not None:
        return ["python3", script, *words]
    if isinstance(command, str):
        return ["/bin/sh", "-c", command, *(["sh"] if words else []), *words]
    return [places.word(word) for word in command or ()] + words


def check_script(source: str, script: str) -> None:
    """Says it here rather than in the run's log."""
    folder = os.path.abspath(os.path.expanduser(source))
    if not os.path.isdir(folder):
        raise NotFoundError(
            f"there is no source folder {folder}", next="source=... names the one that is sent"
        )
    if os.path.isabs(script) or not os.path.exists(os.path.join(folder, script)):
        raise NotFoundError(
            f"there is no script {script!r} in the source folder {folder}",
            next="name it relative to that folder; source=... names another one",
        )
