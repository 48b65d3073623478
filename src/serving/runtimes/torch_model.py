"""PyTorch programs in a worker process: TorchScript, and what torch.export and AOTInductor save.

Part of the worker (worker.py), which gives its functions for tensors. What a file is has been told without
unpickling it (torch_file.h); it is loaded here, in the model's own process. Works with Python 3.6 and PyTorch 1.6,
and newer.
"""

import pickle
import zipfile


class Model:
    def __init__(self, order, read_tensor, write_tensor):
        import torch

        self.torch = torch
        self.read_tensor = read_tensor
        self.write_tensor = write_tensor
        self.names = {
            torch.bool: "BOOL",
            torch.uint8: "UINT8",
            torch.int8: "INT8",
            torch.int16: "INT16",
            torch.int32: "INT32",
            torch.int64: "INT64",
            torch.float16: "FP16",
            torch.float32: "FP32",
            torch.float64: "FP64",
        }
        self.kinds = {name: kind for kind, name in self.names.items()}
        load = {
            "torchscript": self.load_script,
            "torch-export": self.load_exported,
            "torch-compiled": self.load_compiled,
        }
        self.inputs, self.outputs, self.batchable = load[order["kind"]](order["path"])

    def describe(self):
        signature = {"name": "serving_default", "inputs": self.inputs, "outputs": self.outputs}
        return {"signatures": [dict(signature, batchable=self.batchable)]}

    # -- what the three kinds say about themselves ---------------------------------------------------------------

    def load_script(self, path):
        module = self.torch.jit.load(path, map_location="cpu").eval()
        self.call = module
        arguments = [item for item in module.forward.schema.arguments[1:] if not item.has_default_value()]
        for argument in arguments:
            if str(argument.type) != "Tensor":
                raise TypeError(
                    f"forward() takes a {argument.type} '{argument.name}', and clients send tensors; script a "
                    "network whose forward() takes tensors alone"
                )
        names = [argument.name for argument in arguments]
        examples = traced_inputs(path)
        if len(examples) == len(names):
            return self.learn(names, examples)
        kinds = self.integer_inputs(module)
        inputs = [spec(name, "INT64" if name in kinds else "FP32", None) for name in names]
        returned = str(module.forward.schema.returns[0].type)
        if "Dict" in returned or "List" in returned:
            raise TypeError(
                f"forward() returns a {returned}, and how many tensors that is cannot be told; trace it with an "
                "example (torch.jit.trace), or return a tuple"
            )
        count = max(1, returned.count("Tensor"))
        return inputs, [spec(f"output_{index}", "FP32", None) for index in range(count)], False

    def learn(self, names, examples):
        """Inputs as traced, with their first dimension free where the network takes any number of rows."""

        def ones(rows=None):
            return [
                self.torch.ones([rows or shape[0], *shape[1:]] if shape else [], dtype=self.kinds[kind])
                for kind, shape in examples
            ]

        traced = self.compute(ones())
        try:
            one, three = (list(self.compute(ones(rows)).values()) for rows in (1, 3))
            free = all(shape for _, shape in examples) and all(
                a.dim() > 0 and b.shape == (3, *a.shape[1:]) and self.torch.allclose(a, b[:1], equal_nan=True)
                for a, b in ((value, three[index]) for index, value in enumerate(one))
            )
        except Exception as error:  # the number of rows was built into it
            print(f"it takes no other number of rows than it was traced with: {error}")
            free = False
        first = [-1] if free else []
        inputs = [
            spec(name, examples[index][0], first + examples[index][1][len(first) :])
            for index, name in enumerate(names)
        ]
        outputs = [
            spec(name, self.names.get(value.dtype, "FP32"), first + list(value.shape)[len(first) :])
            for name, value in traced.items()
        ]
        return inputs, outputs, free

    def integer_inputs(self, module):
        """Those that are looked up in a table: the only ones that code itself says are whole numbers."""
        graph = module.graph.copy()
        self.torch._C._jit_pass_inline(graph)
        return {
            value.debugName().split(".")[0]
            for value in graph.inputs()
            for use in value.uses()
            if use.user.kind() in ("aten::embedding", "aten::embedding_bag", "aten::one_hot")
        }

    def load_exported(self, path):
        from torch.utils import _pytree

        program = self.torch.export.load(path)
        module = program.module()

        def call(*tensors):
            args, kwargs = _pytree.tree_unflatten(list(tensors), program.call_spec.in_spec)
            return module(*args, **kwargs)

        self.call = call
        nodes = {node.name: node for node in program.graph.nodes}
        inputs = [self.exported_spec(name, nodes[name]) for name in program.graph_signature.user_inputs]
        computed = self.compute(
            [
                self.torch.zeros([max(size, 1) for size in item["shape"]], dtype=self.kinds[item["type"]])
                for item in inputs
            ]
        )
        outputs = [
            dict(self.exported_spec(node, nodes[node]), name=name)
            for name, node in (
                (name, program.graph_signature.user_outputs[i]) for i, name in enumerate(computed)
            )
        ]
        return inputs, outputs, all(item["shape"][:1] == [-1] for item in inputs + outputs)

    def exported_spec(self, name, node):
        value = node.meta.get("val")
        if not isinstance(value, self.torch.Tensor):
            raise TypeError(f"'{name}' is no tensor, and clients send and get tensors")
        shape = [size if isinstance(size, int) else -1 for size in value.shape]
        return spec(name, self.names.get(value.dtype, "FP32"), shape)

    def load_compiled(self, path):
        from torch._inductor import aoti_load_package
        from torch.utils import _pytree

        self.call = aoti_load_package(path)
        taken, given = (_pytree.treespec_loads(text) for text in self.call.loader.get_call_spec())
        inputs = [spec(f"input_{index}", "FP32", None) for index in range(taken.num_leaves)]
        return inputs, [spec(f"output_{index}", "FP32", None) for index in range(given.num_leaves)], False

    # -- computing -----------------------------------------------------------------------------------------------

    def compute(self, tensors):
        """The tensors by name."""
        with self.torch.no_grad():
            value = self.call(*tensors)
        if isinstance(value, dict):
            named = value
        elif isinstance(value, (tuple, list)):
            named = {f"output_{index}": item for index, item in enumerate(value)}
        else:
            named = {"output_0": value}
        for name, item in named.items():
            if not isinstance(item, self.torch.Tensor):
                raise TypeError(
                    f"'{name}' of what the model computes is a {type(item).__name__} and no tensor"
                )
        return named

    def answer(self, header, rest):
        tensors, position = [], 0
        for about in header["inputs"]:
            content = memoryview(rest)[position : position + about["bytes"]]
            position += about["bytes"]
            tensors.append(self.torch.from_numpy(self.read_tensor(about, content)))
        try:
            computed = self.compute(tensors)
        except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
            return {"error": cause_of(error), "code": "invalid"}, ()
        known = [t if t.dtype in self.names else t.float() for t in computed.values()]
        written = [self.write_tensor(tensor.detach().cpu().numpy()) for tensor in known]
        return {"outputs": [about for about, _ in written]}, tuple(content for _, content in written)


