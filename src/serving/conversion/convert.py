"""Turns a model into a form that the model server can load: a SavedModel or an ONNX file.

Started by the model server (conversion.cc) in the model's own environment, with its order as JSON in the first
argument: what to do, where the model lies and where the result goes. Standard output is one line of JSON: {}, or
{"error", "next"}, or {"missing"} with the package that is. Works with Python 3.6 and newer.
"""

import glob
import json
import os
import re
import sys
import traceback


class Refused(Exception):
    """Why a model cannot be converted, and what to do about it."""

    def __init__(self, message, next_step=""):
        super().__init__(message)
        self.next_step = next_step


# -- Keras -------------------------------------------------------------------------------------------------------


def keras_saved_model(order):
    check_keras_file(order["path"])
    import tensorflow as tf

    try:
        model = tf.keras.models.load_model(order["path"], compile=False)
    except (TypeError, ValueError) as error:
        raise Refused(
            f"Keras {keras_version(tf)} cannot load it: {cause_of(error)}",
            "use the environment it was saved in (--python); where it has layers of your own, save it from there with "
            "model.export('digits')",
        ) from error
    if hasattr(model, "export"):  # Keras 3, and 2.13 or newer
        build(model, tf)
        model.export(order["out"])
    else:
        tf.saved_model.save(model, order["out"])


def check_keras_file(path):
    """A file of weights opens like a model, and a damaged one like a missing one: Keras' own words help nobody."""
    import zipfile

    import h5py

    again = "save the whole model: model.save('digits.keras')"
    if zipfile.is_zipfile(path):
        return
    try:
        with h5py.File(path, "r") as file:
            whole = "model_config" in file.attrs
    except OSError as error:
        raise Refused(f"the file is damaged: {first_line(error)}", again) from error
    if not whole:
        raise Refused("it holds weights without the network that they belong to", again)


def cause_of(error):
    """Keras wraps what went wrong into what it was about when it did."""
    cause = re.search(r"^Exception encountered: (.*)$|(Could not locate [^.]*)", str(error), re.MULTILINE)
    return next(filter(None, cause.groups())) if cause else first_line(error)


def build(model, tf):
    """A network that was never told its input's shape learns it from a run; export() wants it known."""
    if not model.built and getattr(model, "input_shape", None):
        model(tf.zeros([1 if size is None else size for size in model.input_shape]))


def keras_version(tf):
    return getattr(tf.keras, "__version__", tf.__version__)


# -- TensorFlow --------------------------------------------------------------------------------------------------


def frozen_saved_model(order):
    """A SavedModel with its variables as constants: what is not found when it runs cannot be missing then."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    loaded = tf.saved_model.load(order["path"])
    if not loaded.signatures:
        raise Refused("it has no signatures", "save it with tf.saved_model.save(model, DIR, signatures=...)")
    functions = {
        name: (function, convert_variables_to_constants_v2(function))
        for name, function in loaded.signatures.items()
    }
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signatures = {}
        for name, (function, frozen) in functions.items():
            tensors = tf.graph_util.import_graph_def(
                frozen.graph.as_graph_def(),
                return_elements=[tensor.name for tensor in frozen.inputs + frozen.outputs],
                name=re.sub(r"\W", "_", name),
            )
            by_name = {tensor.op.name: tensors[index] for index, tensor in enumerate(frozen.inputs)}
            first = len(frozen.inputs)
            signatures[name] = (
                {key: by_name[key] for key in function.structured_input_signature[1]},
                {key: tensors[first + i] for i, key in enumerate(sorted(function.structured_outputs))},
            )
        save_graph(tf, session, order["out"], signatures)


def save_graph(tf, session, folder, signatures):
    """The session's graph as a SavedModel; `signatures` are pairs of tensors by name."""
    v1 = tf.compat.v1.saved_model
    builder = v1.Builder(folder)
    definitions = {
        name: v1.signature_def_utils.predict_signature_def(inputs=inputs, outputs=outputs)
        for name, (inputs, outputs) in signatures.items()
    }
    with session.graph.as_default():
        tables = tf.group(*tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS))
        builder.add_meta_graph_and_variables(
            session, [v1.tag_constants.SERVING], definitions, main_op=tables, strip_default_attrs=True
        )
    builder.save()


