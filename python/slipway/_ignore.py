"""Which files of a source folder stay out of its snapshot: git's own rules, as the C++ client applies them.

The first of .slipwayignore, .amlignore and .gitignore that lies in the source folder itself is the name that counts;
files of that name in sub-folders count too.

    >>> rules = IgnoreFile(b"*.log\\n!keep.log\\n/build/\\ndata/**/raw\\n")
    >>> [rules.check(b"a/x.log", False), rules.check(b"keep.log", False), rules.check(b"build", True)]
    [True, False, True]
    >>> rules.check(b"data/a/b/raw", True), rules.check(b"src/build", True)
    (True, None)
"""

import re
from typing import List, Optional, Pattern, Tuple

IGNORE_FILE_NAMES = (".slipwayignore", ".amlignore", ".gitignore")
ALWAYS_IGNORED = (b".git", b".slipway")
MAX_IGNORE_FILE_BYTES = 1 << 20

_CLASSES = {
    b"alnum": b"a-zA-Z0-9",
    b"alpha": b"a-zA-Z",
    b"blank": b" \\t",
    b"cntrl": b"\\x00-\\x1f\\x7f",
    b"digit": b"0-9",
    b"graph": b"\\x21-\\x7e",
    b"lower": b"a-z",
    b"print": b"\\x20-\\x7e",
    b"punct": b"!-/:-@\\[-`{-~",
    b"space": b" \\t\\n\\r",
    b"upper": b"A-Z",
    b"xdigit": b"0-9a-fA-F",
}


def _literal(byte: bytes) -> bytes:
    return b"\\x%02x" % byte[0]


def _set(pattern: bytes, at: int) -> Optional[Tuple[bytes, int]]:
    """The bracket expression at `at` and the position after it; None when it has no end or names no class."""
    position = at + 1
    negated = pattern[position : position + 1] in (b"!", b"^")
    position += negated
    members: List[bytes] = []
    range_from: Optional[bytes] = None
    first = True
    while first or pattern[position : position + 1] != b"]":
        first = False
        byte = pattern[position : position + 1]
        if not byte:
            return None
        following = pattern[position + 1 : position + 2]
        if byte == b"-" and range_from is not None and following not in (b"", b"]"):
            position += 1
            if following == b"\\":
                position += 1
            last = pattern[position : position + 1]
            if not last:
                return None
            if range_from <= last:
                members.append(_literal(range_from) + b"-" + _literal(last))
            range_from = None
            position += 1
        elif byte == b"[" and following == b":":
            close = pattern.find(b"]", position + 2)
            if close < 0:
                return None
            if close == position + 2 or pattern[close - 1 : close] != b":":
                # "[:" without ":]" is a bracket and a colon.
                members.append(_literal(b"["))
                range_from = b"["
                position += 1
                continue
            name = pattern[position + 2 : close - 1]
            if name not in _CLASSES:
                return None
            members.append(_CLASSES[name])
            range_from = None
            position = close + 1
        else:
            if byte == b"\\":
                position += 1
                byte = pattern[position : position + 1]
                if not byte:
                    return None
            members.append(_literal(byte))
            range_from = byte
            position += 1
    inside = b"".join(members)
    # A set never takes a slash.
    if not negated:
        return (b"(?!/)[" + inside + b"]" if inside else b"(?!)"), position + 1
    return b"(?!/)[^" + inside + b"]", position + 1


def _expression(pattern: bytes, plain: bool) -> Optional[bytes]:
    """A regular expression for a glob; None: malformed, matches nothing."""
    out: List[bytes] = []
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"*":
            end = at
            while pattern[end : end + 1] == b"*":
                end += 1
            begins = at == 0 or pattern[at - 1 : at] == b"/"
            rest = pattern[end:]
            ends = not rest or rest.startswith((b"/", b"\\/"))
            if plain or end - at < 2 or not (begins and ends):
                out.append(b"[^/]*")
                at = end
            elif rest.startswith(b"/"):
                out.append(b"(?:.*/)?")
                at = end + 1
            else:
                out.append(b".*")
                at = end
        elif byte == b"?":
            out.append(b"[^/]")
            at += 1
        elif byte == b"[":
            found = _set(pattern, at)
            if found is None:
                return None
            out.append(found[0])
            at = found[1]
        else:
            if byte == b"\\":
                at += 1
                byte = pattern[at : at + 1]
                if not byte:
                    return None
            out.append(_literal(byte))
            at += 1
    return b"".join(out)


class _Rule:
    __slots__ = ("expression", "folders_only", "name_only", "negated")

    def __init__(self, line: bytes) -> None:
        self.negated = line.startswith(b"!")
        if self.negated:
            line = line[1:]
        self.folders_only = line.endswith(b"/")
        if self.folders_only:
            line = line[:-1]
        self.name_only = b"/" not in line
        if not self.name_only and line.startswith(b"/"):
            line = line[1:]
        # What stands before the first wildcard is compared as it is. To git the rest then begins a pattern of its
        # own, so that in "a**/b" the stars cross slashes; so they do here.
        plain = next((i for i in range(len(line)) if line[i : i + 1] in b"*?[\\"), len(line))
        rest = _expression(line[plain:], self.name_only)
        self.expression: Optional[Pattern[bytes]] = None
        if rest is not None:
            literal = b"".join(_literal(line[i : i + 1]) for i in range(plain))
            self.expression = re.compile(literal + rest, re.DOTALL)

    def matches(self, path: bytes, name: bytes) -> bool:
        text = name if self.name_only else path
        return self.expression is not None and self.expression.fullmatch(text) is not None


def _without_trailing_blanks(line: bytes) -> bytes:
    end, at = 0, 0
    while at < len(line):
        if line[at : at + 1] != b" ":
            if line[at : at + 1] == b"\\" and at + 1 < len(line):
                at += 1
            end = at + 1
        at += 1
    return line[:end]


class IgnoreFile:
    """The patterns of one ignore file."""

    def __init__(self, text: bytes) -> None:
        self._rules: List[_Rule] = []
        if text.startswith(b"\xef\xbb\xbf"):
            text = text[3:]
        for line in text.split(b"\n"):
            if line.endswith(b"\r"):
                line = line[:-1]
            line = line.split(b"\0")[0]
            if line.startswith(b"#"):
                continue
            line = _without_trailing_blanks(line)
            if line:
                self._rules.append(_Rule(line))
        self._rules.reverse()

    def check(self, path: bytes, is_folder: bool) -> Optional[bool]:
        """What the last pattern that matches says: left out or kept. None: no pattern matches."""
        name = path.rpartition(b"/")[2]
        for rule in self._rules:
            if (is_folder or not rule.folders_only) and rule.matches(path, name):
                return not rule.negated
        return None
