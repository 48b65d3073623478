"""Parameter servers in the older style: every task starts a tf.train.Server, servers join it, workers train.

The variables live with the servers. Each worker hands over the gradients of its share; worker 0 takes them when all are
there, changes the variables, and lets everybody go on: the same steps as one process would make.
"""

import json
import os

import task
import tensorflow.compat.v1 as tf


def server():
    """This task's server, and what TF_CONFIG says of it."""
    config = json.loads(os.environ["TF_CONFIG"])
    kind, index = config["task"]["type"], config["task"]["index"]
    settings = tf.ConfigProto()
    if kind == "worker":  # workers talk to servers only: one that is gone hangs nobody
        settings.device_filters.extend(["/job:ps", f"/job:worker/task:{index}"])
    cluster = tf.train.ClusterSpec(config["cluster"])
    made = tf.train.Server(cluster, job_name=kind, task_index=index, config=settings)
    return made, settings, config


class Graph:
    """What one worker builds; names make its parts the same ones for all workers."""

    def __init__(self, index, workers, servers):
        with tf.device(tf.train.replica_device_setter(servers, worker_device=f"/job:worker/task:{index}")):
            weights, bias = [
                tf.get_variable(name, initializer=value)
                for name, value in zip(("weights", "bias"), task.start(0))
            ]
            self.variables = [weights, bias]
            width = task.FEATURES * task.CLASSES + task.CLASSES
            self.models = tf.get_variable(
                "models", shape=[workers, width], initializer=tf.zeros_initializer()
            )
            self.points = tf.placeholder(tf.float32, [None, task.FEATURES])
            self.classes = tf.placeholder(tf.float32, [None, task.CLASSES])
            scores = tf.matmul(self.points, weights) + bias
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(self.classes, scores))
            values = [loss, *tf.gradients(loss, self.variables)]
        with tf.device("/job:ps/task:0"):
            sums = [
                tf.ConditionalAccumulator(tf.float32, value.shape, shared_name=f"sum-{place}")
                for place, value in enumerate(values)
            ]
            gates = [tf.FIFOQueue(1000, tf.float32, [[]], shared_name=f"gate-{i}") for i in range(workers)]
            done = tf.FIFOQueue(1000, tf.int32, [[]], shared_name="done")
        # A share belongs to the step that it was made for: older ones would be thrown away.
        self.step = tf.placeholder(tf.int64, [])
        self.hand_over = [one.apply_grad(value, self.step) for one, value in zip(sums, values)]
        self.pass_gate = gates[index].dequeue()
        self.say_done = done.enqueue(index)
        self.hear_done = done.dequeue()
        means = [one.take_grad(workers) for one in sums]
        steps = [variable.assign_sub(task.RATE * mean) for variable, mean in zip(self.variables, means[1:])]
        with tf.control_dependencies(steps):
            self.change = tf.group([gate.enqueue(means[0]) for gate in gates])
        row = tf.concat([tf.reshape(variable, [-1]) for variable in self.variables], axis=0)
        self.keep = self.models[index].assign(row)


def train(given, session, graph, index, workers):
    losses = []
    for step in range(given.steps):
        points, classes = task.share(step, index, workers)
        session.run(graph.hand_over, {graph.points: points, graph.classes: classes, graph.step: step})
        if index == 0:
            session.run(graph.change)
        losses.append(float(session.run(graph.pass_gate)))
        if index == 0:
            task.log(step, losses[-1])
    session.run(graph.keep)
    session.run(graph.say_done)
    if index == 0:
        seen = sorted(int(session.run(graph.hear_done)) for _ in range(workers))
        task.require(seen == list(range(workers)), f"workers {seen} came to the end")
        task.finish(given, workers, losses, session.run(graph.models))


def main():
    given = task.options()
    tf.disable_eager_execution()
    made, settings, config = server()
    if config["task"]["type"] == "ps":
        made.join()  # for ever: the run ends with worker 0
    index, workers = config["task"]["index"], len(config["cluster"]["worker"])
    graph = Graph(index, workers, len(config["cluster"]["ps"]))
    scaffold = tf.train.Scaffold(local_init_op=tf.no_op())
    with tf.train.MonitoredTrainingSession(
        made.target, is_chief=index == 0, scaffold=scaffold, config=settings
    ) as session:
        train(given, session, graph, index, workers)


if __name__ == "__main__":
    main()
