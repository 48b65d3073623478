"""A model in a process of its own: a scikit-learn model, an entry script with init() and run(), or one of other code.

Started by the model server (worker_model.cc) with its order as JSON in the first argument. Descriptor 3 is a stream
socket. A frame on it is: the length of a JSON header (4 bytes), the length of what follows it (8 bytes, both little
endian), the header, the rest. Each frame of the server is answered by one. Works with Python 3.6 and newer.
"""

import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pickle
import socket
import struct
import sys
import traceback
import types

HEAD = struct.Struct("<IQ")

# Open Inference's names of the types, and numpy's.
NUMPY = {
    "BOOL": "?",
    "UINT8": "u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
}


# -- frames ------------------------------------------------------------------------------------------------------


class Link:
    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.socket.setblocking(True)

    def receive(self):
        """(header, rest), or None when the server is gone."""
        head = self._exactly(HEAD.size)
        if head is None:
            return None
        header_size, rest_size = HEAD.unpack(head)
        header = self._exactly(header_size)
        rest = self._exactly(rest_size)
        return None if header is None or rest is None else (json.loads(header.decode()), rest)

    def send(self, header, *parts):
        text = json.dumps(header).encode()
        size = sum(len(part) for part in parts)
        self.socket.sendall(b"".join((HEAD.pack(len(text), size), text, *parts)))

    def _exactly(self, size):
        buffer = bytearray(size)
        view = memoryview(buffer)
        while view:
            count = self.socket.recv_into(view)
            if count == 0:
                return None
            view = view[count:]
        return buffer


# -- tensors -----------------------------------------------------------------------------------------------------


def read_tensor(about, content):
    import numpy

    if about["type"] != "BYTES":
        return numpy.frombuffer(content, dtype=NUMPY[about["type"]]).reshape(about["shape"])
    texts, position = [], 0
    while position < len(content):
        (length,) = struct.unpack_from("<I", content, position)
        position += 4
        texts.append(bytes(content[position : position + length]).decode(errors="surrogateescape"))
        position += length
    return numpy.array(texts, dtype=object).reshape(about["shape"])


def write_tensor(value):
    """The header and the bytes of an array."""
    import numpy

    array = numpy.asarray(value)
    for name, code in NUMPY.items():
        if array.dtype == numpy.dtype(code):
            content = numpy.ascontiguousarray(array).tobytes()
            return {"type": name, "shape": list(array.shape), "bytes": len(content)}, content
    content = b"".join(
        struct.pack("<I", len(text)) + text
        for text in (str(item).encode(errors="surrogateescape") for item in array.ravel())
    )
    return {"type": "BYTES", "shape": list(array.shape), "bytes": len(content)}, content


# -- scikit-learn ------------------------------------------------------------------------------------------------


class ScikitModel:
    """Anything with predict(), and predict_proba() where it has that."""

    def __init__(self, order):
        self.model = self.load(order["path"])
        if not hasattr(self.model, "predict"):
            raise TypeError(f"{order['path']} holds a {type(self.model).__name__}, which has no predict()")
        self.calls = [name for name in ("predict", "predict_proba") if self.can(name)]

    @staticmethod
    def load(path):
        try:
            import joblib
        except ImportError:
            with open(path, "rb") as file:
                return pickle.load(file)
        return joblib.load(path)

    def can(self, name):
        try:
            return callable(getattr(self.model, name, None))
        except Exception:  # a property of the model that cannot tell yet
            return False

    def describe(self):
        import numpy

        width = int(getattr(self.model, "n_features_in_", -1))
        signatures = []
        for name in list(self.calls):
            output = {"name": name, "type": "FP64", "shape": [-1]}
            try:
                about, _ = write_tensor(getattr(self.model, name)(numpy.zeros((1, max(width, 1)))))
                output = {"name": name, "type": about["type"], "shape": [-1, *about["shape"][1:]]}
            except Exception as error:
                if width > 0 and name != "predict":  # such as predict_proba without probability=True
                    self.calls.remove(name)
                    continue
                print(f"a trial of {name}() failed: {error}", file=sys.stderr)
            inputs = [{"name": "input", "type": "FP64", "shape": [-1, width]}]
            signatures.append({"name": name, "inputs": inputs, "outputs": [output]})
        return {"signatures": signatures}

    def answer(self, header, rest):
        array = read_tensor(header["inputs"][0], rest)
        try:
            value = getattr(self.model, self.calls[header["run"]])(array)
        except (ValueError, TypeError) as error:
            return {"error": str(error), "code": "invalid"}, ()
        about, content = write_tensor(value)
        return {"outputs": [about]}, (content,)


