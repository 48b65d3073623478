"""What README and docs say of the command line, held against the program itself."""

import functools
import os
import re
import subprocess
import sys

import pytest
from support.server import RELEASE, ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# `slipway` and a command, up to the end of the code, of the line, or of what a shell would pass on to it.
CALL = re.compile(r"(?<![\w/.-])slipway ([a-z][a-z-]*(?: (?!-- )[^`\n|;&#]*)?)")


@functools.cache
def help_of(path):
    answer = subprocess.run([RELEASE, *path, "--help"], capture_output=True, text=True, timeout=60)
    return answer.stdout if answer.returncode == 0 else None


@functools.cache
def is_command(path):
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", help_of(path[:-1]), re.MULTILINE)
    return listed is not None and re.search(rf"^  {path[-1]} ", listed[1], re.MULTILINE) is not None


def command_of(words):
    """The longest beginning of these words that is a command."""
    path = ()
    for word in words:
        if not re.fullmatch(r"[a-z][a-z-]*", word) or not is_command((*path, word)):
            break
        path = (*path, word)
    return path


def test_table_of_commands_is_what_the_program_says():
    subprocess.run(
        [sys.executable, ROOT / "scripts" / "command-table", "--check"],
        env={**os.environ, "SLIPWAY_PROGRAM": str(RELEASE)},
        check=True,
        timeout=120,
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.stem)
def test_documented_options_are_options_of_their_command(document):
    unknown = []
    for call in CALL.findall(document.read_text()):
        path = command_of(call.split())
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", call.partition(" -- ")[0]) if path else []:
            if not re.search(rf"(?<![\w-]){option}(?![\w-])", help_of(path)):
                unknown.append(f"slipway {' '.join(path)}: {option}")
    assert unknown == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.stem)
def test_links_lead_to_files(document):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text())
    assert [name for name in targets if "://" not in name and not (document.parent / name).exists()] == []
