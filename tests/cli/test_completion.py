"""The completion scripts, loaded into the shells they are for."""

import os
import subprocess

import pytest

ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= RPS1=; autoload -U compinit; compinit -u -D; bindkey "^I" complete-word'
zpty -w shell 'source <(slipway completion zsh); print LOA""DED'
wait_for() {  # until the text is there: a terminal sends no events
  local piece tries=0
  while [[ $seen != *"$1"* ]] && (( tries++ < 400 )); do
    zpty -r -t shell piece && seen+=$piece || sleep 0.02
  done
}
seen=; wait_for LOADED
seen=; zpty -w -n shell "$1"$'\t'; wait_for "$2"
print -r -- "$seen"
zpty -d shell
"""


def in_shell(slipway, *command, stdin=None):
    for_shell = {**slipway.env, "SLIPWAY_HOME": str(slipway.home), "TERM": "dumb"}
    for_shell["PATH"] = f"{slipway.binary.parent}:{os.environ['PATH']}"
    return subprocess.run(
        command, env=for_shell, input=stdin, capture_output=True, text=True, timeout=30, cwd=slipway.folder
    )


def bash(slipway, *words):
    quoted = " ".join(f"'{word}'" for word in ("slipway", *words))
    line = f"""
source <(slipway completion bash)
COMP_WORDS=({quoted}); COMP_CWORD={len(words)}
_slipway
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return in_shell(slipway, "bash", "-c", line).stdout.split()


def fish(slipway, typed):
    result = in_shell(slipway, "fish", "-c", f"slipway completion fish | source; complete -C '{typed}'")
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


@pytest.fixture
def run(slipway):
    run = slipway.submit("true", experiment="completing")
    slipway.wait(run)
    return run


def test_bash(slipway, run):
    assert bash(slipway, "run", "sh") == ["show"]
    assert bash(slipway, "run", "show", "compl") == [run]
    assert bash(slipway, "run", "list", "--state", "=", "Comp") == ["Completed"]
    assert bash(slipway, "run", "list", "--sta") == ["--state"]
    assert bash(slipway, "submit", "--compute", "") == ["local"]
    (slipway.folder / "job.yaml").touch()
    assert bash(slipway, "submit", "jo") == ["job.yaml"]


def test_fish(slipway, run):
    assert fish(slipway, "slipway run sh") == ["show"]
    assert fish(slipway, "slipway run show compl") == [run]
    assert fish(slipway, "slipway submit --comp") == ["--compute"]
    assert fish(slipway, "slipway run list --state Comp") == ["Completed"]


@pytest.mark.parametrize(
    "typed, whole", [("slipway run sh", "run show"), ("slipway submit --exp", "--experiment")]
)
def test_zsh(slipway, typed, whole):
    result = in_shell(slipway, "zsh", "-f", "-s", typed, whole, stdin=ZSH)
    assert whole in result.stdout, result


def test_zsh_completes_runs(slipway, run):
    result = in_shell(slipway, "zsh", "-f", "-s", "slipway run show compl", run, stdin=ZSH)
    assert run in result.stdout, result


def test_it_is_quiet_without_a_server(stopped):
    assert bash(stopped, "run", "show", "") == ["latest"]
    result = stopped.cli("__complete", "submit", "--compute", "")
    assert result.stdout == "" and result.stderr == ""
