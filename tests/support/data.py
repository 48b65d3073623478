"""Datastores and datasets for tests that are about something else than making them."""

from .server import W


def add_datastore(slipway, name, folder=None, url=None, credentials=None):
    body = {"name": name, **({"path": str(folder)} if folder else {"url": url})}
    if credentials:
        body["credentials"] = credentials
    return slipway.api("POST", f"{W}/datastores", body)


def create(slipway, name, *paths):
    body = {"name": name, "definition": {"kind": "file", "paths": [str(path) for path in paths]}}
    return slipway.api("POST", f"{W}/data", body)


def show(slipway, name):
    return slipway.api("GET", f"{W}/data/{name}")


def listed(slipway, datastore, prefix=""):
    return [item["path"] for item in slipway.items(f"{W}/datastores/{datastore}/files", prefix=prefix)]
