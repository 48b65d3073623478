"""Parameter servers with TensorFlow's ParameterServerStrategy: the chief hands out work, workers and servers serve.

Each step gives every worker's share to whichever worker is free; when all gradients are there, the chief changes the
variables, which live with the servers: the same steps as one process would make.
"""

import task
import tensorflow as tf


def serve(resolver):
    """What a worker or a parameter server does, until the run ends with the chief."""
    made = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol=resolver.rpc_layer or "grpc",
        start=True,
    )
    made.join()


def coordinate(given, resolver):
    workers = resolver.cluster_spec().num_tasks("worker")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights, bias = [tf.Variable(value) for value in task.start(0)]
    for variable in (weights, bias):
        task.require("/job:ps" in variable.device, f"{variable.device} is not with a server")

    @tf.function
    def gradients(points, classes):
        with tf.GradientTape() as tape:
            scores = tf.matmul(points, weights) + bias
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(classes, scores))
        return [loss, *tape.gradient(loss, [weights, bias])]

    @tf.function
    def model():
        return tf.concat([tf.reshape(weights, [-1]), tf.reshape(bias, [-1])], axis=0)

    losses = []
    for step in range(given.steps):
        shares = [task.share(step, worker, workers) for worker in range(workers)]
        waiting = [coordinator.schedule(gradients, args=share) for share in shares]
        parts = [answer.fetch() for answer in waiting]
        loss, *slopes = [sum(values) / workers for values in zip(*parts)]
        for variable, slope in zip((weights, bias), slopes):
            variable.assign_sub(task.RATE * slope)
        losses.append(float(loss))
        task.log(step, losses[-1])
    seen = [coordinator.schedule(model) for _ in range(workers)]
    task.finish(given, workers, losses, [answer.fetch() for answer in seen])


def main():
    given = task.options()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        serve(resolver)
    coordinate(given, resolver)


if __name__ == "__main__":
    main()
