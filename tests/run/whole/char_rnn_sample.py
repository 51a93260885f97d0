"""Learns a text by its characters, saves what it has learned, and writes a text of its own with it."""

from __future__ import print_function

import argparse
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.contrib import legacy_seq2seq, rnn

try:
    import cPickle
except ImportError:
    import pickle as cPickle

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--save_dir", default="", help="directory of the checkpoints and of the vocabulary")
parser.add_argument("--model", default="lstm", choices=["rnn", "gru", "lstm"])
parser.add_argument("--rnn_size", type=int, default=48)
parser.add_argument("--num_layers", type=int, default=2)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--seq_length", type=int, default=12)
parser.add_argument("--num_epochs", type=int, default=4)
parser.add_argument("--grad_clip", type=float, default=5.0)
parser.add_argument("--learning_rate", type=float, default=0.01)
parser.add_argument("--decay_rate", type=float, default=0.9)
parser.add_argument("--output_keep_prob", type=float, default=1.0)
parser.add_argument("--master", default="", help="the session's target")
parser.add_argument("--num_ps_tasks", type=int, default=0)
parser.add_argument("--task", type=int, default=0)

WORDS = "river stone under green bridge night lantern walks slowly home".split()


class TextLoader(object):
    """Batches of a text that is made here: words in any order, each by its letters."""

    def __init__(self, batch_size, seq_length, seed):
        self.batch_size = batch_size
        self.seq_length = seq_length
        rng = np.random.RandomState(seed)
        data = " ".join(WORDS[i] for i in rng.randint(0, len(WORDS), 1200))
        self.chars = sorted(set(" ".join(WORDS)))
        self.vocab_size = len(self.chars)
        self.vocab = dict(zip(self.chars, range(len(self.chars))))
        self.tensor = np.array(list(map(self.vocab.get, data)))
        self.create_batches()
        self.reset_batch_pointer()

    def create_batches(self):
        self.num_batches = int(self.tensor.size / (self.batch_size * self.seq_length))
        self.tensor = self.tensor[: self.num_batches * self.batch_size * self.seq_length]
        xdata = self.tensor
        ydata = np.copy(self.tensor)
        ydata[:-1] = xdata[1:]
        ydata[-1] = xdata[0]
        self.x_batches = np.split(xdata.reshape(self.batch_size, -1), self.num_batches, 1)
        self.y_batches = np.split(ydata.reshape(self.batch_size, -1), self.num_batches, 1)

    def next_batch(self):
        x, y = self.x_batches[self.pointer], self.y_batches[self.pointer]
        self.pointer += 1
        return x, y

    def reset_batch_pointer(self):
        self.pointer = 0


class Model(object):
    def __init__(self, args, training=True):
        self.args = args
        if not training:
            args.batch_size = 1
            args.seq_length = 1
        if args.model == "rnn":
            cell_fn = rnn.BasicRNNCell
        elif args.model == "gru":
            cell_fn = rnn.GRUCell
        elif args.model == "lstm":
            cell_fn = rnn.BasicLSTMCell
        else:
            raise Exception("model type not supported: {}".format(args.model))
        cells = []
        for _ in range(args.num_layers):
            cell = cell_fn(args.rnn_size)
            if training and args.output_keep_prob < 1.0:
                cell = rnn.DropoutWrapper(cell, output_keep_prob=args.output_keep_prob)
            cells.append(cell)
        self.cell = cell = rnn.MultiRNNCell(cells, state_is_tuple=True)
        self.input_data = tf.placeholder(tf.int32, [args.batch_size, args.seq_length])
        self.targets = tf.placeholder(tf.int32, [args.batch_size, args.seq_length])
        self.initial_state = cell.zero_state(args.batch_size, tf.float32)
        with tf.variable_scope("rnnlm"):
            softmax_w = tf.get_variable("softmax_w", [args.rnn_size, args.vocab_size])
            softmax_b = tf.get_variable("softmax_b", [args.vocab_size])
        embedding = tf.get_variable("embedding", [args.vocab_size, args.rnn_size])
        inputs = tf.nn.embedding_lookup(embedding, self.input_data)
        inputs = tf.split(inputs, args.seq_length, 1)
        inputs = [tf.squeeze(input_, [1]) for input_ in inputs]

        def loop(prev, _):
            prev = tf.matmul(prev, softmax_w) + softmax_b
            prev_symbol = tf.stop_gradient(tf.argmax(prev, 1))
            return tf.nn.embedding_lookup(embedding, prev_symbol)

        outputs, last_state = legacy_seq2seq.rnn_decoder(
            inputs, self.initial_state, cell, loop_function=loop if not training else None, scope="rnnlm"
        )
        output = tf.reshape(tf.concat(outputs, 1), [-1, args.rnn_size])
        self.logits = tf.matmul(output, softmax_w) + softmax_b
        self.probs = tf.nn.softmax(self.logits)
        loss = legacy_seq2seq.sequence_loss_by_example(
            [self.logits], [tf.reshape(self.targets, [-1])], [tf.ones([args.batch_size * args.seq_length])]
        )
        with tf.name_scope("cost"):
            self.cost = tf.reduce_sum(loss) / args.batch_size / args.seq_length
        self.final_state = last_state
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), args.grad_clip)
        with tf.name_scope("optimizer"):
            optimizer = tf.train.AdamOptimizer(self.lr)
        self.train_op = optimizer.apply_gradients(zip(grads, tvars))
        tf.summary.histogram("logits", self.logits)
        tf.summary.histogram("loss", loss)
        tf.summary.scalar("train_loss", self.cost)

    def sample(self, sess, chars, vocab, num, prime):
        state = sess.run(self.cell.zero_state(1, tf.float32))
        for char in prime[:-1]:
            x = np.zeros((1, 1))
            x[0, 0] = vocab[char]
            feed = {self.input_data: x, self.initial_state: state}
            [state] = sess.run([self.final_state], feed)

        def weighted_pick(weights):
            t = np.cumsum(weights)
            s = np.sum(weights)
            return int(np.searchsorted(t, np.random.rand(1) * s)[0])

        ret = prime
        char = prime[-1]
        for _ in range(num):
            x = np.zeros((1, 1))
            x[0, 0] = vocab[char]
            feed = {self.input_data: x, self.initial_state: state}
            [probs, state] = sess.run([self.probs, self.final_state], feed)
            char = chars[weighted_pick(probs[0])]
            ret += char
        return ret


