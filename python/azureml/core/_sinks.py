"""Where what a run logs goes: to the job's own socket, over HTTP, or to the screen."""

import os
import time


def save_plot(plot, path):
    """A pyplot module, a figure, or an axes, as a PNG."""
    figure = getattr(plot, "figure", None) if hasattr(plot, "get_figure") else plot
    (figure or plot).savefig(path, format="png")


def image_name(name):
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    return f"{safe}_{int(time.time() * 1000)}"


class JobSink:
    """Inside a job: the supervisor's socket, by the package `slipway`."""

    def number(self, name, value, step):
        import slipway

        slipway.log({name: value}, step=step)

    def value(self, name, kind, value, step):
        import slipway

        slipway.log_value(name, kind, value, step)

    def image(self, name, path, plot):
        import slipway

        picture = path if plot is None else (plot.gcf() if hasattr(plot, "gcf") else plot)
        slipway.log_image(name, picture)

    def flush(self):
        import slipway

        slipway.flush()


class HttpSink:
    """From outside: each entry one request, in order."""

    def __init__(self, run):
        self.run = run

    def _send(self, entry):
        from azureml._service import translated

        run = self.run._slipway_run
        entry["time"] = int(time.time() * 1e6)
        with translated():
            run.transport.create(run.path("/metrics"), {"points": [entry]})

    def number(self, name, value, step):
        from slipway._metrics import number_for_json

        self._send({"name": name, "value": number_for_json(value), "step": int(step or 0)})

    def value(self, name, kind, value, step):
        self._send({"name": name, "kind": kind, "value": value, "step": int(step or 0)})

    def image(self, name, path, plot):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            if plot is not None:
                path = os.path.join(folder, "plot.png")
                save_plot(plot, path)
            kept = image_name(name) + (os.path.splitext(path)[1] or ".png")
            self.run.upload_file(kept, path)
        self.value(name, "image", {"path": kept}, None)

    def flush(self):
        pass


class PrintSink:
    """Offline: what would have been logged."""

    def number(self, name, value, step):
        shown = int(value) if float(value).is_integer() else value
        print(f"Offline run, metric {name}:\n{shown}")

    def value(self, name, kind, value, step):
        print(f"Offline run, {kind.replace('_', ' ')} {name}:\n{value}")

    def image(self, name, path, plot):
        print(f"Offline run, image {name}:\n{path or plot}")

    def flush(self):
        pass