# -- entry scripts -----------------------------------------------------------------------------------------------


class AMLRequest:
    """What a function with @rawhttp is given: the parts of a Flask request that scripts use."""

    def __init__(self, header, body):
        from urllib.parse import parse_qsl

        self.method = header["method"]
        self.full_path = header["target"]
        self.path, _, self.query_string = header["target"].partition("?")
        self.args = dict(parse_qsl(self.query_string, keep_blank_values=True))
        self.headers = Headers(header["headers"])
        self.data = bytes(body)

    def get_data(self, *_args, as_text=False, **_kwargs):
        return self.data.decode() if as_text else self.data

    def get_json(self, *_args, **_kwargs):
        return json.loads(self.data.decode())

    @property
    def json(self):
        return self.get_json()


class Headers(dict):
    """Names in any case."""

    def __init__(self, pairs):
        super().__init__((name.lower(), value) for name, value in pairs)

    def __getitem__(self, name):
        return super().__getitem__(name.lower())

    def __contains__(self, name):
        return super().__contains__(name.lower())

    def get(self, name, default=None):
        return super().get(name.lower(), default)


class AMLResponse:
    def __init__(self, message, status_code=200, headers=None, json_str=False, run_function_failed=False):
        self.message = message
        self.status_code = status_code
        self.headers = dict(headers or {})
        self.json_str = json_str
        self.run_function_failed = run_function_failed


def rawhttp(function):
    function.takes_raw_request = True
    return function


# What azureml.contrib.services has, module by module.
SERVICES = {
    "azureml": {},
    "azureml.contrib": {},
    "azureml.contrib.services": {},
    "azureml.contrib.services.aml_request": {"AMLRequest": AMLRequest, "rawhttp": rawhttp},
    "azureml.contrib.services.aml_response": {"AMLResponse": AMLResponse},
}


class ServicesFinder:
    """Provides azureml.contrib.services, asked last: where the real one is installed, that is used."""

    @classmethod
    def find_spec(cls, name, _path=None, _target=None):
        if name not in SERVICES:
            return None
        return importlib.machinery.ModuleSpec(name, cls, is_package=True)

    @staticmethod
    def create_module(spec):
        return types.ModuleType(spec.name)

    @classmethod
    def exec_module(cls, module):
        vars(module).update(SERVICES[module.__name__])


def plain(value):
    """What json cannot write by itself: arrays and numbers of numpy, frames of pandas."""
    for name in ("tolist", "to_dict", "isoformat"):
        if hasattr(value, name):
            return getattr(value, name)()
    raise TypeError(f"run() returned a {type(value).__name__}, which is not JSON")