# -- TensorFlow 1's checkpoints ----------------------------------------------------------------------------------

# What is fed while a network is trained and has one right value afterwards.
FIXED = {
    "keep_prob": 1.0,
    "keep_probability": 1.0,
    "dropout": 0.0,
    "dropout_rate": 0.0,
    "is_training": False,
    "training": False,
    "train": False,
    "phase": False,
    "phase_train": False,
    "learning_phase": False,
    "keras_learning_phase": False,
}
# How people call what a network computes, the likeliest first.
OUTPUT_NAMES = (
    r"probabilit(y|ies)|probs?",
    r"predictions?|predict|y_pred|pred",
    r"softmax|sigmoid",
    r"outputs?",
    r"scores?|logits?|y_hat|y_conv",
)
# What a training graph computes besides.
TRAINING_NAMES = re.compile(
    r"(^|/)(loss|losses|cost|cross_entropy|xentropy|accuracy|correct|metrics?|gradients|save|summar|report|init|train|"
    r"optimizer|adam|sgd|rmsprop|adagrad|momentum|gradientdescent|global_step)",
    re.IGNORECASE,
)


def checkpoint_saved_model(order):
    prefix = checkpoint_prefix(order["path"])
    told = told_signature(os.path.dirname(prefix))
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(prefix + ".meta", clear_devices=True)
        inputs, outputs = checkpoint_signature(graph, told)
        fixed = {
            tensor.name: (FIXED[base_name(tensor.op)], tensor.dtype)
            for tensor in placeholders_below([output.op for output in outputs.values()])
            if base_name(tensor.op) in FIXED and tensor.shape.rank in (0, None)
        }
    inputs = {key: tensor.name for key, tensor in inputs.items() if tensor.name not in fixed}
    if not inputs:
        raise Refused("no placeholder leads to its outputs", SAY_THEM)
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        constants = {name: tf.constant(value, dtype) for name, (value, dtype) in fixed.items()}
        saver = v1.train.import_meta_graph(prefix + ".meta", clear_devices=True, input_map=constants)
        saver.restore(session, prefix)
        signature = (
            {key: graph.get_tensor_by_name(name) for key, name in inputs.items()},
            {key: graph.get_tensor_by_name(tensor.name) for key, tensor in outputs.items()},
        )
        save_graph(tf, session, order["out"], {"serving_default": signature})


SAY_THEM = (
    "write a file signature.json beside it that names the tensors: "
    '{"inputs": {"x": "x:0"}, "outputs": {"y": "softmax:0"}}'
)


def checkpoint_prefix(path):
    """The newest checkpoint of a folder, as its file `checkpoint` has it; a .meta file is one by itself."""
    if path.endswith(".meta"):
        prefixes = [path[: -len(".meta")]]
    else:
        prefixes = [name[: -len(".meta")] for name in glob.glob(os.path.join(glob.escape(path), "*.meta"))]
        prefixes.sort(key=lambda prefix: [int(n) for n in re.findall(r"\d+", os.path.basename(prefix))])
        state = os.path.join(path, "checkpoint")
        if os.path.exists(state):
            with open(state) as file:
                named = re.search(r'^model_checkpoint_path: "(.*)"$', file.read(), re.MULTILINE)
            # A path of the machine it was trained on: the name alone counts here.
            newest = named and os.path.join(path, os.path.basename(named.group(1)))
            prefixes += [newest] if newest in prefixes else []
    if not prefixes or not os.path.exists(prefixes[-1] + ".index"):
        raise Refused(
            "the checkpoint lacks its graph (.meta) or its variables (.index, .data)",
            "keep all files that tf.train.Saver().save() writes",
        )
    return prefixes[-1]


def told_signature(folder):
    """What signature.json says: names of tensors by the names that clients use; None where there is none."""
    path = os.path.join(folder, "signature.json")
    if not os.path.exists(path):
        return None
    try:
        with open(path) as file:
            names = json.load(file)
        return [{key: full_name(name) for key, name in names[side].items()} for side in ("inputs", "outputs")]
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise Refused("its signature.json does not name inputs and outputs", SAY_THEM) from error