def cause_of(error):
    """TorchScript says last what went wrong, after where; everything else says it first."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1] if lines[-1].startswith("RuntimeError:") else lines[0]


def spec(name, kind, shape):
    return {"name": name, "type": kind, "shape": shape}


STORAGES = {
    "BoolStorage": "BOOL",
    "ByteStorage": "UINT8",
    "CharStorage": "INT8",
    "ShortStorage": "INT16",
    "IntStorage": "INT32",
    "LongStorage": "INT64",
    "HalfStorage": "FP16",
    "FloatStorage": "FP32",
    "DoubleStorage": "FP64",
}


class Shapes(pickle.Unpickler):
    """Reads the kinds and shapes of pickled tensors, and makes nothing of them."""

    def find_class(self, module, name):
        if name.startswith("_rebuild_tensor"):
            return lambda storage, _offset, size, *_rest: (STORAGES.get(storage[1]), list(size))
        if name == "restore_type_tag":
            return lambda value, _kind: value
        if name.endswith("Storage"):
            return name
        return lambda *_: None

    def persistent_load(self, pid):
        return pid


def traced_inputs(path):
    """(kind, shape) of each tensor that the network was traced with, where the file has kept them."""
    with zipfile.ZipFile(path) as archive:
        found = [name for name in archive.namelist() if name.endswith("/traced_inputs.pkl")]
        if not found:
            return []
        with archive.open(found[0]) as file:
            kept = Shapes(file).load()
    values = kept.get("forward", ()) if isinstance(kept, dict) else ()
    whole = all(isinstance(value, tuple) and len(value) == 2 and value[0] for value in values)
    return list(values) if whole else []
