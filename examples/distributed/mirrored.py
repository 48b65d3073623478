"""Data parallel training with TensorFlow's MultiWorkerMirroredStrategy: the workers of TF_CONFIG, and no servers."""

import task
import tensorflow as tf


def main():
    given = task.options()
    # Before anything else: it starts the server that the other workers talk to.
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    # A run of one process has no TF_CONFIG, and so neither workers nor a number.
    workers = len(strategy.cluster_resolver.cluster_spec().as_dict().get("worker", [None]))
    rank = strategy.cluster_resolver.task_id or 0
    size = strategy.num_replicas_in_sync
    task.require(size >= workers, f"{workers} workers and only {size} replicas")

    mean = tf.VariableAggregation.MEAN
    with strategy.scope():  # takes the values of worker 0
        weights, bias = [tf.Variable(value, aggregation=mean) for value in task.start(rank)]
    steps = [task.batch(step) for step in range(given.steps)]
    points, classes = [tf.concat(part, axis=0) for part in zip(*steps)]
    batches = tf.data.Dataset.from_tensor_slices((points, classes)).batch(task.BATCH, drop_remainder=True)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    batches = strategy.experimental_distribute_dataset(batches.with_options(options))

    def train(points, classes):
        with tf.GradientTape() as tape:
            scores = tf.matmul(points, weights) + bias
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(classes, scores))
        for variable, gradient in zip([weights, bias], tape.gradient(loss, [weights, bias])):
            variable.assign_sub(task.RATE * gradient)
        return loss

    @tf.function
    def everywhere(points, classes):
        return strategy.reduce(
            tf.distribute.ReduceOp.MEAN, strategy.run(train, args=(points, classes)), axis=None
        )

    @tf.function
    def models():
        def row():
            return tf.concat([tf.reshape(weights, [1, -1]), tf.reshape(bias, [1, -1])], axis=1)

        return strategy.gather(strategy.run(row), axis=0)

    losses = []
    for step, (points, classes) in enumerate(batches):
        losses.append(everywhere(points, classes).numpy())
        if rank == 0:
            task.log(step, losses[-1])
    task.finish(given, size, losses, models().numpy())


if __name__ == "__main__":
    main()
