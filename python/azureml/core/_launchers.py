"""From a run configuration's communicator to Slipway's launcher."""

from azureml.exceptions import UserErrorException


def fields(run_config):
    """What the job says of its processes: nodes, and with a communicator the launcher and the processes on each."""
    kind = str(run_config.communicator or "None").lower()
    nodes = _count(run_config.node_count, "node_count")
    if kind in _FIELDS:
        return _FIELDS[kind](run_config, nodes)
    raise UserErrorException(
        f"Slipway has no launcher {run_config.communicator}; start the processes with an MpiConfiguration, "
        "a PyTorchConfiguration or a TensorflowConfiguration, or as runs of their own"
    )


def _count(value, name, least=1):
    number = least if value is None else value
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise UserErrorException(f"{name} is a whole number from {least} on, not {value!r}")
    return number


def _none(run_config, nodes):
    return {"nodes": nodes}


def _mpi(run_config, nodes):
    each = _count(run_config.mpi.process_count_per_node, "process_count_per_node")
    if nodes * each == 1:
        return {"nodes": 1}  # one process needs no mpirun, which may not be there
    return {"launcher": "mpi", "nodes": nodes, "processes": each}


def _pytorch(run_config, nodes):
    # The SDK counts the processes of all nodes together.
    count = run_config.pytorch.process_count
    total = nodes if count is None else _count(count, "process_count")
    if total % nodes:
        raise UserErrorException(
            f"process_count is {total} for {nodes} nodes, which all run as many: make it a multiple of node_count"
        )
    return {"launcher": "pytorch", "nodes": nodes, "processes": total // nodes}


def _tensorflow(run_config, nodes):
    workers = _count(run_config.tensorflow.worker_count, "worker_count")
    servers = _count(run_config.tensorflow.parameter_server_count, "parameter_server_count", least=0)
    tasks = workers + servers
    nodes = min(nodes, tasks)
    return {
        "launcher": f"tensorflow:workers={workers},ps={servers}",
        "nodes": nodes,
        "processes": -(-tasks // nodes),
    }


_FIELDS = {
    "none": _none,
    "mpi": _mpi,
    "openmpi": _mpi,
    "intelmpi": _mpi,
    "nccl": _pytorch,
    "gloo": _pytorch,
    "parameterserver": _tensorflow,
    "horovod": _mpi,
}


def _tasks(job):
    """(workers, parameter servers, chiefs) of a job with TensorFlow's launcher."""
    settings = job["launcher"].partition(":")[2].split(",")
    counts = dict(setting.split("=") for setting in settings if "=" in setting)
    servers, chiefs = int(counts.get("ps", 0)), int("chief" in settings or counts.get("chief") == "1")
    places = job.get("nodes", 1) * job.get("processes", 1)
    return int(counts.get("workers", places - servers - chiefs)), servers, chiefs


def process_count(job):
    """How many processes a job of a run's record has."""
    if str(job.get("launcher")).startswith("tensorflow"):
        return sum(_tasks(job))
    return job.get("nodes", 1) * job.get("processes", 1)


def sections(job):
    """What a job says of its processes, in the shape of a run configuration."""
    kind = str(job.get("launcher")).partition(":")[0]
    nodes = job.get("nodes", 1)
    if kind == "mpi":
        return {"mpi": {"processCountPerNode": job.get("processes", 1), "nodeCount": nodes}}
    if kind == "pytorch":
        return {"pytorch": {"processCount": process_count(job), "nodeCount": nodes}}
    if kind == "tensorflow":
        workers, servers, _ = _tasks(job)
        return {"tensorflow": {"workerCount": workers, "parameterServerCount": servers}}
    return {}
