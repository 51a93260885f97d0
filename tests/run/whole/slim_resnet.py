"""A residual network of tf.contrib.slim: argument scopes, bottlenecks, weight decay, and slim's training loop."""

from __future__ import absolute_import, division, print_function

import collections
import os
import tempfile

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim

tf.app.flags.DEFINE_string("train_dir", "", "Directory of checkpoints and events.")
tf.app.flags.DEFINE_float("weight_decay", 0.0005, "The weight decay on the model weights.")
tf.app.flags.DEFINE_integer("max_number_of_steps", 60, "Steps of all workers.")
tf.app.flags.DEFINE_integer("batch_size", 24, "Images of a step.")
tf.app.flags.DEFINE_string("master", "", "The address of the TensorFlow master to use.")
tf.app.flags.DEFINE_integer("num_ps_tasks", 0, "The number of parameter servers.")
tf.app.flags.DEFINE_integer("task", 0, "Task id of the replica running the training.")
FLAGS = tf.app.flags.FLAGS

NUM_CLASSES = 3
SIZE = 12


class Block(collections.namedtuple("Block", ["scope", "unit_fn", "args"])):
    """A part of the network: units that follow each other."""


def resnet_arg_scope(weight_decay, is_training):
    batch_norm_params = {
        "decay": 0.8,
        "epsilon": 1e-5,
        "scale": True,
        "is_training": is_training,
        "updates_collections": tf.GraphKeys.UPDATE_OPS,
    }
    with slim.arg_scope(
        [slim.conv2d],
        weights_regularizer=slim.l2_regularizer(weight_decay),
        weights_initializer=slim.variance_scaling_initializer(),
        activation_fn=tf.nn.relu,
        normalizer_fn=slim.batch_norm,
        normalizer_params=batch_norm_params,
    ):
        with slim.arg_scope([slim.batch_norm], **batch_norm_params):
            with slim.arg_scope([slim.max_pool2d], padding="SAME") as arg_sc:
                return arg_sc


def subsample(inputs, factor, scope=None):
    if factor == 1:
        return inputs
    return slim.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@slim.add_arg_scope
def bottleneck(inputs, depth, depth_bottleneck, stride, outputs_collections=None, scope=None):
    """A unit that normalizes first, then adds three convolutions to its input."""
    with tf.variable_scope(scope, "bottleneck_v2", [inputs]) as sc:
        depth_in = slim.utils.last_dimension(inputs.get_shape(), min_rank=4)
        preact = slim.batch_norm(inputs, activation_fn=tf.nn.relu, scope="preact")
        if depth == depth_in:
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = slim.conv2d(
                preact, depth, [1, 1], stride=stride, normalizer_fn=None, activation_fn=None, scope="shortcut"
            )
        residual = slim.conv2d(preact, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = slim.conv2d(residual, depth_bottleneck, 3, stride, padding="SAME", scope="conv2")
        residual = slim.conv2d(
            residual, depth, [1, 1], stride=1, normalizer_fn=None, activation_fn=None, scope="conv3"
        )
        return slim.utils.collect_named_outputs(
            outputs_collections, sc.original_name_scope, shortcut + residual
        )


@slim.add_arg_scope
def stack_blocks_dense(net, blocks, outputs_collections=None):
    for block in blocks:
        with tf.variable_scope(block.scope, "block", [net]) as sc:
            for i, unit in enumerate(block.args):
                with tf.variable_scope("unit_%d" % (i + 1), values=[net]):
                    net = block.unit_fn(net, **unit)
            net = slim.utils.collect_named_outputs(outputs_collections, sc.name, net)
    return net


def resnet_v2(inputs, blocks, num_classes, is_training, reuse=None, scope=None):
    """Logits, and the ends of the units by their names."""
    with tf.variable_scope(scope, "resnet_v2", [inputs], reuse=reuse) as sc:
        end_points_collection = sc.name + "_end_points"
        with slim.arg_scope(
            [slim.conv2d, bottleneck, stack_blocks_dense], outputs_collections=end_points_collection
        ):
            with slim.arg_scope([slim.batch_norm], is_training=is_training):
                with slim.arg_scope([slim.conv2d], activation_fn=None, normalizer_fn=None):
                    net = slim.conv2d(inputs, 8, 3, stride=1, scope="conv1")
                net = stack_blocks_dense(net, blocks)
                net = slim.batch_norm(net, activation_fn=tf.nn.relu, scope="postnorm")
                net = tf.reduce_mean(net, [1, 2], name="pool5", keep_dims=True)
                net = slim.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits"
                )
                logits = tf.squeeze(net, [1, 2], name="SpatialSqueeze")
                end_points = slim.utils.convert_collection_to_dict(end_points_collection)
                end_points["predictions"] = slim.softmax(logits, scope="predictions")
                return logits, end_points