class EntryScript:
    def __init__(self, order):
        sys.meta_path.append(ServicesFinder)
        folder = os.path.dirname(order["entry"])
        sys.path.insert(0, folder)
        os.chdir(folder)
        spec = importlib.util.spec_from_file_location("entry_script", order["entry"])
        self.module = importlib.util.module_from_spec(spec)
        sys.modules["entry_script"] = self.module
        spec.loader.exec_module(self.module)
        if not callable(getattr(self.module, "run", None)):
            raise TypeError(f"{order['entry']} has no function run()")
        if callable(getattr(self.module, "init", None)):
            self.module.init()
        self.run = self.module.run
        self.raw = hasattr(self.run, "takes_raw_request") or hasattr(self.run, "__raw_http__")
        self.schema = self.find_schema()

    def find_schema(self):
        """The functions of inference_schema, where run() is decorated with them."""
        if "inference_schema" not in sys.modules:
            return None
        from inference_schema import schema_util

        return schema_util if schema_util.is_schema_decorated(self.run) else None

    def describe(self):
        about = {"raw": True, "signatures": []}
        if self.schema:
            about["input_schema"] = json.dumps(self.schema.get_input_schema(self.run))
            about["output_schema"] = json.dumps(self.schema.get_output_schema(self.run))
        return about

    def call(self, header, body):
        if self.raw:
            return self.run(AMLRequest(header, body))
        text = bytes(body).decode()
        if self.schema:
            return self.run(**json.loads(text))
        return self.run(text)

    def answer(self, header, rest):
        try:
            result = self.call(header, rest)
        except UnicodeDecodeError:
            return self.failed(400, "the body is not UTF-8")
        except BaseException as error:  # sys.exit() too: it ends the request, not the service
            traceback.print_exc()
            header, parts = self.failed(500, f"run() raised {type(error).__name__}: {error}")
            return {**header, "spent": is_spent(error)}, parts
        return self.written(result)

    @staticmethod
    def failed(status, message):
        return {"status": status, "content_type": "application/json", "headers": []}, (
            json.dumps({"message": message}).encode(),
        )

    def written(self, result):
        status, headers, as_json = 200, {}, True
        if hasattr(result, "status_code") and hasattr(result, "message"):
            status, headers = int(result.status_code), result.headers
            as_json, result = result.json_str, result.message
        kind = "application/json"
        if not as_json:
            kind = "application/octet-stream" if isinstance(result, bytes) else "text/plain; charset=utf-8"
        for name in list(headers):
            if name.lower() == "content-type":
                kind = headers[name]
        try:
            body = (
                result
                if isinstance(result, bytes)
                else (
                    json.dumps(result, default=plain) if as_json or not isinstance(result, str) else result
                ).encode()
            )
        except (TypeError, ValueError) as error:
            return self.failed(500, str(error))
        pairs = [
            [str(k), str(v)]
            for k, v in headers.items()
            if k.lower() not in ("content-type", "content-length")
        ]
        return {"status": status, "content_type": kind, "headers": pairs}, (body,)


def is_spent(error):
    """Whether the process had better be another: what has leaked stays, and the next request would fail too."""
    return isinstance(error, MemoryError)


# -- the loop ----------------------------------------------------------------------------------------------------


class LastingStream:
    """A stream for people that goes on when it cannot be written: a full disk below a log fails no request."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        try:
            return self.stream.write(text)
        except OSError:
            return len(text)

    def flush(self):
        with contextlib.suppress(OSError):
            self.stream.flush()

    def __getattr__(self, name):
        return getattr(self.stream, name)


def make_model(order):
    if "code" not in order:
        return {"scikit-learn": ScikitModel, "entry-script": EntryScript}[order["kind"]](order)
    module = types.ModuleType("slipway_model")  # of a kind that comes with its own code
    exec(order["code"], vars(module))
    return module.Model(order, read_tensor, write_tensor)


def main():
    order = json.loads(sys.argv[1])
    sys.argv[1:] = []
    sys.stdout, sys.stderr = LastingStream(sys.stdout), LastingStream(sys.stderr)
    link = Link(3)
    try:
        model = make_model(order)
        about = model.describe()
    except BaseException as error:
        traceback.print_exc()
        missing = (
            f"; pip install {error.name}" if isinstance(error, ModuleNotFoundError) and error.name else ""
        )
        link.send({"error": f"{type(error).__name__}: {error}{missing}"})
        return 1
    link.send(about)
    while True:
        frame = link.receive()
        if frame is None:
            return 0
        try:
            header, parts = model.answer(*frame)
        except BaseException as error:
            traceback.print_exc()
            header, parts = {"error": f"{type(error).__name__}: {error}", "code": "internal"}, ()
            header["spent"] = is_spent(error)
        link.send(header, *parts)


sys.exit(main())