def checkpoint_signature(graph, told):
    """Inputs and outputs by name: as they were told, or as they are found."""
    if told:
        try:
            return [{key: graph.get_tensor_by_name(name) for key, name in side.items()} for side in told]
        except (KeyError, ValueError) as error:
            raise Refused(
                f"its signature.json does not fit the graph: {first_line(error)}", SAY_THEM
            ) from error
    outputs = found_outputs(graph)
    wanted = placeholders_below([tensor.op for tensor in outputs])
    return {base_name(tensor.op): tensor for tensor in wanted}, {base_name(t.op): t for t in outputs}


def full_name(name):
    return name if ":" in name else name + ":0"


def base_name(operation):
    return operation.name.rsplit("/", 1)[-1]


def placeholders_below(operations):
    """The placeholders that these operations depend on, in the order they were made."""
    seen, waiting, found = set(), list(operations), []
    while waiting:
        operation = waiting.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        if operation.type == "Placeholder":
            found.append(operation.outputs[0])
        waiting += [tensor.op for tensor in operation.inputs] + list(operation.control_inputs)
    order = {operation.name: index for index, operation in enumerate(operations[0].graph.get_operations())}
    return sorted(found, key=lambda tensor: order[tensor.op.name])


def found_outputs(graph):
    """By the names people use, else what nothing but training uses further; several such are the user's to name."""
    usable = [
        operation
        for operation in graph.get_operations()
        if len(operation.outputs) == 1
        and operation.outputs[0].dtype.is_floating
        and not operation.outputs[0].dtype._is_ref_dtype
        and operation.type
        not in ("Placeholder", "PlaceholderWithDefault", "Const", "VariableV2", "ReadVariableOp")
        and not TRAINING_NAMES.search(operation.name)
        and placeholders_below([operation])
    ]
    for pattern in OUTPUT_NAMES:
        named = [
            operation for operation in usable if re.fullmatch(pattern, base_name(operation), re.IGNORECASE)
        ]
        if named:
            return [named[-1].outputs[0]]
    names = {operation.name for operation in usable}
    last = [
        operation
        for operation in usable
        if not any(user.name in names for user in operation.outputs[0].consumers())
    ]
    if len(last) != 1:
        some = ", ".join(operation.outputs[0].name for operation in last[:5]) or "none was found"
        raise Refused(f"it is not clear which tensor is its output ({some})", SAY_THEM)
    return [last[0].outputs[0]]


# -- ONNX --------------------------------------------------------------------------------------------------------


def scikit_onnx(order):
    import numpy
    from skl2onnx import to_onnx

    try:
        import joblib

        model = joblib.load(order["path"])
    except ImportError:
        import pickle

        with open(order["path"], "rb") as file:
            model = pickle.load(file)
    width = getattr(model, "n_features_in_", None)
    if width is None:
        raise Refused(
            "the model does not say how many columns it takes", "train it with scikit-learn 0.24 or newer"
        )
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    made = to_onnx(model, numpy.zeros((1, int(width)), dtype=numpy.float32), options=options)
    with open(os.path.join(order["out"], "model.onnx"), "wb") as file:
        file.write(made.SerializeToString())


def tensorflow_onnx(order):
    from tf2onnx import convert

    sys.argv[1:] = ["--saved-model", order["path"], "--signature_def", order["signature"], "--opset", "15"]
    sys.argv += ["--output", os.path.join(order["out"], "model.onnx")]
    convert.main()


# -- the order ---------------------------------------------------------------------------------------------------

KINDS = {
    "keras": keras_saved_model,
    "checkpoint": checkpoint_saved_model,
    "saved-model": frozen_saved_model,
    "scikit-learn-onnx": scikit_onnx,
    "tensorflow-onnx": tensorflow_onnx,
}


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def carry_out(order):
    try:
        KINDS[order["kind"]](order)
    except Refused as error:
        return {"error": str(error), "next": error.next_step}
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        return {"missing": {"tensorflow": "tensorflow-cpu", "sklearn": "scikit-learn"}.get(package, package)}
    except BaseException as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {first_line(error)}", "next": "the lines above say more"}
    return {}


def main():
    # What the frameworks print on the way goes to the log.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer.write(json.dumps(carry_out(json.loads(sys.argv[1]))) + "\n")
    answer.flush()
    os._exit(0)  # without the long farewells of some frameworks


main()