def train(args):
    data_loader = TextLoader(args.batch_size, args.seq_length, args.task)
    args.vocab_size = data_loader.vocab_size
    if args.task == 0:
        with open(os.path.join(args.save_dir, "chars_vocab.pkl"), "wb") as f:
            cPickle.dump((data_loader.chars, data_loader.vocab), f)
    worker = "/job:worker/task:%d" % args.task
    with tf.device(tf.train.replica_device_setter(args.num_ps_tasks, worker_device=worker)):
        tf.set_random_seed(12)
        model = Model(args)
        summaries = tf.summary.merge_all()
        init = tf.global_variables_initializer()
        uninitialized = tf.report_uninitialized_variables()
        saver = tf.train.Saver(tf.global_variables(), max_to_keep=2)
    losses = []
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    with tf.Session(args.master, config=config) as sess:
        writer = tf.summary.FileWriter(os.path.join(args.save_dir, "log-%d" % args.task))
        writer.add_graph(sess.graph)
        if args.task == 0:
            sess.run(init)
        else:
            while len(sess.run(uninitialized)):
                pass
        for e in range(args.num_epochs):
            sess.run(tf.assign(model.lr, args.learning_rate * (args.decay_rate**e)))
            data_loader.reset_batch_pointer()
            state = sess.run(model.initial_state)
            for b in range(data_loader.num_batches):
                x, y = data_loader.next_batch()
                feed = {model.input_data: x, model.targets: y}
                for i, (c, h) in enumerate(model.initial_state):
                    feed[c] = state[i].c
                    feed[h] = state[i].h
                summ, train_loss, state, _ = sess.run(
                    [summaries, model.cost, model.final_state, model.train_op], feed
                )
                writer.add_summary(summ, e * data_loader.num_batches + b)
                losses.append(train_loss)
            print("epoch %d, train_loss = %.3f" % (e, train_loss))
            if args.task == 0:
                saver.save(sess, os.path.join(args.save_dir, "model.ckpt"), global_step=e)
        writer.close()
    return losses


def sample(args):
    with open(os.path.join(args.save_dir, "chars_vocab.pkl"), "rb") as f:
        chars, vocab = cPickle.load(f)
    np.random.seed(2)
    model = Model(args, training=False)
    with tf.Session() as sess:
        tf.global_variables_initializer().run()
        saver = tf.train.Saver(tf.global_variables())
        ckpt = tf.train.get_checkpoint_state(args.save_dir)
        assert len(ckpt.all_model_checkpoint_paths) == 2
        saver.restore(sess, ckpt.model_checkpoint_path)
        return model.sample(sess, chars, vocab, 400, "river ")


def main():
    args = parser.parse_args()
    args.save_dir = args.save_dir or tempfile.mkdtemp()
    losses = train(args)
    loss = np.mean(losses[-20:])
    print("loss %.3f" % loss)
    assert loss < 0.6, loss
    if args.task:
        return
    tf.reset_default_graph()
    text = sample(args)
    print(text)
    written = text.split()[:-1]
    known = np.mean([word in WORDS for word in written])
    assert known > 0.8, known
    print("accuracy", known)


if __name__ == "__main__":
    main()
