"""Scripts that the ranks of distributed runs are, for any Python 3 without packages."""

# Says who it is, as JSON: the variables of every launcher, and the address of its machine.
WHO = """
import json, os, subprocess
names = [n for n in os.environ if n.startswith(("SLIPWAY_", "OMPI_COMM_", "PET_")) and "TOKEN" not in n]
names += ["RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG"]
names += ["CUDA_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "OMPI_MCA_btl_tcp_if_include"]
found = {name: os.environ[name] for name in names if name in os.environ}
found["addresses"] = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
found["cwd"] = os.getcwd()
print(json.dumps(found), flush=True)
"""

# All ranks meet at MASTER_ADDR:MASTER_PORT; rank 0 counts them and tells every one.
MEET = """
import os, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(place)
    peers = [server.accept()[0] for _ in range(world - 1)]
    ranks = sorted(int(peer.recv(16)) for peer in peers)
    assert ranks == list(range(1, world)), ranks
    for peer in peers:
        peer.sendall(b"all here")
    print("met", world)
else:
    end = time.time() + 100
    while True:
        try:
            peer = socket.create_connection(place, timeout=100)
            break
        except ConnectionRefusedError:
            assert time.time() < end
            time.sleep(0.01)
    peer.sendall(str(rank).encode())
    assert peer.recv(64) == b"all here"
    print("met as", rank)
"""

# A parameter server or worker that serves for ever; the leader ends after a while.
SERVE = """
import json, os, socket, time
config = json.loads(os.environ["TF_CONFIG"])
task = config["task"]
host, port = config["cluster"][task["type"]][task["index"]].rsplit(":", 1)
server = socket.create_server((host, int(port)))
print("serving", task["type"], task["index"], flush=True)
leader = "chief" if "chief" in config["cluster"] else "worker"
if (task["type"], task["index"]) == (leader, 0):
    for places in config["cluster"].values():
        for place in places:
            end = time.time() + 100
            while True:
                try:
                    socket.create_connection(tuple(place.rsplit(":", 1)), timeout=100).close()
                    break
                except OSError:
                    assert time.time() < end
                    time.sleep(0.01)
    print("reached all", flush=True)
else:
    time.sleep(600)
"""


def python(script):
    return ("python3", "-c", script)
