"""A language model of words: two layers of LSTM, truncated backpropagation, dropout and a decayed rate.

The text comes from a small grammar, whose entropy bounds what a model can reach. The state of a batch's rows goes on
from one piece of the text to the next, and gradients end at the pieces' borders.
"""

from __future__ import absolute_import, division, print_function

import collections

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("model", "small", "small or test: the configuration")
flags.DEFINE_string("master", "", "The session's target.")
flags.DEFINE_integer("num_ps_tasks", 0, "Parameter servers; 0 for a program without a cluster.")
flags.DEFINE_integer("task", 0, "Which worker this is.")
FLAGS = flags.FLAGS


class SmallConfig(object):
    """What learns the grammar within seconds."""

    init_scale = 0.1
    learning_rate = 1.0
    max_grad_norm = 5
    num_layers = 2
    num_steps = 10
    hidden_size = 48
    max_epoch = 4
    max_max_epoch = 6
    keep_prob = 0.9
    lr_decay = 0.5
    batch_size = 20
    words = 8000


class TestConfig(SmallConfig):
    """A few steps, to be looked at closely."""

    max_max_epoch = 1
    num_steps = 4
    hidden_size = 8
    words = 1000


def raw_data(words, seed):
    """Sentences such as "the old dog sees a cat <eos>"."""
    rng = np.random.RandomState(seed)
    text = []
    while len(text) < words:
        number = rng.randint(2)
        for part in range(2):
            text.append(["the", "some"][rng.randint(2)] if number else ["a", "this"][rng.randint(2)])
            if rng.rand() < 0.3:
                text.append(["old", "red", "big"][rng.randint(3)])
            text.append(["dog", "cat", "bird", "cow"][rng.randint(4)] + ("s" if number else ""))
            if part == 0:
                text.append(["see", "hear", "like"][rng.randint(3)] + ("" if number else "s"))
        text.append("<eos>")
    return text


def build_vocab(text):
    count_pairs = sorted(collections.Counter(text).items(), key=lambda x: (-x[1], x[0]))
    return dict(zip([word for word, _ in count_pairs], range(len(count_pairs))))


def ptb_producer(raw_data, batch_size, num_steps, name=None):
    """Two tensors, [batch_size, num_steps]: a piece of the text, and the same a word later."""
    with tf.name_scope(name, "PTBProducer", [raw_data, batch_size, num_steps]):
        raw_data = tf.convert_to_tensor(raw_data, name="raw_data", dtype=tf.int32)
        data_len = tf.size(raw_data)
        batch_len = data_len // batch_size
        data = tf.reshape(raw_data[0 : batch_size * batch_len], [batch_size, batch_len])
        epoch_size = (batch_len - 1) // num_steps
        assertion = tf.assert_positive(
            epoch_size, message="epoch_size == 0, decrease batch_size or num_steps"
        )
        with tf.control_dependencies([assertion]):
            epoch_size = tf.identity(epoch_size, name="epoch_size")
        i = tf.train.range_input_producer(epoch_size, shuffle=False).dequeue()
        x = tf.strided_slice(data, [0, i * num_steps], [batch_size, (i + 1) * num_steps])
        x.set_shape([batch_size, num_steps])
        y = tf.strided_slice(data, [0, i * num_steps + 1], [batch_size, (i + 1) * num_steps + 1])
        y.set_shape([batch_size, num_steps])
        return x, y


