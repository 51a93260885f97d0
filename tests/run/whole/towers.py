"""Towers within one graph: each device computes gradients of its part of a batch, and their mean is applied once.

The parts lie ready in a StagingArea of each device, a step ahead. With --num_ps_tasks the variables are on the
parameter servers and the towers on the workers, of which one program makes the graph; without, all is in one process.
"""

from __future__ import absolute_import, division, print_function

import argparse
import re

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import data_flow_ops

parser = argparse.ArgumentParser()
parser.add_argument("--num_towers", type=int, default=2)
parser.add_argument("--batch_size", type=int, default=32, help="examples of a tower")
parser.add_argument("--max_steps", type=int, default=120)
parser.add_argument("--master", default="", help="the session's target")
parser.add_argument("--num_ps_tasks", type=int, default=0)
FLAGS = parser.parse_args()

TOWER_NAME = "tower"
MOVING_AVERAGE_DECAY = 0.95
FEATURES, CLASSES = 12, 4

rng = np.random.RandomState(1)
CENTRES = rng.normal(0, 1, [CLASSES, FEATURES])


def make_data(count):
    labels = rng.randint(0, CLASSES, count).astype(np.int32)
    return (CENTRES[labels] + rng.normal(0, 0.8, [count, FEATURES])).astype(np.float32), labels


def tower_device(i):
    if FLAGS.num_ps_tasks:
        return "/job:worker/task:%d" % i
    return "/gpu:%d" % i


def variable_device():
    return "/job:ps/task:0" if FLAGS.num_ps_tasks else "/cpu:0"


def _variable_on_cpu(name, shape, initializer):
    with tf.device(variable_device()):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def _activation_summary(x):
    tensor_name = re.sub("%s_[0-9]*/" % TOWER_NAME, "", x.op.name)
    tf.summary.histogram(tensor_name + "/activations", x)
    tf.summary.scalar(tensor_name + "/sparsity", tf.nn.zero_fraction(x))


def inference(features):
    with tf.variable_scope("hidden") as scope:
        weights = _variable_on_cpu(
            "weights", [FEATURES, 16], tf.truncated_normal_initializer(stddev=0.2, seed=1)
        )
        biases = _variable_on_cpu("biases", [16], tf.constant_initializer(0.1))
        hidden = tf.nn.relu(tf.matmul(features, weights) + biases, name=scope.name)
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(weights), 0.001, name="weight_loss"))
        _activation_summary(hidden)
    with tf.variable_scope("softmax_linear") as scope:
        weights = _variable_on_cpu(
            "weights", [16, CLASSES], tf.truncated_normal_initializer(stddev=0.2, seed=2)
        )
        biases = _variable_on_cpu("biases", [CLASSES], tf.constant_initializer(0.0))
        return tf.nn.bias_add(tf.matmul(hidden, weights), biases, name=scope.name)


def tower_loss(scope, features, labels):
    """The total loss of one tower: its cross entropy, and the weight decay."""
    logits = inference(features)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection("losses", tf.reduce_mean(cross_entropy, name="cross_entropy"))
    losses = tf.get_collection("losses", scope)
    assert len(losses) == 2, losses
    return tf.add_n(losses, name="total_loss")


def average_gradients(tower_grads):
    """The mean of each variable's gradients over all towers."""
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = []
        for g, _ in grad_and_vars:
            grads.append(tf.expand_dims(g, 0))
        grad = tf.reduce_mean(tf.concat(axis=0, values=grads), 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


def main():
    with tf.Graph().as_default(), tf.device(variable_device()):
        tf.set_random_seed(1)
        global_step = tf.get_variable(
            "global_step", [], initializer=tf.constant_initializer(0), trainable=False
        )
        lr = tf.train.exponential_decay(0.3, global_step, 40, 0.7, staircase=True)
        opt = tf.train.GradientDescentOptimizer(lr)

        with tf.device("/job:worker/task:0/cpu:0" if FLAGS.num_ps_tasks else "/cpu:0"):
            features, labels = make_data(1000)
            dataset = tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(1000, seed=3).repeat()
            dataset = dataset.batch(FLAGS.batch_size * FLAGS.num_towers, drop_remainder=True)
            features, labels = dataset.make_one_shot_iterator().get_next()
            feature_parts = tf.split(features, FLAGS.num_towers)
            label_parts = tf.split(labels, FLAGS.num_towers)

        tower_grads, staging_ops, sizes, tower_losses = [], [], [], []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(FLAGS.num_towers):
                with tf.device(tower_device(i)):
                    with tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                        area = data_flow_ops.StagingArea(
                            [tf.float32, tf.int32],
                            shapes=[[FLAGS.batch_size, FEATURES], [FLAGS.batch_size]],
                        )
                        staging_ops.append(area.put([feature_parts[i], label_parts[i]]))
                        sizes.append(area.size())
                        staged_features, staged_labels = area.get()
                        loss = tower_loss(scope, staged_features, staged_labels)
                        tf.get_variable_scope().reuse_variables()
                        summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                        grads = opt.compute_gradients(loss, gate_gradients=tf.train.Optimizer.GATE_GRAPH)
                        tower_grads.append(grads)
                        tower_losses.append(loss)
        grads = average_gradients(tower_grads)
        summaries.append(tf.summary.scalar("learning_rate", lr))
        for grad, var in grads:
            summaries.append(tf.summary.histogram(var.op.name + "/gradients", grad))
        apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
        variable_averages = tf.train.ExponentialMovingAverage(MOVING_AVERAGE_DECAY, global_step)
        variables_averages_op = variable_averages.apply(tf.trainable_variables())
        mean_loss = tf.add_n(tower_losses) / FLAGS.num_towers
        with tf.control_dependencies([apply_gradient_op, variables_averages_op]):
            with tf.control_dependencies(staging_ops):
                train_op = tf.identity(mean_loss, name="train_op")
        summary_op = tf.summary.merge(summaries)
        averages = [variable_averages.average(v) for v in tf.trainable_variables()]
        test_features, test_labels = make_data(400)

        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(FLAGS.master, config=config) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(tf.group(*staging_ops))
            for step in range(FLAGS.max_steps):
                loss_value = sess.run(train_op)
                print("step %d loss %.6f" % (step, loss_value))
            summary = tf.Summary.FromString(sess.run(summary_op))
            # Each step puts what the next one gets; the summaries have taken the last.
            assert sess.run(sizes) == [0] * FLAGS.num_towers
            tags = sorted(value.tag for value in summary.value)
            w1, b1, w2, b2 = sess.run(averages)
    assert "hidden/weights/gradients" in tags and len(tags) == 7, tags
    predicted = np.maximum(test_features.dot(w1) + b1, 0).dot(w2) + b2
    accuracy = np.mean(predicted.argmax(1) == test_labels)
    assert accuracy > 0.93, accuracy
    print("accuracy", accuracy)


if __name__ == "__main__":
    main()
