"""A convolutional network that learns shapes from TFRecord files.

The images are drawn here and written as Examples, in two files to learn from and one to be tested with. --input says
who reads them: "queues" (a reader, and threads that fill a shuffled queue) or "dataset" (tf.data).
"""

from __future__ import absolute_import, division, print_function

import os
import tempfile

import numpy as np
import tensorflow as tf

FLAGS = tf.app.flags.FLAGS

tf.app.flags.DEFINE_string("data_dir", "", "Where the records are written; a temporary directory by default.")
tf.app.flags.DEFINE_string("input", "queues", "queues or dataset")
tf.app.flags.DEFINE_integer("batch_size", 32, "Images of a step.")
tf.app.flags.DEFINE_integer("max_steps", 260, "Steps of all workers.")
tf.app.flags.DEFINE_string("master", "", "The session's target.")
tf.app.flags.DEFINE_integer("num_ps_tasks", 0, "Parameter servers; 0 for a program without a cluster.")
tf.app.flags.DEFINE_integer("task", 0, "Which worker this is.")

IMAGE_SIZE = 16
NUM_CLASSES = 4
SHAPES = ["bar", "column", "cross", "frame"]


def draw(rng, label):
    """One image, [IMAGE_SIZE, IMAGE_SIZE] of bytes: a shape somewhere on a noisy ground."""
    image = rng.randint(0, 90, [IMAGE_SIZE, IMAGE_SIZE])
    y, x = rng.randint(1, IMAGE_SIZE - 8, 2)
    light = rng.randint(130, 160)
    if label in (0, 2):
        image[y + 3, x : x + 7] += light
    if label in (1, 2):
        image[y : y + 7, x + 3] += light
    if label == 3:
        image[y, x : x + 7] += light
        image[y + 6, x : x + 7] += light
        image[y + 1 : y + 6, x] += light
        image[y + 1 : y + 6, x + 6] += light
    return image.astype(np.uint8)


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def convert_to(path, seed, count):
    """Writes `count` drawn images as Examples."""
    rng = np.random.RandomState(seed)
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with tf.python_io.TFRecordWriter(path, options=options) as writer:
        for index in range(count):
            label = index % NUM_CLASSES
            feature = {
                "height": _int64_feature(IMAGE_SIZE),
                "width": _int64_feature(IMAGE_SIZE),
                "label": _int64_feature(label),
                "name": _bytes_feature(SHAPES[label].encode()),
                "image_raw": _bytes_feature(draw(rng, label).tobytes()),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(serialized):
    features = tf.parse_single_example(
        serialized,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
            "name": tf.FixedLenFeature([], tf.string, default_value="none"),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([IMAGE_SIZE * IMAGE_SIZE])
    image = tf.reshape(image, [IMAGE_SIZE, IMAGE_SIZE, 1])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    return image, tf.cast(features["label"], tf.int32)


def inputs_from_queues(filenames, train):
    """Batches of images and labels by a reader; the test's files are read once, in their order."""
    with tf.name_scope("input"):
        queue = tf.train.string_input_producer(
            filenames, num_epochs=None if train else 1, shuffle=train, seed=1
        )
        options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
        _, serialized = tf.TFRecordReader(options=options).read(queue)
        image, label = parse(serialized)
        if train:
            return tf.train.shuffle_batch(
                [image, label],
                batch_size=FLAGS.batch_size,
                num_threads=2,
                capacity=200 + 3 * FLAGS.batch_size,
                min_after_dequeue=200,
                seed=2,
            )
        return tf.train.batch([image, label], batch_size=50, capacity=100, allow_smaller_final_batch=True)


def inputs_from_dataset(filenames, train):
    dataset = tf.data.TFRecordDataset(filenames, compression_type="GZIP")
    dataset = dataset.map(parse, num_parallel_calls=2)
    if train:
        dataset = dataset.shuffle(400, seed=2).repeat().batch(FLAGS.batch_size)
    else:
        dataset = dataset.batch(50)
    return dataset.prefetch(1).make_one_shot_iterator().get_next()


def _variable_with_weight_decay(name, shape, stddev, wd):
    var = tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev, seed=3))
    if wd:
        weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss")
        tf.add_to_collection("losses", weight_decay)
    return var


