"""A model with slim: argument scopes, losses, the training loop, a restored evaluation."""

import tempfile

import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.contrib.slim.python.slim.learning import train_step
from tensorflow.python.platform import tf_logging as logging

logging.set_verbosity(logging.WARN)
rng = np.random.RandomState(1)
features = rng.rand(128, 8, 8, 1).astype(np.float32)
answers = (features.mean((1, 2, 3)) > 0.5).astype(np.int64)
features[answers == 1] += 0.5


def net_arg_scope(weight_decay=0.0005):
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        activation_fn=tf.nn.relu,
        weights_regularizer=slim.l2_regularizer(weight_decay),
        biases_initializer=tf.zeros_initializer(),
    ):
        with slim.arg_scope([slim.conv2d], padding="SAME", normalizer_fn=slim.batch_norm) as sc:
            return sc


def net(images, is_training=True):
    with tf.variable_scope("net", "net", [images]) as sc:
        end_points_collection = sc.original_name_scope + "_end_points"
        with slim.arg_scope([slim.conv2d, slim.max_pool2d], outputs_collections=end_points_collection):
            with (
                slim.arg_scope([slim.batch_norm, slim.dropout], is_training=is_training),
                slim.arg_scope([slim.batch_norm], decay=0.8),
            ):
                x = slim.repeat(images, 2, slim.conv2d, 4, [3, 3], scope="conv1")
                x = slim.max_pool2d(x, [2, 2], scope="pool1")
                x = slim.dropout(slim.flatten(x), 0.9, scope="dropout")
        logits = slim.fully_connected(x, 2, activation_fn=None, scope="logits")
        return logits, slim.utils.convert_collection_to_dict(end_points_collection)


logdir = tempfile.mkdtemp()
with tf.Graph().as_default():
    image, label = tf.train.slice_input_producer([features, answers], shuffle=True)
    images, labels = tf.train.batch([image, label], batch_size=16)
    with slim.arg_scope(net_arg_scope()):
        logits, end_points = net(images)
    assert "net/conv1/conv1_1" in end_points and "net/pool1" in end_points, end_points
    slim.losses.softmax_cross_entropy(logits, slim.one_hot_encoding(labels, 2))
    total_loss = slim.losses.get_total_loss()
    tf.summary.scalar("losses/total", total_loss)
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    train_op = slim.learning.create_train_op(
        total_loss, optimizer, clip_gradient_norm=5, summarize_gradients=True
    )
    final = slim.learning.train(
        train_op,
        logdir,
        number_of_steps=40,
        log_every_n_steps=10,
        train_step_fn=lambda *a: train_step(*a),
        save_summaries_secs=1,
    )
assert final < 1.0, final
with tf.Graph().as_default():
    with slim.arg_scope(net_arg_scope()):
        logits, _ = net(tf.constant(features), is_training=False)
    metrics, updates = slim.metrics.aggregate_metric_map(
        {
            "accuracy": slim.metrics.streaming_accuracy(tf.argmax(logits, 1), tf.constant(answers)),
        }
    )
    restored = slim.get_variables_to_restore(exclude=["global_step"])
    slim.get_or_create_global_step()
    result = slim.evaluation.evaluate_once(
        "",
        tf.train.latest_checkpoint(logdir),
        logdir,
        num_evals=1,
        eval_op=list(updates.values()),
        final_op=metrics["accuracy"],
    )
    init = slim.assign_from_checkpoint_fn(tf.train.latest_checkpoint(logdir), restored)
    with tf.Session() as sess:
        init(sess)
        assert (sess.run(logits).argmax(1) == answers).mean() == np.float32(result)
print("accuracy", result)
