"""The widget: one output that is drawn anew while the run goes on, and stands still when it has ended."""

import sys
import threading
import time

from azureml._service import translated
from azureml.widgets import _page

_EVERY = 0.5
_TAIL = 16 << 10


class RunDetails:
    """`RunDetails(run).show()`. In a notebook it returns at once and the output goes on by itself."""

    def __init__(self, run_instance):
        self._run = run_instance
        self._handle = None
        self._thread = None
        self._stopped = threading.Event()
        self._last = None

    def show(self, render_lib=None, widget_settings=None):
        if not _in_notebook():
            return self._show_text()
        from IPython.display import HTML, display

        self._html = HTML
        self._handle = display(HTML(_page.page(self._look())), display_id=True)
        self._stopped.clear()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()
        return None

    def get_widget_data(self, widget_settings=None):
        """What the widget shows, as a dictionary."""
        return self._look()

    def _look(self):
        run = self._run._slipway_run
        with translated():
            record = run.refresh().document
            events = list(run.events())
            size = max([log.size for log in run.log_files() if log.name == "std_log.txt"] or [0])
            log = run.read_log(start=max(0, size - _TAIL)).decode("utf-8", "replace") if size else ""
            points = run.transport.items(run.path("/metrics/points"), {"limit": 10000})
        return {
            "record": record,
            "events": events,
            "log": log,
            "metrics": _page.series(points),
            "address": self._run.get_portal_url(),
        }

    def _go_on(self):
        from azureml.exceptions import AzureMLException

        while not self._stopped.wait(_EVERY):
            try:
                data = self._look()
            except AzureMLException:
                continue  # the server is away for the moment
            text = _page.page(data)
            if text != self._last:
                self._last = text
                self._handle.update(self._html(text))
            if data["record"]["state"] in _page.FINAL:
                return

    def wait(self, timeout=None):
        """Until the output shows the run's end, or the time is over. Not in the SDK; for notebooks run by programs."""
        if self._thread is not None:
            self._thread.join(timeout)

    def close(self):
        """Stops drawing."""
        self._stopped.set()
        self.wait(5)

    def _show_text(self):
        """A terminal: states as they change, then the last lines and values."""
        seen, data = None, None
        while True:
            data = self._look()
            state = data["record"]["state"]
            if state != seen:
                print(f"{self._run.id} {state}", flush=True)
                seen = state
            if state in _page.FINAL or not sys.stdout.isatty():
                break
            time.sleep(_EVERY)
        print(_page.text(data))


def _in_notebook():
    from slipway import _follow

    return _follow.in_notebook()
