"""A generator and a discriminator with variable scopes that are used again."""

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim


def generator(z, reuse=None):
    with tf.variable_scope("generator", reuse=reuse):
        net = slim.fully_connected(z, 16, normalizer_fn=slim.batch_norm, scope="g1")
        net = tf.reshape(net, [-1, 4, 4, 1])
        net = slim.convolution2d_transpose(net, 4, [3, 3], stride=[2, 2], padding="SAME", scope="g2")
        return slim.conv2d_transpose(net, 1, 3, activation_fn=tf.nn.tanh, normalizer_fn=None, scope="out")


def discriminator(image, reuse=None):
    with tf.variable_scope("discriminator") as scope:
        if reuse:
            scope.reuse_variables()
        net = slim.convolution2d(image, 4, [3, 3], stride=[2, 2], activation_fn=tf.nn.leaky_relu, scope="d1")
        return slim.fully_connected(slim.flatten(net), 1, activation_fn=None, scope="d_out")


tf.reset_default_graph()
real = tf.placeholder(tf.float32, [None, 8, 8, 1])
z = tf.placeholder(tf.float32, [None, 5])
fake = generator(z)
logits_real, logits_fake = discriminator(real), discriminator(fake, reuse=True)
loss = tf.nn.sigmoid_cross_entropy_with_logits
d_loss = tf.reduce_mean(loss(logits=logits_real, labels=tf.ones_like(logits_real))) + tf.reduce_mean(
    loss(logits=logits_fake, labels=tf.zeros_like(logits_fake))
)
g_loss = tf.reduce_mean(loss(logits=logits_fake, labels=tf.ones_like(logits_fake)))
t_vars = tf.trainable_variables()
d_vars = filter(lambda v: "discriminator" in v.name, t_vars)
g_vars = (v for v in t_vars if v.name.startswith("generator"))
d_step = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(d_loss, var_list=d_vars)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    g_step = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(g_loss, var_list=g_vars)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(20):
        noise = np.random.uniform(-1, 1, [16, 5])
        sess.run([d_step], {real: np.ones([16, 8, 8, 1]), z: noise})
        sess.run([g_step], {z: noise})
    image, d = sess.run([fake, d_loss], {real: np.ones([16, 8, 8, 1]), z: noise})
assert image.shape == (16, 8, 8, 1) and np.isfinite(d)
print("done", sorted(v.op.name for v in slim.get_model_variables("generator"))[0])
