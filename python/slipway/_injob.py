"""What a job says about itself: metrics, tags, files. Outside a job the same calls print what would be logged.

Kept light: this is imported in every job, by every Python from 3.6 on.
"""

import os
import sys
import time
from _json import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

if TYPE_CHECKING:
    from ._sender import Sender

_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_MAX_NAMES = 10000

_names: Dict[str, str] = {}  # quoted once each
_steps: Dict[str, int] = {}  # the next step of metrics that are logged without one
_sender: Optional["Sender"] = None
_looked = False


def in_job() -> bool:
    """Whether this process runs inside a Slipway job."""
    return "SLIPWAY_SOCKET" in os.environ


def _find_sender() -> Optional["Sender"]:
    global _sender, _looked
    if not _looked:
        path = os.environ.get("SLIPWAY_SOCKET")
        if path:
            from ._sender import Sender

            _sender = Sender(path)
        _looked = True
    return _sender


def _number(name: str, value: Any) -> str:
    """As JSON. Whatever can be made a float is one: numpy scalars, tensors with one element, Decimal."""
    kind = type(value)
    if kind is not float:
        if (kind is int or kind is bool) and -(1 << 53) < value < (1 << 53):
            return repr(int(value))
        if kind is str:
            raise TypeError(f"the metric {name!r} is a text, not a number; slipway.log_text keeps texts")
        try:
            value = float(value)
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
        except (TypeError, ValueError):
            raise TypeError(
                f"the metric {name!r} is a {kind.__name__}, not a number; log its elements one by one"
            ) from None
    text = repr(value)
    return _NOT_FINITE.get(text, text)


def _name(name: str) -> str:
    known = _names.get(name)
    if known is None:
        if not name or len(name.encode("utf-8")) > 1024 or any(c < " " or c == "\x7f" for c in name):
            raise ValueError(f"a metric's name has 1 to 1024 bytes and no control characters: {name[:40]!r}")
        known = _quoted(name)
        if len(_names) < _MAX_NAMES:
            _names[name] = known
    return known


def log(*metrics: Mapping[str, Any], step: Optional[int] = None, **more: Any) -> None:
    """Logs metrics of this run: `slipway.log(loss=0.12, step=7)`, or `slipway.log({"val/loss": 0.2})` for other names.

    Without a step each metric counts its own, from 0. Takes some microseconds, in any thread and after fork; the server
    is not involved. Raises TypeError for what is no number, and nothing else.
    """
    for group in metrics:
        more = {**group, **more} if more else dict(group)
    moment = int(time.time() * 1000000)
    if step is None:
        for name, value in more.items():
            log_number(name, value, None, moment)
        return
    sender = _sender if _looked else _find_sender()
    fields = ",".join(
        [f"{_names.get(name) or _name(name)}:{_number(name, value)}" for name, value in more.items()]
    )
    _send(sender, f'{{"metrics":{{{fields}}},"step":{int(step)},"time":{moment}}}', more, step)


def log_number(name: str, value: Any, step: Optional[int] = None, moment: Optional[int] = None) -> None:
    """One metric, without the dictionary that `log` takes: for what is logged by the million."""
    field = f"{_names.get(name) or _name(name)}:{_number(name, value)}"
    if step is None:
        step = _steps.get(name, 0)
        _steps[name] = step + 1
    if moment is None:
        moment = int(time.time() * 1000000)
    sender = _sender if _looked else _find_sender()
    if sender is None:
        _say(f"would log {name}={value} at step {step}")
    else:
        sender.send(f'{{"metrics":{{{field}}},"step":{int(step)},"time":{moment}}}'.encode("ascii"))


def _send(sender: "Optional[Sender]", message: str, metrics: Mapping[str, Any], step: int) -> None:
    if sender is not None:
        if len(message) > 60000:
            _send_parts(sender, message, metrics, step)
        else:
            sender.send(message.encode("ascii"))
    else:
        shown = ", ".join(f"{name}={value}" for name, value in metrics.items())
        _say(f"would log {shown} at step {step}")


def _send_parts(sender: "Sender", message: str, metrics: Mapping[str, Any], step: int) -> None:
    """A message has at most 64 KiB: very many metrics at once go one by one."""
    moment = message.rpartition(":")[2]
    for name, value in metrics.items():
        sender.send(
            f'{{"metrics":{{{_name(name)}:{_number(name, value)}}},"step":{int(step)},"time":{moment}'.encode(
                "ascii"
            )
        )


def _say(text: str) -> None:
    sys.stdout.write(f"slipway: not in a job; {text}\n")


def send_object(document: Mapping[str, Any], said: str) -> bool:
    """Sends a message that is not made by the million; outside a job prints what it `said`. False: it is too long."""
    sender = _find_sender()
    if sender is None:
        _say(said)
        return True
    import json

    message = json.dumps(document).encode("ascii")
    if len(message) > 64 << 10:
        return False
    sender.send(message)
    return True


def _send_texts(what: str, texts: Mapping[str, Any]) -> None:
    pairs = {str(name): str(value) for name, value in texts.items()}
    said = f"would set the {what} " + ", ".join(f"{name}={value}" for name, value in pairs.items())
    for name, value in pairs.items():
        if not name or len(name.encode()) > 256 or len(value.encode()) > 5000:
            raise ValueError(
                f"the name of one of the {what} has 1 to 256 bytes and its text at most 5000: {name[:40]!r}"
            )
    if not send_object({what: pairs}, said):
        for name, value in pairs.items():
            send_object({what: {name: value}}, said)


def tag(*tags: Mapping[str, Any], **more: Any) -> None:
    """Sets tags of this run: `slipway.tag(optimizer="adam")`."""
    for group in tags:
        more = {**group, **more}
    _send_texts("tags", more)


def set_properties(*properties: Mapping[str, Any], **more: Any) -> None:
    """Sets properties of this run, each once and for ever: `slipway.set_properties(data="mnist:2")`."""
    for group in properties:
        more = {**group, **more}
    _send_texts("properties", more)


def keep(path: str) -> None:
    """Keeps a file of the working folder with the run at once, not only at the end; `./outputs` is kept anyway."""
    relative = _below_work(path)
    send_object({"file": relative}, f"would keep {relative}")


def work_folder() -> str:
    """The job's working folder, also when the process has gone elsewhere."""
    outputs = os.environ.get("SLIPWAY_OUTPUTS")
    return os.path.dirname(outputs) if outputs else os.getcwd()


def outputs_folder() -> str:
    return os.environ.get("SLIPWAY_OUTPUTS") or os.path.join(os.getcwd(), "outputs")


def _below_work(path: str) -> str:
    work = os.path.realpath(work_folder())
    relative = os.path.relpath(os.path.realpath(path), work)
    if relative.startswith("..") or not os.path.isfile(path):
        raise ValueError(f"{path} is no file below the working folder {work}; save it to ./outputs first")
    return relative.replace(os.sep, "/")


def flush(timeout: float = 30.0) -> bool:
    """Waits until everything logged so far is with the run's supervisor: it usually is already. False: not in time."""
    return _sender is None or _sender.drain(timeout)
