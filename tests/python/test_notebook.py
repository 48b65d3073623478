"""The package in a notebook, executed by the real kernel."""

import sys

import nbformat
import pytest
from nbclient import NotebookClient
from support.interpreters import PACKAGES


@pytest.fixture
def executed(slipway, monkeypatch):
    """Executes cells one after the other; gives the outputs of each."""
    monkeypatch.setenv("SLIPWAY_HOME", str(slipway.home))
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    monkeypatch.setenv("IPYTHONDIR", str(slipway.folder / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(slipway.folder / "jupyter"))

    def run(*cells):
        kernel = {"display_name": "Python", "language": "python", "name": "python3"}
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        folder = slipway.folder / "notebook"
        folder.mkdir(exist_ok=True)
        client = NotebookClient(notebook, timeout=90, resources={"metadata": {"path": str(folder)}})
        client.km = client.create_kernel_manager()
        client.km.kernel_spec.argv[0] = sys.executable
        client.execute()
        return [cell.outputs for cell in notebook.cells]

    return run


def test_follow_draws_one_output_in_place(executed):
    outputs = executed(
        "import slipway\nws = slipway.workspace()",
        "lines = 'for i in 1 2 3; do echo line $i; sleep 0.3; done; echo \"<b>bold</b>\"'\n"
        "run = ws.submit(command=lines, source=None)\nrun.follow()",
        "ws.runs()",
        "try:\n    ws.submit(command='exit 3', source=None).follow()\n"
        "except slipway.errors.RunFailedError as error:\n    print(error.run.exit_code)",
    )
    follow = [out for out in outputs[1] if out.output_type == "display_data"]
    assert len(follow) == 1
    html = follow[0].data["text/html"]
    assert "Completed" in html and "line 1\nline 2\nline 3" in html and "Queued → Preparing" in html
    assert "&lt;b&gt;bold&lt;/b&gt;" in html and "<b>bold" not in html
    # The run itself, which the cell ends with, and the list are tables.
    assert outputs[1][-1].data["text/html"].startswith("<table>")
    assert "Completed" in outputs[2][0].data["text/html"]
    assert any(out.get("text") == "3\n" for out in outputs[3])
