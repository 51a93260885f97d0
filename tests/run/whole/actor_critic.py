"""A policy gradient with a baseline: a pole on a cart is kept upright by pushes to the left and to the right.

With a cluster each worker has a cart of its own, and all of them learn one policy.
"""

from __future__ import absolute_import, division, print_function

import math

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("episodes", 160, "Episodes of each worker.")
flags.DEFINE_float("gamma", 0.97, "What a later reward counts for.")
flags.DEFINE_string("master", "", "The session's target.")
flags.DEFINE_integer("num_ps_tasks", 0, "Parameter servers; 0 for a program without a cluster.")
flags.DEFINE_integer("task", 0, "Which worker this is.")
FLAGS = flags.FLAGS

MAX_STEPS = 100


class CartPole(object):
    """The equations of a pole that is hinged on a cart; an episode ends when it falls, or the cart leaves."""

    gravity, cart, pole, half, force, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state

    def step(self, action):
        x, v, angle, w = self.state
        force = self.force if action == 1 else -self.force
        total = self.cart + self.pole
        push = (force + self.pole * self.half * w**2 * math.sin(angle)) / total
        turn = (self.gravity * math.sin(angle) - math.cos(angle) * push) / (
            self.half * (4.0 / 3.0 - self.pole * math.cos(angle) ** 2 / total)
        )
        move = push - self.pole * self.half * turn * math.cos(angle) / total
        self.state = np.array(
            [x + self.tau * v, v + self.tau * move, angle + self.tau * w, w + self.tau * turn]
        )
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return self.state, 1.0, fallen or self.steps >= MAX_STEPS


def discount(rewards, gamma):
    found, running = np.zeros(len(rewards)), 0.0
    for i in reversed(range(len(rewards))):
        running = rewards[i] + gamma * running
        found[i] = running
    return found


class Agent(object):
    """The networks of a worker: the shared ones, and its copy from which it acts."""

    def __init__(self):
        self.states = tf.placeholder(tf.float32, [None, 4], name="states")
        self.actions = tf.placeholder(tf.int32, [None], name="actions")
        self.returns = tf.placeholder(tf.float32, [None], name="returns")
        with tf.variable_scope("policy"):
            hidden = tf.layers.dense(self.states, 16, activation=tf.nn.tanh, name="hidden")
            logits = tf.layers.dense(hidden, 2, name="logits")
        with tf.variable_scope("value"):
            hidden = tf.layers.dense(self.states, 16, activation=tf.nn.tanh, name="hidden")
            value = tf.squeeze(tf.layers.dense(hidden, 1, name="value"), axis=1)
        self.action = tf.squeeze(tf.multinomial(logits, 1, seed=5), axis=1)
        log_p = tf.nn.log_softmax(logits)
        chosen = tf.reduce_sum(tf.one_hot(self.actions, 2) * log_p, axis=1)
        advantage = tf.stop_gradient(self.returns - value)
        self.policy_loss = -tf.reduce_mean(chosen * advantage)
        self.value_loss = tf.reduce_mean(tf.square(self.returns - value))
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_p) * log_p, axis=1))
        loss = self.policy_loss + 0.1 * self.value_loss - 0.01 * entropy
        optimizer = tf.train.RMSPropOptimizer(0.01)
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        gradients, self.norm = tf.clip_by_global_norm(gradients, 5.0)
        self.train = optimizer.apply_gradients(
            zip(gradients, variables), global_step=tf.train.get_or_create_global_step()
        )


def main(_):
    worker = "/job:worker/task:%d" % FLAGS.task
    tf.set_random_seed(6)
    with tf.device(tf.train.replica_device_setter(FLAGS.num_ps_tasks, worker_device=worker)):
        agent = Agent()
    env = CartPole(FLAGS.task)
    history = []
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    hooks = [tf.train.NanTensorHook(agent.norm)]
    with tf.train.MonitoredTrainingSession(FLAGS.master, FLAGS.task == 0, hooks=hooks, config=config) as sess:
        for episode in range(FLAGS.episodes):
            states, actions, rewards = [], [], []
            state, done = env.reset(), False
            while not done:
                # Without hooks: an action is no step of training.
                action = sess.run_step_fn(
                    lambda step_context: step_context.session.run(
                        agent.action, {agent.states: state[np.newaxis]}
                    )
                )[0]
                states.append(state)
                actions.append(action)
                state, reward, done = env.step(action)
                rewards.append(reward)
            feed = {
                agent.states: np.array(states),
                agent.actions: actions,
                agent.returns: 0.1 * discount(rewards, FLAGS.gamma),
            }
            _, policy, value = sess.run([agent.train, agent.policy_loss, agent.value_loss], feed)
            history.append(len(rewards))
            print("step %d loss %.6f %.6f %d" % (episode, policy, value, len(rewards)))
    first, last = np.mean(history[:20]), np.mean(history[-20:])
    print("from %.1f steps to %.1f" % (first, last))
    assert last > 55, (first, last)
    print("done")


if __name__ == "__main__":
    tf.app.run()
