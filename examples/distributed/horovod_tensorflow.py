"""Data parallel training with Horovod and TensorFlow 2: its gradient tape averages over the ranks."""

import horovod.tensorflow as hvd
import task
import tensorflow as tf


def main():
    given = task.options()
    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank() % len(gpus)], "GPU")
    weights, bias = [tf.Variable(value) for value in task.start(hvd.rank())]
    hvd.broadcast_variables([weights, bias], root_rank=0)

    @tf.function
    def train(points, classes):
        with tf.GradientTape() as tape:
            scores = tf.matmul(points, weights) + bias
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(classes, scores))
        tape = hvd.DistributedGradientTape(tape)
        for variable, gradient in zip([weights, bias], tape.gradient(loss, [weights, bias])):
            variable.assign_sub(task.RATE * gradient)
        return hvd.allreduce(loss)

    losses = []
    for step in range(given.steps):
        losses.append(train(*task.share(step, hvd.rank(), hvd.size())).numpy())
        if hvd.rank() == 0:
            task.log(step, losses[-1])
    models = hvd.allgather(tf.constant([task.flat(weights.numpy(), bias.numpy())])).numpy()
    task.finish(given, hvd.size(), losses, models)


if __name__ == "__main__":
    main()
