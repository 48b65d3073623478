"""The server dies while a dataset is created: the version is there whole or not at all."""

import pytest


@pytest.mark.dev
def test_killed_before_a_version_is_stored(dev):
    folder = dev.folder / "images"
    folder.mkdir()
    (folder / "1.txt").write_text("one")
    dev.up(env={"SLIPWAY_FAILPOINTS": "data.before_version=kill@1"})
    dev.cli("datastore", "add", "images", "--path", folder)
    failed = dev.cli("data", "create", "mnist", "images:**", check=False)
    assert failed.returncode in (10, 12), failed.stderr
    dev.again()
    assert dev.cli_json("data", "list")["items"] == []
    made = dev.cli_json("data", "create", "mnist", "images:**")
    assert (made["version"], made["existed"]) == (1, False)
