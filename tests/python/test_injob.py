"""The package inside a job, on the oldest and the newest Python: what is logged arrives, whatever happens around it."""

import os
import signal
import socket
import subprocess

import pytest
from support.interpreters import PACKAGES, interpreters
from support.processes import wait_until


def test_metrics_tags_and_files_arrive(job):
    run = job(
        """
import os
import slipway
assert slipway.in_job()
for step in range(5):
    slipway.log(loss=1 / (step + 1), accuracy=step, step=step)
slipway.log({"val/loss": 0.25, "na\\u00efve \\"q\\"": True}, step=9)
slipway.log(counted=1)
slipway.log(counted=2)
slipway.log(odd=float("nan"), step=1)
slipway.log(odd=float("-inf"), step=2)
slipway.log(odd=1e308, step=3)
slipway.log(odd=-10 ** 400, step=4)
slipway.tag(optimizer="adam", layers=3)
os.makedirs("kept", exist_ok=True)
open("kept/note.txt", "w").write("kept")
slipway.keep("kept/note.txt")
me = slipway.current_run()
me.log(from_run=1.5)
assert me.id == os.environ["SLIPWAY_RUN_ID"] and me.rank == 0 and me.node_count == 1 and me.attempt == 1
assert me.refresh().document["state"] == "Running"
"""
    )
    assert run.metrics("loss").values == [1 / (i + 1) for i in range(5)]
    assert run.metrics("accuracy").steps == list(range(5))
    assert run.metrics("val/loss").last == 0.25 and run.metrics('naïve "q"').last == 1
    assert run.metrics("counted").steps == [0, 1] and run.metrics("from_run").last == 1.5
    assert [str(value) for value in run.metrics("odd").values] == ["nan", "-inf", "1e+308", "-inf"]
    assert run.tags == {"optimizer": "adam", "layers": "3"}
    assert run.read("kept/note.txt") == b"kept"
    assert run.warnings == []


def test_texts_rows_tables_charts_and_properties_arrive_in_order(job):
    run = job(
        """
import slipway
slipway.log_text("note", "warm")
slipway.log_row("epochs", loss=0.5, phase="train", step=1)
slipway.log(loss=0.5, step=1)
slipway.log_row("epochs", loss=float("nan"), phase="test", step=2)
slipway.log_table("curve", {"x": [1, 2], "y": [0.5, None]})
slipway.log_chart("matrix", "confusion_matrix", {"schema_type": "confusion_matrix", "data": {"matrix": [[1]]}})
slipway.log_table("long", {"x": list(range(20000)), "text": ["t" * 10] * 20000})  # more than a message holds
slipway.set_properties(data="mnist:2")
me = slipway.current_run()
me.log_text("note", "cold")
me.set_properties({"p": "q"})
me.tag(done=True)
"""
    )
    assert [(v.name, v.value) for v in run.values("note")] == [("note", "warm"), ("note", "cold")]
    first, second = run.values("epochs")
    assert (first.value, first.step) == ({"loss": 0.5, "phase": "train"}, 1)
    assert str(second.value["loss"]) == "nan" and second.step == 2
    assert run.values("curve")[0].value == {"x": [1, 2], "y": [0.5, None]}
    assert run.values("matrix")[0].kind == "confusion_matrix"
    long = [x for piece in run.values("long") for x in piece.value["x"]]
    assert long == list(range(20000))
    assert run.properties == {"data": "mnist:2", "p": "q"} and run.tags == {"done": "True"}
    assert run.warnings == [] and not [f for f in run.files() if "values" in f.path]


def test_what_is_no_number_is_refused_and_nothing_else(job):
    job(
        """
import decimal, fractions
import slipway
class Tensor:
    def __float__(self): return 0.5
slipway.log(a=Tensor(), b=decimal.Decimal("0.5"), c=fractions.Fraction(1, 2), d=1 << 80, step=2.0)
for wrong in ("text", None, [1, 2], {}, object(), 1j):
    try:
        slipway.log(x=wrong)
    except TypeError as error:
        assert "'x'" in str(error), error
    else:
        raise AssertionError(wrong)
for name in ("", "n" * 2000, "a\\nb", "\\udcff"):
    try:
        slipway.log({name: 1})
    except ValueError:
        continue
    raise AssertionError(name)
many = {"metric %d" % i: i for i in range(5000)}
slipway.log(many, step=1)
slipway.log(**{"after": 1})
"""
    )


