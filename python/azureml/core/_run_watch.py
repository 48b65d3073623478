"""wait_for_completion: a run's logs as they come, in the shape people know from the SDK."""

import json
import sys
import threading

from azureml._service import translated
from azureml.core._launchers import process_count
from azureml.core._run_files import DATA_LOG, ENVIRONMENT_LOG, STD_LOG, azure_log_name
from azureml.exceptions import ActivityFailedException, ExperimentExecutionException


class Printer:
    """Prints pieces of several logs; a heading says when another one begins. Used from several threads."""

    def __init__(self, out):
        self.out = out
        self.lock = threading.Lock()
        self.current = None
        self.at_line_start = True

    def heading(self, text):
        self.out.write(f"{'' if self.at_line_start else chr(10)}\n{text}\n{'=' * len(text)}\n\n")
        self.at_line_start = True

    def piece(self, name, text):
        with self.lock:
            if name != self.current:
                self.current = name
                self.heading(f"Streaming {name}")
            self.out.write(text)
            self.out.flush()
            self.at_line_start = text.endswith("\n")

    def line(self, text=""):
        with self.lock:
            self.out.write(("" if self.at_line_start else "\n") + text + "\n")
            self.out.flush()
            self.at_line_start = True


class _View:
    """What slipway's follower tells us: the script's own log and the states."""

    def __init__(self, printer, name):
        self.printer = printer
        self.name = name

    def log(self, text, channel):
        self.printer.piece(self.name, text)

    def contact(self, there):
        if not there:
            self.printer.line("The server does not answer; the run goes on, and so does the wait.")

    def started(self, run):
        pass

    def event(self, event):
        pass

    def ended(self, run):
        pass


class _PreparationLog(threading.Thread):
    """A log that is written before the script starts, followed beside it."""

    def __init__(self, run, name, printer):
        super().__init__(daemon=True)
        self.run_, self.log_name, self.printer = run, name, printer

    def run(self):
        import codecs

        from slipway.errors import SlipwayError

        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            for piece in self.run_.follow_log(self.log_name):
                self.printer.piece(azure_log_name(self.log_name), decoder.decode(piece.content))
        except SlipwayError:
            pass  # there is none of it, or the run's own log says what is wrong


def stream(run, out=None):
    """Prints until the run has ended, across restarts of the server."""
    from slipway import _follow

    printer = Printer(out or sys.stdout)
    slipway_run = run._slipway_run
    ranks = process_count(slipway_run.document.get("job", {}))
    printer.line(f"RunId: {run.id}")
    printer.line(f"Web View: {run.get_portal_url()}")
    others = [_PreparationLog(slipway_run, name, printer) for name in (ENVIRONMENT_LOG, DATA_LOG)]
    for thread in others:
        thread.start()
    try:
        with translated():
            _follow.Follower(slipway_run, _View(printer, azure_log_name(STD_LOG, 0, ranks))).follow()
    except KeyboardInterrupt:
        raise ExperimentExecutionException(
            f"The output of run {run.id} is no longer shown; the run goes on. Look at it at {run.get_portal_url()}"
        ) from None
    for thread in others:
        thread.join(2.0)
    printer.heading("Execution Summary")
    printer.line(f"RunId: {run.id}")
    printer.line(f"Web View: {run.get_portal_url()}")


def wait_for_completion(run, show_output, raise_on_error):
    if show_output:
        stream(run)
    else:
        with translated():
            run._slipway_run.wait(raise_on_failure=False)
    with translated():
        run._slipway_run.refresh()
    details = run.get_details()
    if show_output:
        for warning in details.get("warnings", []):
            print(f"\nWarnings:\n{warning['message']}" if warning.get("message") else "")
        print()
    if raise_on_error and details["status"] == "Failed":
        raise ActivityFailedException(error_details=json.dumps(details["error"], indent=4))
    return details