def resnet_tiny(inputs, is_training, reuse=None):
    def units(depth, count, stride):
        unit = {"depth": depth, "depth_bottleneck": depth // 4, "stride": 1}
        return [unit] * (count - 1) + [dict(unit, stride=stride)]

    blocks = [Block("block1", bottleneck, units(16, 2, 2)), Block("block2", bottleneck, units(32, 2, 2))]
    with slim.arg_scope(resnet_arg_scope(FLAGS.weight_decay, is_training)):
        return resnet_v2(inputs, blocks, NUM_CLASSES, is_training, reuse, scope="resnet_tiny")


def stripes(seed, count):
    """Images with stripes that lie, stand, or both."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, NUM_CLASSES, count)
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    phase = rng.uniform(0, 2 * np.pi, [2, count, 1, 1])
    rate = rng.uniform(0.8, 1.6, [count, 1, 1])
    lying, standing = np.sin(rate * y + phase[0]), np.sin(rate * x + phase[1])
    kind = labels[:, np.newaxis, np.newaxis]
    images = np.where(kind == 0, lying, np.where(kind == 1, standing, lying * standing))
    images = images[..., np.newaxis] + rng.normal(0, 0.3, [count, SIZE, SIZE, 3])
    return images.astype(np.float32), labels


def train(train_dir):
    worker = "/job:worker/task:%d" % FLAGS.task
    with tf.Graph().as_default():
        tf.set_random_seed(8)
        with tf.device(tf.train.replica_device_setter(FLAGS.num_ps_tasks, worker_device=worker)):
            global_step = slim.create_global_step()
            images, labels = stripes(FLAGS.task, 600)
            image, label = tf.train.slice_input_producer(
                [tf.constant(images), tf.constant(labels, tf.int64)], seed=1
            )
            images, labels = tf.train.batch([image, label], batch_size=FLAGS.batch_size, capacity=100)
            labels = slim.one_hot_encoding(labels, NUM_CLASSES)
            logits, end_points = resnet_tiny(images, is_training=True)
            tf.losses.softmax_cross_entropy(onehot_labels=labels, logits=logits, label_smoothing=0.02)
            total_loss = slim.losses.get_total_loss()
            for end_point in sorted(end_points):
                tf.summary.scalar("sparsity/" + end_point, tf.nn.zero_fraction(end_points[end_point]))
            for variable in slim.get_model_variables():
                tf.summary.histogram(variable.op.name, variable)
            tf.summary.scalar("losses/total_loss", total_loss)
            rate = tf.train.polynomial_decay(0.1, global_step, FLAGS.max_number_of_steps, 0.001)
            optimizer = tf.train.MomentumOptimizer(rate, momentum=0.9)
            train_op = slim.learning.create_train_op(
                total_loss, optimizer, clip_gradient_norm=4, summarize_gradients=True
            )
        decayed = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        assert len(decayed) == len([v for v in tf.trainable_variables() if v.op.name.endswith("/weights")])
        assert "resnet_tiny/block2/unit_2/bottleneck_v2" in end_points, sorted(end_points)
        return slim.learning.train(
            train_op,
            logdir=train_dir,
            master=FLAGS.master,
            is_chief=FLAGS.task == 0,
            number_of_steps=FLAGS.max_number_of_steps,
            log_every_n_steps=20,
            save_summaries_secs=600,
            save_interval_secs=600,
            startup_delay_steps=0,
            saver=tf.train.Saver(max_to_keep=1),
            session_config=tf.ConfigProto(device_filters=["/job:ps", worker], allow_soft_placement=True),
        )


def evaluate(train_dir):
    with tf.Graph().as_default():
        images, labels = stripes(50, 120)
        tf.train.create_global_step()
        logits, _ = resnet_tiny(tf.constant(images), is_training=False)
        names_to_values, names_to_updates = slim.metrics.aggregate_metric_map(
            {
                "accuracy": slim.metrics.streaming_accuracy(tf.argmax(logits, 1), labels),
                "recall": slim.metrics.streaming_recall_at_k(logits, labels, 2),
            }
        )
        values = slim.evaluation.evaluate_once(
            master="",
            checkpoint_path=tf.train.latest_checkpoint(train_dir),
            logdir=os.path.join(train_dir, "eval"),
            num_evals=1,
            eval_op=list(names_to_updates.values()),
            final_op=list(names_to_values.values()),
            variables_to_restore=slim.get_variables_to_restore(),
        )
        return dict(zip(names_to_values, values))


def main(_):
    train_dir = FLAGS.train_dir or tempfile.mkdtemp()
    loss = train(train_dir)
    print("loss %.4f" % loss)
    assert loss < 0.8, loss
    if FLAGS.task == 0:
        found = evaluate(train_dir)
        assert found["recall"] >= found["accuracy"] > 0.85, found
        print("accuracy", found["accuracy"])


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run()
