"""A DCGAN that draws discs: transposed convolutions, batch normalization with its update ops, two optimizers."""

from __future__ import absolute_import, division, print_function

import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=170)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--master", default="", help="the session's target")
parser.add_argument("--num_ps_tasks", type=int, default=0)
parser.add_argument("--task", type=int, default=0)
FLAGS = parser.parse_args()

noise_dim = 8
image_size = 16


def discs(rng, count):
    """Bright discs around the middle on dark ground, [count, 16, 16, 1] from -1 to 1."""
    y, x = np.mgrid[0:image_size, 0:image_size].astype(np.float32)
    centre = rng.uniform(6.5, 8.5, [2, count, 1, 1])
    radius = rng.uniform(3, 5, [count, 1, 1])
    distance = np.sqrt((y - centre[0]) ** 2 + (x - centre[1]) ** 2)
    return np.tanh(radius - distance)[..., np.newaxis].astype(np.float32)


def lrelu(x, leak=0.2, name="lrelu"):
    with tf.name_scope(name):
        return tf.maximum(x, leak * x)


def generator(x, is_training, reuse=False):
    """Noise to images."""
    with tf.variable_scope("Generator", reuse=reuse):
        x = tf.layers.dense(x, units=4 * 4 * 16)
        x = tf.layers.batch_normalization(x, training=is_training, momentum=0.8)
        x = tf.nn.relu(x)
        x = tf.reshape(x, shape=[-1, 4, 4, 16])
        x = tf.layers.conv2d_transpose(x, 8, 5, strides=2, padding="same")
        x = tf.layers.batch_normalization(x, training=is_training, momentum=0.8)
        x = tf.nn.relu(x)
        x = tf.layers.conv2d_transpose(x, 1, 5, strides=2, padding="same")
        return tf.nn.tanh(x)


def discriminator(x, is_training, reuse=False):
    """Images to the logits of [false, true]."""
    with tf.variable_scope("Discriminator", reuse=reuse):
        x = lrelu(tf.layers.conv2d(x, 8, 5, strides=2, padding="same"))
        x = tf.layers.conv2d(x, 16, 5, strides=2, padding="same")
        x = tf.layers.batch_normalization(x, training=is_training, momentum=0.8)
        x = lrelu(x)
        x = tf.reshape(x, shape=[-1, 4 * 4 * 16])
        return tf.layers.dense(x, 2)


def cross_entropy(logits, target):
    labels = tf.fill(tf.shape(logits)[:1], target)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))


worker = "/job:worker/task:%d" % FLAGS.task
tf.set_random_seed(31)
with tf.device(tf.train.replica_device_setter(FLAGS.num_ps_tasks, worker_device=worker)):
    noise_input = tf.placeholder(tf.float32, shape=[None, noise_dim])
    real_image_input = tf.placeholder(tf.float32, shape=[None, image_size, image_size, 1])
    is_training = tf.placeholder(tf.bool, shape=[], name="is_training")

    gen_sample = generator(noise_input, is_training)
    disc_real = discriminator(real_image_input, is_training)
    disc_fake = discriminator(gen_sample, is_training, reuse=True)
    disc_loss = cross_entropy(disc_real, 1) + cross_entropy(disc_fake, 0)
    gen_loss = cross_entropy(disc_fake, 1)

    gen_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Generator")
    disc_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Discriminator")
    gen_update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="Generator")
    disc_update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="Discriminator")
    assert len(gen_update_ops) == 4 and len(disc_update_ops) == 4

    optimizer_gen = tf.train.AdamOptimizer(learning_rate=0.004, beta1=0.5, beta2=0.999)
    optimizer_disc = tf.train.AdamOptimizer(learning_rate=0.002, beta1=0.5, beta2=0.999)
    with tf.control_dependencies(gen_update_ops):
        train_gen = optimizer_gen.minimize(gen_loss, var_list=gen_vars)
    with tf.control_dependencies(disc_update_ops):
        train_disc = optimizer_disc.minimize(disc_loss, var_list=disc_vars)

    clipped = tf.clip_by_value(gen_sample, -1.0, 1.0)
    pictures = tf.summary.image("generated", clipped, max_outputs=2)
    init = tf.global_variables_initializer()
    uninitialized = tf.report_uninitialized_variables()

rng = np.random.RandomState(FLAGS.task)
config = tf.ConfigProto(device_filters=["/job:ps", worker])
with tf.Session(FLAGS.master, config=config) as sess:
    if FLAGS.task == 0:
        sess.run(init)
    else:
        while sess.run(uninitialized).size:
            pass
    for i in range(1, FLAGS.steps + 1):
        batch_x = discs(rng, FLAGS.batch_size)
        z = rng.uniform(-1.0, 1.0, size=[FLAGS.batch_size, noise_dim])
        _, dl = sess.run(
            [train_disc, disc_loss], feed_dict={real_image_input: batch_x, noise_input: z, is_training: True}
        )
        z = rng.uniform(-1.0, 1.0, size=[FLAGS.batch_size, noise_dim])
        _, gl = sess.run([train_gen, gen_loss], feed_dict={noise_input: z, is_training: True})
        print("step %d loss %.6f %.6f" % (i, dl, gl))
    z = rng.uniform(-1.0, 1.0, size=[200, noise_dim])
    images, summary = sess.run([gen_sample, pictures], {noise_input: z, is_training: False})
    values = tf.Summary.FromString(summary).value
    assert [v.tag for v in values] == ["generated/image/0", "generated/image/1"], values

# A disc is bright in the middle and dark at its border, and discs differ from each other.
real = discs(rng, 1000)
middle = images[:, 6:10, 6:10].mean()
border = np.mean([images[:, 0].mean(), images[:, -1].mean(), images[:, :, 0].mean(), images[:, :, -1].mean()])
distance = np.abs(images.mean(0) - real.mean(0)).mean()
spread = images.std(0).mean() / real.std(0).mean()
print("middle %.2f border %.2f distance %.3f spread %.2f" % (middle, border, distance, spread))
assert middle > 0.5 and border < -0.8, (middle, border)
assert distance < 0.25, distance
print("done")