def test_more_metrics_than_a_message_holds_arrive(job):
    run = job(
        """
import slipway
slipway.log({"metric %d" % i: i for i in range(5000)}, step=4)
"""
    )
    assert len(run.metrics()) == 5000
    point = run.metrics("metric 4999")[0]
    assert (point.step, point.value) == (4, 4999)


def test_hundred_threads_log_without_loss(job):
    run = job(
        """
import threading
import slipway
def work(n):
    for step in range(100):
        slipway.log({"t%d" % n: step}, step=step)
threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
for t in threads: t.start()
for t in threads: t.join()
"""
    )
    assert all(run.metrics(f"t{n}").values == list(range(100)) for n in range(0, 100, 9))
    assert len(run.metrics()) == 100


def test_children_log_after_fork_and_when_spawned(job):
    run = job(
        """
import multiprocessing, os, sys, threading
import slipway
def work(kind, n):
    for step in range(50):
        slipway.log({"%s%d" % (kind, n): step}, step=step)
slipway.log(parent=1, step=0)
stop = threading.Event()
# A thread that logs while the others fork: no lock of its may be inherited.
noise = threading.Thread(target=lambda: [slipway.log(noise=i, step=i) for i in range(2000)])
noise.start()
children = [multiprocessing.get_context("fork").Process(target=work, args=("forked", n)) for n in range(4)]
for c in children: c.start()
pid = os.fork()
if pid == 0:
    work("bare", 0)
    os._exit(0)
for c in children: c.join()
os.waitpid(pid, 0)
noise.join()
assert all(c.exitcode == 0 for c in children)
slipway.log(parent=2, step=1)
"""
    )
    for name in ("forked0", "forked1", "forked2", "forked3", "bare0"):
        assert run.metrics(name).values == list(range(50)), name
    assert run.metrics("parent").values == [1, 2] and len(run.metrics("noise")) == 2000


def with_stalled_supervisor(slipway, run, made):
    """Stops the supervisor of a job that said "ready", lets the job go, and waits for the file it makes."""
    wait_until(lambda: "ready" in run.logs(), 30, "the job did not begin")
    supervisor = slipway.supervisor_pid(run.id)
    work = slipway.attempt_folder(run.id) / "work"
    os.kill(supervisor, signal.SIGSTOP)
    try:
        (work / "go").touch()
        wait_until(lambda: (work / made).exists(), 30, "logging waited for the supervisor")
    finally:
        os.kill(supervisor, signal.SIGCONT)


def test_supervisor_that_stalls_delays_no_training_and_nothing_is_lost(slipway, job):
    run = job(
        """
import os, sys, time
import slipway
slipway.log(before=1, step=0)
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
longest = 0.0
for step in range(20000):
    begin = time.perf_counter()
    slipway.log(loss=step, step=step)
    longest = max(longest, time.perf_counter() - begin)
slipway.log(longest=longest, step=0)
open("done", "w").close()
""",
        wait=False,
    )
    with_stalled_supervisor(slipway, run, "done")  # all 20,000 calls return though nobody takes a message
    run.wait(timeout=60)
    assert run.metrics("loss").values == list(range(20000))


def test_forked_child_hands_its_backlog_over_before_it_ends(slipway, job):
    run = job(
        """
import multiprocessing, os, time
import slipway
slipway.log(before=1, step=0)
def work():
    for step in range(3000):
        slipway.log(child=step, step=step)
    open("logged", "w").close()
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
assert child.exitcode == 0
""",
        wait=False,
    )
    with_stalled_supervisor(slipway, run, "logged")
    run.wait(timeout=60)
    assert run.metrics("child").values == list(range(3000))


def test_server_that_is_gone_slows_nothing_and_gets_everything_later(slipway, job):
    run = job(
        """
import os, time
import slipway
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
for step in range(5000):
    slipway.log(loss=step, step=step)
open("done", "w").close()
""",
        wait=False,
    )
    wait_until(lambda: "ready" in run.logs(), 30, "the job did not begin")
    work = slipway.attempt_folder(run.id) / "work"
    slipway.kill_server()
    (work / "go").touch()
    wait_until(lambda: (work / "done").exists(), 30, "the job did not go on")
    slipway.again()
    run.wait(timeout=60)
    assert run.metrics("loss").values == list(range(5000))


