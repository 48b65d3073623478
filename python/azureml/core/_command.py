"""From a script with arguments, or a command, to the words a node starts."""

import re
import shlex

from azureml.exceptions import UserErrorException

_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")


def script_command(interpreter, script, arguments):
    """Arguments may name variables (`$AZ_BATCH_MASTER_NODE`), which every process expands for itself: that takes a
    shell, with all the rest quoted."""
    words = [interpreter or "python", script] + [str(argument) for argument in arguments]
    if not any(_VARIABLE.search(word) for word in words):
        return words
    return ["/bin/sh", "-c", "exec " + " ".join(_quoted(word) for word in words)]


def _quoted(word):
    pieces, end = [], 0
    for match in _VARIABLE.finditer(word):
        if match.start() > end:
            pieces.append(shlex.quote(word[end : match.start()]))
        pieces.append('"${%s}"' % (match.group(1) or match.group(2)))
        end = match.end()
    if end < len(word) or not word:
        pieces.append(shlex.quote(word[end:]))
    return "".join(pieces)


def line_command(command):
    """A command line, given as a text or as its pieces, for the shell."""
    text = command if isinstance(command, str) else " ".join(str(piece) for piece in command)
    return ["/bin/bash", "-c", text]


def unwrapped(command):
    """What was asked for, from what was submitted."""
    words = list(command)
    if len(words) == 3 and words[0] == "/bin/sh" and words[1] == "-c" and words[2].startswith("exec "):
        try:
            return shlex.split(words[2][len("exec ") :])
        except ValueError:
            return words
    return words


def rendered(arguments, resolve):
    """Every argument as text; `resolve` gives what stands for data, or None for anything else."""
    made = []
    for argument in arguments or []:
        if isinstance(argument, (list, tuple, dict, set)):
            raise UserErrorException(
                f"Arguments are a flat list of texts and numbers; {argument!r} is a {type(argument).__name__}"
            )
        found = resolve(argument)
        made.append(str(argument) if found is None else found)
    return made
