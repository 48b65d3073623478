"""Where what a run logs goes: to the job's own socket, over HTTP, or to the screen."""


class SlipwaySink:
    """To a run: `target` is the package `slipway` itself inside the job, or a run of it from outside."""

    def __init__(self, target):
        self._target = target

    def number(self, name, value, step):
        self._target().log({name: value}, step=step)

    def text(self, name, value, step):
        self._target().log_text(name, value, step)

    def row(self, name, columns):
        self._target().log_row(name, **columns)

    def table(self, name, columns):
        self._target().log_table(name, columns)

    def chart(self, name, kind, document):
        self._target().log_chart(name, kind, document)

    def image(self, name, path, plot):
        self._target().log_image(name, path if plot is None else plot)

    def flush(self, seconds=None):
        self._target().flush(seconds)


class JobSink(SlipwaySink):
    """Microseconds, no network: the supervisor on this machine takes it."""

    def __init__(self):
        import slipway
        from slipway import _injob

        super().__init__(lambda: slipway)
        self.number = _injob.log_number


class PrintSink:
    """Offline: what would have been logged."""

    def number(self, name, value, step):
        shown = int(value) if float(value).is_integer() else value
        print(f"Offline run, metric {name}:\n{shown}")

    def text(self, name, value, step):
        print(f"Offline run, metric {name}:\n{value}")

    def row(self, name, columns):
        print(f"Offline run, row {name}:\n{columns}")

    def table(self, name, columns):
        print(f"Offline run, table {name}:\n{columns}")

    def chart(self, name, kind, document):
        print(f"Offline run, {kind.replace('_', ' ')} {name}:\n{document}")

    def image(self, name, path, plot):
        print(f"Offline run, image {name}:\n{path or plot}")

    def flush(self, seconds=None):
        """All is printed at once."""