def inference(images):
    """Logits, [batch, NUM_CLASSES]."""
    with tf.variable_scope("conv1") as scope:
        kernel = _variable_with_weight_decay("weights", [5, 5, 1, 8], 0.1, None)
        biases = tf.get_variable("biases", [8], initializer=tf.constant_initializer(0.0))
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    pool1 = tf.nn.max_pool(conv1, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool1")
    norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
    with tf.variable_scope("conv2") as scope:
        kernel = _variable_with_weight_decay("weights", [3, 3, 8, 16], 0.1, None)
        biases = tf.get_variable("biases", [16], initializer=tf.constant_initializer(0.1))
        conv = tf.nn.conv2d(norm1, kernel, [1, 1, 1, 1], padding="SAME")
        conv2 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    pool2 = tf.nn.max_pool(conv2, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool2")
    with tf.variable_scope("local3") as scope:
        dim = int(np.prod(pool2.get_shape().as_list()[1:]))
        weights = _variable_with_weight_decay("weights", [dim, 32], 0.08, 0.002)
        biases = tf.get_variable("biases", [32], initializer=tf.constant_initializer(0.1))
        local3 = tf.nn.relu(tf.matmul(tf.reshape(pool2, [-1, dim]), weights) + biases, name=scope.name)
    with tf.variable_scope("softmax_linear") as scope:
        weights = _variable_with_weight_decay("weights", [32, NUM_CLASSES], 0.1, None)
        biases = tf.get_variable("biases", [NUM_CLASSES], initializer=tf.constant_initializer(0.0))
        return tf.add(tf.matmul(local3, weights), biases, name=scope.name)


def total_loss(logits, labels):
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, name="cross_entropy_per_example"
    )
    tf.add_to_collection("losses", tf.reduce_mean(cross_entropy, name="cross_entropy"))
    return tf.add_n(tf.get_collection("losses"), name="total_loss")


class _LoggerHook(tf.train.SessionRunHook):
    """Prints the loss of each step that this worker takes."""

    def __init__(self, loss, global_step):
        self._tensors = [loss, global_step]

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._tensors)

    def after_run(self, run_context, run_values):
        loss, step = run_values.results
        assert not np.isnan(loss), "Model diverged with loss = NaN"
        print("step %d loss %.6f" % (step, loss))


def train(train_files, test_files):
    inputs = {"queues": inputs_from_queues, "dataset": inputs_from_dataset}[FLAGS.input]
    tf.set_random_seed(4)
    worker = "/job:worker/task:%d" % FLAGS.task
    with tf.device(tf.train.replica_device_setter(FLAGS.num_ps_tasks, worker_device=worker)):
        global_step = tf.train.get_or_create_global_step()
        # Readers count their epochs in variables, which are each worker's own.
        with tf.device(worker if FLAGS.num_ps_tasks else None):
            images, labels = inputs(train_files, train=True)
            test_images, test_labels = inputs(test_files, train=False)
        with tf.variable_scope("net"):
            logits = inference(images)
        loss = total_loss(logits, labels)
        lr = tf.train.exponential_decay(0.005, global_step, 130, 0.5, staircase=True)
        opt = tf.train.AdamOptimizer(lr)
        grads = opt.compute_gradients(loss)
        with tf.control_dependencies([loss]):
            train_op = opt.apply_gradients(grads, global_step=global_step)
        with tf.variable_scope("net", reuse=True):
            test_logits = inference(test_images)
        correct = tf.nn.in_top_k(test_logits, test_labels, 1)

    hooks = [_LoggerHook(loss, global_step), tf.train.StopAtStepHook(last_step=FLAGS.max_steps)]
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    results = []

    class _TestHook(tf.train.SessionRunHook):
        """At the end, all of the test's images."""

        def end(self, session):
            while True:
                try:
                    results.extend(session.run(correct))
                except tf.errors.OutOfRangeError:
                    break

    with tf.train.MonitoredTrainingSession(
        master=FLAGS.master, is_chief=FLAGS.task == 0, hooks=hooks + [_TestHook()], config=config
    ) as mon_sess:
        while not mon_sess.should_stop():
            mon_sess.run(train_op)
    assert len(results) == 210, len(results)
    return np.mean(results)


def main(_):
    directory = os.path.join(FLAGS.data_dir or tempfile.mkdtemp(), "worker%d" % FLAGS.task)
    if tf.gfile.Exists(directory):
        tf.gfile.DeleteRecursively(directory)
    tf.gfile.MakeDirs(directory)
    train_files = [os.path.join(directory, "train-%d.tfrecords" % i) for i in range(2)]
    for index, path in enumerate(train_files):
        convert_to(path, 10 * FLAGS.task + index, 400)
    test_file = os.path.join(directory, "test.tfrecords")
    convert_to(test_file, 1000, 210)
    assert sum(1 for _ in tf.python_io.tf_record_iterator(test_file, tf.python_io.TFRecordOptions(2))) == 210
    accuracy = train(train_files, [test_file])
    assert accuracy > 0.9, accuracy
    print("accuracy", accuracy)


if __name__ == "__main__":
    tf.app.run()