def test_pictures_of_every_kind_are_kept(job):
    run = job(
        """
import slipway
slipway.log_image("grey", [[0, 128], [255, 3]])
slipway.log_image("colour", [[[1.0, 0.0, 0.5]] * 3] * 2, step=3)
class Figure:
    def savefig(self, out, format): out.write(b"figure")
class Picture:
    mode = "L"
    def save(self, out, format): out.write(b"picture")
slipway.log_image("a/b fig", Figure())
slipway.log_image("pil", Picture())
open("outputs/own.jpg", "wb").write(b"jpg")
slipway.log_image("own", "outputs/own.jpg")
for wrong in (3, [], [[[1, 2]]], object()):
    try:
        slipway.log_image("wrong", wrong)
    except TypeError:
        continue
    raise AssertionError(wrong)
"""
    )
    names = {f.path for f in run.files()}
    images = {"grey.png", "colour-3.png", "a_b_fig.png", "pil.png", "own.jpg"}
    assert {"outputs/images/" + name for name in images} <= names
    assert run.read("outputs/images/grey.png").startswith(b"\x89PNG")
    assert {v.name: v.value["path"] for v in run.values()}["a/b fig"] == "outputs/images/a_b_fig.png"
    assert run.read("outputs/images/own.jpg") == b"jpg"


@pytest.fixture
def outside(python, tmp_path):
    """Runs a script outside any job."""

    def run(script, **variables):
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGES), **variables}
        return subprocess.run(
            [python, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )

    return run


def test_outside_a_job_it_prints_what_would_be_logged(outside):
    done = outside(
        "import slipway; slipway.log(loss=0.5, step=3); slipway.tag(a=1); print(slipway.current_run());"
        "slipway.log_image('x', [[1]]); print(slipway.flush(), slipway.in_job())"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "slipway: not in a job; would log loss=0.5 at step 3",
        "slipway: not in a job; would set the tags a=1",
        "None",
        "slipway: not in a job; would log x = {'path': 'outputs/images/x.png'}",
        "True False",
    ]


def test_supervisor_that_is_gone_fails_no_training(outside, tmp_path):
    done = outside(
        "import slipway\nfor i in range(10000): slipway.log(loss=i, step=i)\nprint('trained')",
        SLIPWAY_SOCKET=str(tmp_path / "gone.sock"),
        SLIPWAY_RUN_ID="x",
    )
    assert (done.returncode, done.stdout) == (0, "trained\n"), done.stderr
    assert "10000 messages were not taken by the run's supervisor" in done.stderr


def test_backlog_is_bounded_and_says_what_it_dropped(outside, tmp_path):
    done = outside(
        "import slipway, slipway._sender as s\ns.BACKLOG_BYTES = 10000\n"
        "for i in range(1000): slipway.log(loss=i, step=i)\nprint(slipway.flush(0.1))",
        SLIPWAY_SOCKET=str(tmp_path / "gone.sock"),
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
    assert "1000 messages were not taken" in done.stderr


def test_a_process_that_has_logged_ends_well_on_every_python(tmp_path):
    taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    taken.bind(str(tmp_path / "run.sock"))
    environment = {"PYTHONPATH": str(PACKAGES), "SLIPWAY_SOCKET": str(tmp_path / "run.sock")}
    script = "import slipway; slipway.log(loss=1, step=1)"
    codes = {
        version: subprocess.run([path, "-W", "error", "-c", script], env=environment, timeout=60).returncode
        for version, path in interpreters().items()
    }
    assert len(codes) > 1 and set(codes.values()) == {0}, codes
    taken.close()


def test_a_job_imports_only_what_it_needs(outside):
    heavy = ["http.client", "ssl", "email", "asyncio", "json", "threading", "slipway._workspace"]
    done = outside(
        f"import sys, slipway\nslipway.log(a=1, step=1)\nprint([m for m in {heavy} if m in sys.modules])"
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
