"""Scripts that tests run as jobs, kept out of the tests' own lines."""

# send(object or bytes): one datagram to the run's socket.
IN_JOB = """
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def send(message):
    s.sendto(message if isinstance(message, bytes) else json.dumps(message).encode(), os.environ["SLIPWAY_SOCKET"])
"""

# call(method, path, body): the status of a request made with the run's own token.
WITH_TOKEN = """
import json, os, urllib.error, urllib.request
def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["SLIPWAY_URL"] + "/api/v1/workspaces/default" + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["SLIPWAY_TOKEN"], "Content-Type": "application/json"},
    )
    try:
        return urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code
me = os.environ["SLIPWAY_RUN_ID"]
"""


def until(gate):
    """A line for sh that ends once there is that file."""
    return f"while [ ! -e {gate} ]; do sleep 0.05; done"
