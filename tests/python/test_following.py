"""Following and waiting while the server goes away and comes back."""

import io
import os
import signal
import threading
import time

import pytest
import slipway as package
from support.processes import kill, marked_with, wait_until

COUNT = "i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); sleep 0.01; done"


class Following:
    """run.follow in a thread of its own."""

    def __init__(self, run):
        self.text = io.StringIO()
        self.error = None
        self.thread = threading.Thread(target=self._follow, args=(run,), daemon=True)
        self.thread.start()

    def _follow(self, run):
        try:
            run.follow(file=self.text, timeout=90)
        except BaseException as error:
            self.error = error

    def finish(self):
        self.thread.join(100)
        assert not self.thread.is_alive() and self.error is None, self.error
        return self.text.getvalue()


def lines_of(text):
    return [line for line in text.splitlines() if line.startswith("line ")]


@pytest.mark.parametrize("how", ["killed", "told to stop"])
def test_follow_goes_on_when_the_server_is_restarted(slipway, ws, how):
    run = ws.submit(command=COUNT, source=None)
    following = Following(run)
    wait_until(lambda: "line 20\n" in following.text.getvalue(), 30, "nothing was shown")
    if how == "killed":
        slipway.kill_server()
    else:
        slipway.down("--leave")
    time.sleep(0.3)
    slipway.again()
    text = following.finish()
    assert lines_of(text) == [f"line {i}" for i in range(400)]
    assert "the server does not answer; the run goes on" in text or how == "told to stop"
    assert run.state == "Completed"


def test_wait_goes_on_when_the_server_comes_back_on_another_port(slipway, ws):
    run = ws.submit(command="sleep 2", source=None)
    slipway.wait_for(run.id, "Running")
    ended = []
    waiter = threading.Thread(target=lambda: ended.append(run.wait(timeout=90)), daemon=True)
    waiter.start()
    slipway.kill_server()
    slipway.up()
    # The agents look for the server where it was: it is put back there before the run can be reported.
    waiter.join(100)
    assert ended and ended[0].state == "Completed"


def test_server_away_for_a_moment_fails_no_request(slipway, ws):
    ws.runs()
    slipway.kill_server()
    back = threading.Timer(0.5, slipway.again)
    back.start()
    assert ws.runs() == []
    back.join()


def test_log_pieces_are_bytes_of_the_log_from_any_place(ws):
    run = ws.submit(command="printf 'a\\377b'; sleep 0.2; printf 'c'", source=None)
    pieces = list(run.follow_log())
    assert b"".join(piece.content for piece in pieces) == b"a\xffbc"
    assert b"".join(piece.content for piece in run.follow_log(start=2)) == b"bc"
    assert run.logs() == "a\ufffdbc" and run.read_log(start=3) == b"c" and run.read_log(start=4) == b""
    run.wait(timeout=60)


def test_characters_cut_between_pieces_are_shown_whole(ws):
    shown = io.StringIO()
    ws.submit(command="printf '\\303'; sleep 0.3; printf '\\274\\n'", source=None).follow(
        file=shown, phases=False, timeout=60
    )
    assert shown.getvalue() == "ü\n"


def test_run_that_is_tried_again_shows_both_attempts(stopped):
    stopped.up(env={"SLIPWAY_HEARTBEAT": "200ms", "SLIPWAY_SILENCE": "1500ms", "SLIPWAY_GRACE": "2s"})
    ws = package.workspace(home=str(stopped.home), folder=str(stopped.folder))
    run = ws.submit(
        command='echo attempt $SLIPWAY_ATTEMPT; [ "$SLIPWAY_ATTEMPT" = 2 ] || sleep 100', source=None
    )
    following = Following(run)
    wait_until(lambda: "attempt 1\n" in following.text.getvalue(), 60, "nothing was shown")
    agent = stopped.agent_pid(run.refresh().document["nodes"][0])
    os.kill(agent, signal.SIGSTOP)
    try:
        text = following.finish()
    finally:
        kill(agent, signal.SIGCONT)
    assert text.index("attempt 1\n") < text.index("attempt 2\n")
    wait_until(lambda: len(marked_with(run.id)) == 0, 15, "the fenced attempt lives on")
