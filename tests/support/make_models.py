"""Makes models with the real frameworks: make_models.py FOLDER KIND... Runs in the frameworks' own environment."""

import json
import sys
from pathlib import Path


def onnx_double(folder):
    """Two inputs, two outputs, each doubled; text is passed through by `texts`."""
    import onnx
    from onnx import TensorProto, helper

    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    two = helper.make_tensor("two", TensorProto.FLOAT, [], [2.0])
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["a", "two"], ["a2"]),
            helper.make_node("Add", ["b", "b"], ["b2"]),
        ],
        "double",
        [value("a", TensorProto.FLOAT, [None, 2]), value("b", TensorProto.INT64, [None, 1])],
        [value("a2", TensorProto.FLOAT, [None, 2]), value("b2", TensorProto.INT64, [None, 1])],
        [two],
    )
    save(onnx, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), folder / "double.onnx")

    texts = helper.make_graph(
        [helper.make_node("Identity", ["text"], ["text_bytes"])],
        "texts",
        [value("text", TensorProto.STRING, [None])],
        [value("text_bytes", TensorProto.STRING, [None])],
    )
    save(onnx, helper.make_model(texts, opset_imports=[helper.make_opsetid("", 13)]), folder / "texts.onnx")


def onnx_times(folder):
    """One number in, its double or triple out: two versions that can be told apart."""
    import onnx
    from onnx import TensorProto, helper

    for factor in (2, 3):
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "factor"], ["y"])],
            "times",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
            [helper.make_tensor("factor", TensorProto.FLOAT, [], [float(factor)])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        save(onnx, model, folder / f"times{factor}.onnx")


def onnx_digits(folder):
    """The network 784-128-10 of the benchmarks."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = numpy.random.default_rng(1)

    def weights(name, *shape):
        return numpy_helper.from_array((random.standard_normal(shape) * 0.05).astype(numpy.float32), name)

    node = helper.make_node
    graph = helper.make_graph(
        [
            node("MatMul", ["x", "w1"], ["h1"]),
            node("Add", ["h1", "b1"], ["h2"]),
            node("Relu", ["h2"], ["h3"]),
            node("MatMul", ["h3", "w2"], ["h4"]),
            node("Add", ["h4", "b2"], ["h5"]),
            node("Softmax", ["h5"], ["probabilities"]),
        ],
        "digits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 784])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [None, 10])],
        [weights("w1", 784, 128), weights("b1", 128), weights("w2", 128, 10), weights("b2", 10)],
    )
    save(onnx, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), folder / "digits.onnx")


def save(onnx, model, path):
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def onnx_external(folder):
    """A model whose weights lie in another file, and one that names a file outside of its folder."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def model():
        weights = numpy_helper.from_array(numpy.full((2000,), 3, dtype=numpy.float32), "w")
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "w"], ["y"])],
            "external",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2000])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2000])],
            [weights],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        made.ir_version = 8
        return made

    good = folder / "external"
    good.mkdir(exist_ok=True)
    onnx.save_model(model(), str(good / "model.onnx"), save_as_external_data=True, location="weights.bin")
    bad = folder / "escaping"
    bad.mkdir(exist_ok=True)
    onnx.save_model(model(), str(bad / "model.onnx"), save_as_external_data=True, location="weights.bin")
    text = (bad / "model.onnx").read_bytes()
    (bad / "model.onnx").write_bytes(text.replace(b"weights.bin", b"../../pass!"))


