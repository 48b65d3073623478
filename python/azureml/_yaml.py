"""The part of YAML that conda files and run configurations are written in.

PyYAML reads where it is installed; without it this module reads block mappings and lists, flow lists and mappings of
scalars, quoted and literal text, and says which line it cannot read. Writing is always done here.
"""

import json
import re

from azureml.exceptions import UserErrorException

_NUMBER = re.compile(r"^[-+]?(\d+|\d+\.\d*|\.\d+)([eE][-+]?\d+)?$")
_PLAIN = re.compile(r"^[A-Za-z0-9_./=<>][^:#\n{}\[\],&*!|>'\"%@`]*$")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def load(text, title="the file"):
    try:
        import yaml
    except ImportError:
        return _Reader(text, title).document()
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1} of {title}" if mark else title
        problem = getattr(error, "problem", error)
        raise UserErrorException(f"{where} is not YAML: {problem}") from None


class _Reader:
    def __init__(self, text, title):
        self.title = title
        self.raw = text.splitlines()
        self.lines = []  # (indent, text, line number)
        for number, line in enumerate(self.raw, 1):
            body = line.rstrip()
            if body.strip() and not body.lstrip().startswith("#") and body not in ("---", "..."):
                self.lines.append((len(body) - len(body.lstrip()), body.lstrip(), number))
        self.at = 0

    def fail(self, number):
        raise UserErrorException(
            f"line {number} of {self.title} cannot be read: '{self.raw[number - 1].strip()}'; install PyYAML if it is "
            "valid YAML"
        )

    def document(self):
        if not self.lines:
            return None
        value = self.block(self.lines[0][0])
        if self.at < len(self.lines):
            self.fail(self.lines[self.at][2])
        return value

    def block(self, indent):
        is_list = self.lines[self.at][1].startswith("- ") or self.lines[self.at][1] == "-"
        return self.sequence(indent) if is_list else self.mapping(indent)

    def sequence(self, indent):
        found = []
        while self.at < len(self.lines):
            depth, text, number = self.lines[self.at]
            if depth != indent or not (text == "-" or text.startswith("- ")):
                break
            rest = text[1:].lstrip()
            inner = depth + len(text) - len(rest)
            if not rest:
                self.at += 1
                found.append(self.nested(indent))
            elif self.key_of(rest):
                self.lines[self.at] = (inner, rest, number)
                found.append(self.mapping(inner))
            else:
                self.at += 1
                found.append(self.scalar(rest, number))
        return found

    def mapping(self, indent):
        found = {}
        while self.at < len(self.lines):
            depth, text, number = self.lines[self.at]
            if depth != indent or text.startswith("- "):
                break
            split = self.key_of(text)
            if not split:
                self.fail(number)
            key, rest = split
            self.at += 1
            if rest in ("|", "|-", ">", ">-"):
                found[key] = self.literal(number, rest)
            elif rest:
                found[key] = self.scalar(rest, number)
            else:
                found[key] = self.nested(indent, lists_too=True)
        if self.at < len(self.lines) and self.lines[self.at][0] > indent:
            self.fail(self.lines[self.at][2])
        return found

    def nested(self, indent, lists_too=False):
        if self.at >= len(self.lines):
            return None
        depth, text, _ = self.lines[self.at]
        if depth > indent or (lists_too and depth == indent and (text == "-" or text.startswith("- "))):
            return self.block(depth)
        return None

    def literal(self, number, style):
        rows, indent = [], None
        for line in self.raw[number:]:
            depth = len(line) - len(line.lstrip())
            if line.strip():
                indent = depth if indent is None else indent
                if depth < indent or indent == 0:
                    break
            rows.append(line[indent or 0 :])
        taken = number + len(rows)
        while self.at < len(self.lines) and self.lines[self.at][2] <= taken:
            self.at += 1
        text = ("\n" if style[0] == "|" else " ").join(rows).rstrip("\n ")
        return text if style.endswith("-") else text + "\n"

    def key_of(self, text):
        match = re.match(r"""^("[^"]*"|'[^']*'|[^\s"'\[\]{}#][^#]*?)\s*:(\s+(.*))?$""", text)
        if not match:
            return None
        rest = (match.group(3) or "").strip()
        return match.group(1).strip("\"'"), "" if rest.startswith("#") else rest

    def scalar(self, text, number):
        text = text if text[:1] in "\"'" else re.sub(r"\s+#.*$", "", text).strip()
        if text[:1] in "[{":
            return self.flow(text, number)
        if text[:1] == '"':
            try:
                return json.loads(re.sub(r'("(?:[^"\\]|\\.)*")\s*(#.*)?$', r"\1", text))
            except ValueError:
                self.fail(number)
        if text[:1] == "'":
            match = re.match(r"^'((?:[^']|'')*)'\s*(#.*)?$", text)
            return match.group(1).replace("''", "'") if match else self.fail(number)
        if text[:1] in "&*!|>%@`":
            self.fail(number)
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if _NUMBER.match(text):
            return int(text) if re.match(r"^[-+]?\d+$", text) else float(text)
        return text

    def flow(self, text, number):
        close = {"[": "]", "{": "}"}[text[0]]
        if not text.endswith(close):
            self.fail(number)
        parts = [
            part.strip()
            for part in re.split(r""",(?=(?:[^"']|"[^"]*"|'[^']*')*$)""", text[1:-1])
            if part.strip()
        ]
        if text[0] == "[":
            return [self.scalar(part, number) for part in parts]
        pairs = [self.key_of(part) or self.fail(number) for part in parts]
        return {key: self.scalar(rest, number) if rest else None for key, rest in pairs}


def dump(value, indent=0):
    """Block style for what has members, JSON's quotes for text that would be read as something else."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        rows = []
        for key, item in value.items():
            if isinstance(item, (dict, list, tuple)) and item:
                rows.append(
                    f"{pad}{key}:\n{dump(item, indent if isinstance(item, (list, tuple)) else indent + 2)}"
                )
            else:
                rows.append(f"{pad}{key}: {_inline(item)}\n")
        return "".join(rows)
    if isinstance(value, (list, tuple)) and value:
        rows = []
        for item in value:
            if isinstance(item, dict) and item:
                rows.append(f"{pad}- {dump(item, indent + 2).lstrip()}")
            else:
                rows.append(f"{pad}- {_inline(item)}\n")
        return "".join(rows)
    return pad + _inline(value) + "\n"


def _inline(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value)
    text = str(value)
    if _PLAIN.match(text) and text == text.strip() and text.lower() not in _WORDS and not _NUMBER.match(text):
        return text
    return json.dumps(text)
