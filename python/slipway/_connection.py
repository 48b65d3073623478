"""Where the server is, which workspace is meant and what token to show.

Looked for in this order, as the command line does; the first that names a server wins:
  1. what the caller gives
  2. SLIPWAY_URL
  3. .slipway/config.json or config.json, in the working folder and those above it
  4. the home's server.json, which a running local server writes
A token goes only to the server it was given for: a config.json that lies in someone's repository cannot have
the home's token, or SLIPWAY_TOKEN, sent to an address of its own.
"""

import contextlib
import json
import os
import re
from typing import Any, Dict, Optional, Tuple
from urllib.parse import quote, urlsplit

from .errors import InvalidArgumentError, UnreachableError

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")


class Connection:
    """A value: copies of it may be used anywhere."""

    def __init__(
        self, url: str, token: str, workspace: str, ca_file: str = "", home: str = "", from_home: bool = False
    ) -> None:
        self.url = url
        self.token = token
        self.workspace = workspace
        self.ca_file = ca_file
        self.home = home
        self.from_home = from_home  # the address is the home's server.json's

    def __repr__(self) -> str:
        return f"Connection({self.url!r}, workspace={self.workspace!r})"

    def in_workspace(self, path: str = "") -> str:
        return "/api/v1/workspaces/{}{}".format(quote(self.workspace, safe=""), path)

    def with_workspace(self, workspace: str) -> "Connection":
        check_name(workspace, "a workspace")
        return Connection(self.url, self.token, workspace, self.ca_file, self.home, self.from_home)

    def look_again(self) -> bool:
        """For a server that came back on another port. True when the address is another one."""
        url = _url_of_home(self.home) if self.from_home else ""
        if not url or url == self.url:
            return False
        self.url = url
        return True


def check_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not _NAME.match(name) or len(name) > 64:
        raise InvalidArgumentError(
            f"{name!r} is not a name for {what}",
            next="use letters, digits, '.', '_' and '-', beginning with a letter or digit; 64 at most",
        )


def default_home() -> str:
    home = os.environ.get("SLIPWAY_HOME", "")
    return home or os.path.join(os.path.expanduser("~"), ".slipway")


def find_connection(
    workspace: Optional[str] = None,
    url: Optional[str] = None,
    token: Optional[str] = None,
    token_file: Optional[str] = None,
    ca_file: Optional[str] = None,
    home: Optional[str] = None,
    folder: Optional[str] = None,
) -> Connection:
    """Contacts nothing. `folder` is where the search for config.json begins."""
    home = os.path.expanduser(home) if home else default_home()
    found_token = token or (_read_token(os.path.expanduser(token_file)) if token_file else "")
    found_workspace = workspace or os.environ.get("SLIPWAY_WORKSPACE", "")
    home_url = _url_of_home(home)
    found_url = (url or os.environ.get("SLIPWAY_URL", "")).rstrip("/")
    from_home = False
    if found_url:
        found_token = found_token or os.environ.get("SLIPWAY_TOKEN", "")
    else:
        config, config_folder = _find_config(folder or os.getcwd())
        if config:
            found_url = str(config["url"]).rstrip("/")
            found_workspace = found_workspace or str(config.get("workspace", ""))
            if not found_token and config.get("token_file"):
                found_token = _token_of_config(config_folder, str(config["token_file"]))
        elif home_url:
            found_url = home_url
            from_home = True
            found_token = found_token or os.environ.get("SLIPWAY_TOKEN", "")
    if not found_url:
        raise UnreachableError(
            f"no Slipway server runs for {home}",
            next="start one: slipway up --detach\nor name one: slipway.workspace(url=...), or SLIPWAY_URL",
        )
    _check_url(found_url)
    if not found_token and home_url and _is_same_server(found_url, home_url):
        # With --auth none there may be none.
        with contextlib.suppress(InvalidArgumentError):
            found_token = _read_token(os.path.join(home, "token"))
    if found_workspace:
        check_name(found_workspace, "a workspace")
    ca = ca_file or os.environ.get("SLIPWAY_CA_FILE", "")
    return Connection(found_url, found_token, found_workspace or "default", ca, home, from_home)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise InvalidArgumentError(
            f"{url!r} is not the address of a server", next="write it as http://HOST:PORT"
        )


def _read_token(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"cannot read the token: {error}") from None


def _read_json(path: str) -> Dict[str, Any]:
    """An empty object where there is none, or another program's."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.loads(file.read(64 << 10))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _url_of_home(home: str) -> str:
    return str(_read_json(os.path.join(home, "server.json")).get("url", "")).rstrip("/")


def _find_config(folder: str) -> Tuple[Dict[str, Any], str]:
    folder = os.path.abspath(folder)
    while True:
        for name in (os.path.join(".slipway", "config.json"), "config.json"):
            path = os.path.join(folder, name)
            config = _read_json(path)
            if "url" in config:
                return config, os.path.dirname(path)
        above = os.path.dirname(folder)
        if above == folder:
            return {}, ""
        folder = above


def _token_of_config(folder: str, name: str) -> str:
    if os.path.isabs(name) or ".." in name.split("/"):
        raise InvalidArgumentError(
            f"the token_file of {folder} must be a file below that folder",
            next="name the server and the token yourself: SLIPWAY_URL and SLIPWAY_TOKEN",
        )
    return _read_token(os.path.join(folder, name))


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _is_same_server(url: str, home_url: str) -> bool:
    one, other = urlsplit(url), urlsplit(home_url)
    if (one.scheme, one.netloc) == (other.scheme, other.netloc):
        return True
    return _is_loopback(one.hostname or "") and _is_loopback(other.hostname or "") and one.port == other.port
