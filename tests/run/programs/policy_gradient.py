"""A policy gradient: gradients are collected over episodes, and applied together."""

import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim

tf.set_random_seed(3)
np.random.seed(3)
state_in = tf.placeholder(shape=[None, 2], dtype=tf.float32)
hidden = slim.fully_connected(state_in, 8, biases_initializer=None, activation_fn=tf.nn.relu)
output = slim.fully_connected(hidden, 2, activation_fn=tf.nn.softmax, biases_initializer=None)
reward_holder = tf.placeholder(shape=[None], dtype=tf.float32)
action_holder = tf.placeholder(shape=[None], dtype=tf.int32)
indexes = tf.range(0, tf.shape(output)[0]) * tf.shape(output)[1] + action_holder
responsible = tf.gather(tf.reshape(output, [-1]), indexes)
loss = -tf.reduce_mean(tf.log(responsible) * reward_holder)
tvars = tf.trainable_variables()
holders = [tf.placeholder(tf.float32, name=str(i) + "_holder") for i, _ in enumerate(tvars)]
gradients = tf.gradients(loss, tvars)
update = tf.train.AdamOptimizer(learning_rate=0.05).apply_gradients(zip(holders, tvars))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    rewards = []
    for episode in range(60):
        states = np.random.rand(20, 2)
        p = sess.run(output, {state_in: states})
        actions = [np.random.choice(2, p=q / q.sum()) for q in p.astype(np.float64)]
        reward = [1.0 if (s[0] > s[1]) == bool(a) else -1.0 for s, a in zip(states, actions)]
        grads = sess.run(gradients, {state_in: states, action_holder: actions, reward_holder: reward})
        sess.run(update, dict(zip(holders, grads)))
        rewards.append(np.mean(reward))
assert np.mean(rewards[-10:]) > np.mean(rewards[:10]), rewards
print("reward grows")