def tensorflow(folder):
    """A Keras export, and a module with several signatures and a text input."""
    import tensorflow as tf

    digits = tf.keras.Sequential(
        [
            tf.keras.Input((784,)),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    digits.export(str(folder / "digits" / "3"), verbose=False)

    class Several(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
        def double(self, x):
            return {"y": x * 2.0}

        @tf.function(
            input_signature=[
                tf.TensorSpec([None], tf.string, name="text"),
                tf.TensorSpec([None], tf.int64, name="times"),
            ]
        )
        def join(self, text, times):
            return {"joined": tf.strings.join([text, tf.strings.as_string(times)]), "times": times * 2}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
        def classify(self, inputs):
            parsed = tf.io.parse_example(inputs, {"value": tf.io.FixedLenFeature([1], tf.float32)})
            score = parsed["value"]
            names = tf.tile(tf.constant([["low", "high"]]), [tf.shape(score)[0], 1])
            return {"classes": names, "scores": tf.concat([1.0 - score, score], axis=1)}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
        def regress(self, inputs):
            parsed = tf.io.parse_example(inputs, {"value": tf.io.FixedLenFeature([1], tf.float32)})
            return {"outputs": parsed["value"] * 10.0}

    module = Several()
    tf.saved_model.save(
        module,
        str(folder / "several"),
        signatures={
            "serving_default": module.double,
            "join": module.join,
            "classify": module.classify,
            "regress": module.regress,
        },
    )


def keras(folder):
    """One network as Keras saves it, and its answer to a row of halves; weights alone; a layer of one's own."""
    import tensorflow as tf

    network = tf.keras.Sequential(
        [tf.keras.Input((4,), name="x"), tf.keras.layers.Dense(3, activation="softmax", name="y")]
    )
    network.save(folder / "iris.keras")
    network.save(folder / "iris.h5")
    network.save_weights(folder / "iris.weights.h5")
    # Loads in the C API and fails at its first run: its variables are not where the graph looks for them.
    tf.saved_model.save(network, str(folder / "unrunnable"))
    (folder / "iris.json").write_text(json.dumps(network(tf.fill([1, 4], 0.5)).numpy().tolist()))

    class Own(tf.keras.layers.Layer):
        def call(self, inputs):
            return inputs

    tf.keras.Sequential([tf.keras.Input((4,)), Own()]).save(folder / "own.keras")


def checkpoint(folder):
    """What TensorFlow 1 leaves of a training, the newest of three steps; and its answer to a row of halves."""
    import numpy
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        labels = v1.placeholder(tf.float32, [None, 3], name="labels")
        keep = v1.placeholder(tf.float32, name="keep_prob")
        hidden = v1.nn.dropout(x, rate=1 - keep)
        logits = tf.add(
            tf.matmul(hidden, v1.get_variable("w", [4, 3])), v1.get_variable("b", [3]), name="logits"
        )
        probabilities = tf.nn.softmax(logits, name="probabilities")
        loss = tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits_v2(labels, logits), name="loss")
        step = v1.train.AdamOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver()
        for count in (5, 9, 10):
            session.run(step, {x: numpy.ones((2, 4)), labels: [[1, 0, 0], [0, 1, 0]], keep: 0.5})
            saver.save(session, str(folder / "checkpoint" / "model.ckpt"), global_step=count)
        halves = session.run({"probabilities": probabilities, "logits": logits}, {x: [[0.5] * 4], keep: 1})
    answers = {name: value.tolist() for name, value in halves.items()}
    (folder / "checkpoint.json").write_text(json.dumps(answers))


def torch_network():
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x):
            return torch.softmax(self.layer(x), dim=-1)

    torch.manual_seed(1)
    return torch, Network().eval()


def torch(folder):
    """One network as TorchScript, traced and scripted, its answer to a row of halves; and what is no program."""
    torch, network = torch_network()
    halves = torch.full((1, 4), 0.5)
    torch.jit.trace(network, torch.rand(2, 4)).save(str(folder / "traced.pt"))
    torch.jit.script(network).save(str(folder / "scripted.pt"))
    (folder / "network.json").write_text(json.dumps(network(halves).tolist()))
    torch.save(network.state_dict(), str(folder / "weights.pt"))
    torch.save(network.layer, str(folder / "pickled.pth"))
    torch.save({"epoch": 3, "model": network.state_dict()}, str(folder / "training.pt"))
    torch.save(network.state_dict(), str(folder / "old.pt"), _use_new_zipfile_serialization=False)

    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(5, 2)

        def forward(self, words, scale):
            return self.table(words) * scale, words + 1

    torch.jit.script(Pair()).save(str(folder / "pair.pt"))

    class Text(torch.nn.Module):
        def forward(self, text: str):
            return torch.tensor(len(text))

    torch.jit.script(Text()).save(str(folder / "text.pt"))

    class Count(torch.nn.Module):
        """How many rows it has seen; its input is where it computes."""

        def __init__(self):
            super().__init__()
            self.seen = torch.zeros(1)

        def forward(self, x):
            self.seen = self.seen + x.size(0)
            return x.mul_(0).add_(self.seen), x

    torch.jit.script(Count()).save(str(folder / "count.pt"))

    class Named(torch.nn.Module):
        def forward(self, x):
            return {"twice": x * 2}

    torch.jit.script(Named()).save(str(folder / "named.pt"))


def torch_digits(folder):
    """784-128-10, traced."""
    import torch

    torch.manual_seed(1)
    layers = torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10), torch.nn.Softmax(dim=-1)
    traced = torch.jit.trace(torch.nn.Sequential(*layers).eval(), torch.rand(2, 784))
    traced.save(str(folder / "digits.pt"))


def torch_exported(folder):
    """The network of `torch` as torch.export saves it, with any number of rows; and compiled for this machine."""
    torch, network = torch_network()
    rows = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(network, (torch.rand(2, 4),), dynamic_shapes=rows)
    torch.export.save(program, str(folder / "exported.pt2"))
    torch._inductor.aoti_compile_and_package(program, package_path=str(folder / "compiled.pt2"))
    (folder / "network.json").write_text(json.dumps(network(torch.full((1, 4), 0.5)).tolist()))


def sklearn(folder):
    import joblib
    import numpy
    from sklearn.linear_model import LinearRegression, LogisticRegression

    random = numpy.random.default_rng(1)
    rows = random.random((200, 4))
    names = numpy.array(["low", "high"])[(rows.sum(axis=1) > 2).astype(int)]
    joblib.dump(LogisticRegression().fit(rows, names), folder / "classifier.joblib")
    fine = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    fine.coef_, fine.intercept_ = numpy.array([1e9]), -1e9
    joblib.dump(fine, folder / "fine.joblib")
    import pickle

    (folder / "regressor.pkl").write_bytes(pickle.dumps(LinearRegression().fit(rows, rows.sum(axis=1))))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for kind in sys.argv[2:]:
        globals()[kind](folder)


main()