class PTBInput(object):
    """The input data."""

    def __init__(self, config, data, name=None):
        self.batch_size = batch_size = config.batch_size
        self.num_steps = num_steps = config.num_steps
        self.epoch_size = ((len(data) // batch_size) - 1) // num_steps
        self.input_data, self.targets = ptb_producer(data, batch_size, num_steps, name=name)


class PTBModel(object):
    """The model, to learn with or to be measured."""

    def __init__(self, is_training, config, input_, vocab_size):
        self._input = input_
        batch_size = input_.batch_size
        num_steps = input_.num_steps
        size = config.hidden_size

        def attn_cell():
            cell = tf.nn.rnn_cell.BasicLSTMCell(
                size, forget_bias=0.0, state_is_tuple=True, reuse=tf.get_variable_scope().reuse
            )
            if is_training and config.keep_prob < 1:
                return tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=config.keep_prob)
            return cell

        cell = tf.nn.rnn_cell.MultiRNNCell(
            [attn_cell() for _ in range(config.num_layers)], state_is_tuple=True
        )
        self._initial_state = cell.zero_state(batch_size, tf.float32)
        embedding = tf.get_variable("embedding", [vocab_size, size], dtype=tf.float32)
        inputs = tf.nn.embedding_lookup(embedding, input_.input_data)
        if is_training and config.keep_prob < 1:
            inputs = tf.nn.dropout(inputs, config.keep_prob)
        outputs = []
        state = self._initial_state
        with tf.variable_scope("RNN"):
            for time_step in range(num_steps):
                if time_step > 0:
                    tf.get_variable_scope().reuse_variables()
                (cell_output, state) = cell(inputs[:, time_step, :], state)
                outputs.append(cell_output)
        output = tf.reshape(tf.stack(axis=1, values=outputs), [-1, size])
        softmax_w = tf.get_variable("softmax_w", [size, vocab_size], dtype=tf.float32)
        softmax_b = tf.get_variable("softmax_b", [vocab_size], dtype=tf.float32)
        logits = tf.matmul(output, softmax_w) + softmax_b
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(input_.targets, [-1]), logits=logits
        )
        self._cost = cost = tf.reduce_sum(loss) / batch_size
        self._final_state = state
        if not is_training:
            return
        self._lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), config.max_grad_norm)
        optimizer = tf.train.GradientDescentOptimizer(self._lr)
        self._train_op = optimizer.apply_gradients(
            zip(grads, tvars), global_step=tf.train.get_or_create_global_step()
        )
        self._new_lr = tf.placeholder(tf.float32, shape=[], name="new_learning_rate")
        self._lr_update = tf.assign(self._lr, self._new_lr)

    def assign_lr(self, session, lr_value):
        session.run(self._lr_update, feed_dict={self._new_lr: lr_value})

    @property
    def input(self):
        return self._input

    @property
    def initial_state(self):
        return self._initial_state

    @property
    def cost(self):
        return self._cost

    @property
    def final_state(self):
        return self._final_state

    @property
    def train_op(self):
        return self._train_op


def run_epoch(session, model, eval_op=None, verbose=False):
    """The model's perplexity on its data."""
    costs = 0.0
    iters = 0
    state = session.run(model.initial_state)
    fetches = {"cost": model.cost, "final_state": model.final_state}
    if eval_op is not None:
        fetches["eval_op"] = eval_op
    for step in range(model.input.epoch_size):
        feed_dict = {}
        for i, (c, h) in enumerate(model.initial_state):
            feed_dict[c] = state[i].c
            feed_dict[h] = state[i].h
        vals = session.run(fetches, feed_dict)
        cost = vals["cost"]
        state = vals["final_state"]
        costs += cost
        iters += model.input.num_steps
        if verbose:
            print("step %d loss %.6f" % (step, cost))
    return np.exp(costs / iters)


def main(_):
    config = {"small": SmallConfig, "test": TestConfig}[FLAGS.model]()
    text = raw_data(config.words, seed=FLAGS.task + 1)
    word_to_id = build_vocab(raw_data(8000, seed=0))
    train_data = [word_to_id[word] for word in text]
    valid_data = [word_to_id[word] for word in raw_data(1000, seed=99)]

    worker = "/job:worker/task:%d" % FLAGS.task
    with (
        tf.Graph().as_default(),
        tf.device(tf.train.replica_device_setter(FLAGS.num_ps_tasks, worker_device=worker)),
    ):
        tf.set_random_seed(11)
        initializer = tf.random_uniform_initializer(-config.init_scale, config.init_scale)
        with tf.name_scope("Train"):
            train_input = PTBInput(config=config, data=train_data, name="TrainInput")
            with tf.variable_scope("Model", reuse=None, initializer=initializer):
                m = PTBModel(True, config, train_input, len(word_to_id))
            tf.summary.scalar("Training Loss", m.cost)
            tf.summary.scalar("Learning Rate", m._lr)
        with tf.name_scope("Valid"):
            valid_input = PTBInput(config=config, data=valid_data, name="ValidInput")
            with tf.variable_scope("Model", reuse=True, initializer=initializer):
                mvalid = PTBModel(False, config, valid_input, len(word_to_id))

        sv = tf.train.Supervisor(
            is_chief=FLAGS.task == 0,
            logdir=None,
            summary_op=None,
            global_step=tf.train.get_or_create_global_step(),
            recovery_wait_secs=0.2,
        )
        session_config = tf.ConfigProto(device_filters=["/job:ps", worker], allow_soft_placement=True)
        with sv.managed_session(FLAGS.master, config=session_config) as session:
            for i in range(config.max_max_epoch):
                lr_decay = config.lr_decay ** max(i + 1 - config.max_epoch, 0.0)
                m.assign_lr(session, config.learning_rate * lr_decay)
                train_perplexity = run_epoch(session, m, eval_op=m.train_op, verbose=FLAGS.model == "test")
                print("Epoch: %d Train Perplexity: %.3f" % (i + 1, train_perplexity))
            perplexity = run_epoch(session, mvalid)
    # The grammar has 11.3 bits for a sentence of 6.6 words, which is a perplexity of 3.3.
    if FLAGS.model == "small":
        assert perplexity < 3.8, perplexity
    print("perplexity %.4f" % perplexity)


if __name__ == "__main__":
    tf.app.run()
