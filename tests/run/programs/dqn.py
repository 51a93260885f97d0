"""Q-learning with a target network, in an environment of its own."""

import random

import numpy as np
import tensorflow as tf


class DeepQNetwork:
    def __init__(self):
        self.s = tf.placeholder(tf.float32, [None, 2], name="s")
        self.q_target = tf.placeholder(tf.float32, [None, 2], name="Q_target")
        self.q_eval = self._net(self.s, "eval_net", ["eval_params", tf.GraphKeys.GLOBAL_VARIABLES])
        self.s_ = tf.placeholder(tf.float32, [None, 2], name="s_")
        self.q_next = self._net(self.s_, "target_net", ["target_params", tf.GraphKeys.GLOBAL_VARIABLES])
        t_params, e_params = tf.get_collection("target_params"), tf.get_collection("eval_params")
        self.replace = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
        self.loss = tf.reduce_mean(tf.squared_difference(self.q_target, self.q_eval))
        self.train = tf.train.RMSPropOptimizer(0.01).minimize(self.loss, var_list=e_params)
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

    def _net(self, x, scope, c_names):
        w_initializer, b_initializer = tf.random_normal_initializer(0.0, 0.3), tf.constant_initializer(0.1)
        with tf.variable_scope(scope):
            with tf.variable_scope("l1"):
                w1 = tf.get_variable("w1", [2, 10], initializer=w_initializer, collections=c_names)
                b1 = tf.get_variable("b1", [1, 10], initializer=b_initializer, collections=c_names)
                l1 = tf.nn.relu(tf.matmul(x, w1) + b1)
            w2 = tf.get_variable("w2", [10, 2], initializer=w_initializer, collections=c_names)
            return tf.matmul(l1, w2)


rng = random.Random(0)
net = DeepQNetwork()
memory = []
for _ in range(200):
    s = [rng.random(), rng.random()]
    a = rng.randrange(2)
    memory.append((s, a, 1.0 if (s[0] > 0.5) == (a == 1) else 0.0, [rng.random(), rng.random()]))
for step in range(150):
    if step % 20 == 0:
        net.sess.run(net.replace)
    part = rng.sample(memory, 32)
    q_next, q_eval = net.sess.run(
        [net.q_next, net.q_eval], {net.s_: [m[3] for m in part], net.s: [m[0] for m in part]}
    )
    target = q_eval.copy()
    for i, (_, a, r, _) in enumerate(part):
        target[i, a] = r + 0.1 * q_next[i].max()
    _, cost = net.sess.run([net.train, net.loss], {net.s: [m[0] for m in part], net.q_target: target})
assert np.isfinite(cost)
chosen = net.sess.run(tf.argmax(net.q_eval, axis=1), {net.s: [[0.1, 0.5], [0.9, 0.5]]})
assert list(chosen) == [0, 1], chosen
print("chosen", list(chosen))
