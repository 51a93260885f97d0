"""A model with buckets that reads and writes symbols, and attends to what it read."""

import numpy as np
import tensorflow as tf

seq2seq = tf.contrib.legacy_seq2seq
params = tf.contrib.training.HParams(size=8, symbols=6, learning_rate=0.02, buckets=[2, 3])
params.parse("size=12,learning_rate=0.03")
buckets = [(size, size + 1) for size in params.buckets]
last = buckets[-1]
encoder = [tf.placeholder(tf.int32, [None], name="encoder%d" % i) for i in range(last[0])]
decoder = [tf.placeholder(tf.int32, [None], name="decoder%d" % i) for i in range(last[1] + 1)]
weights = [tf.placeholder(tf.float32, [None], name="weight%d" % i) for i in range(last[1] + 1)]
targets = [decoder[i + 1] for i in range(len(decoder) - 1)]


def seq2seq_f(encoder_inputs, decoder_inputs, do_decode=False):
    cell = tf.contrib.rnn.GRUCell(params.size)
    return seq2seq.embedding_attention_seq2seq(
        encoder_inputs,
        decoder_inputs,
        cell,
        num_encoder_symbols=params.symbols,
        num_decoder_symbols=params.symbols,
        embedding_size=params.size,
        feed_previous=do_decode,
    )


outputs, losses = seq2seq.model_with_buckets(encoder, decoder, targets, weights, buckets, seq2seq_f)
optimizer = tf.train.AdamOptimizer(params.learning_rate)
updates = [optimizer.minimize(loss) for loss in losses]
rng = np.random.RandomState(0)
first, final = [], []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(80):
        bucket = step % 2
        read, written = buckets[bucket]
        symbols = rng.randint(2, params.symbols, [16, read])
        feed = {encoder[i]: symbols[:, i] for i in range(read)}
        answer = np.concatenate([np.ones([16, 1]), symbols, np.zeros([16, 2])], 1).astype(np.int32)
        for i in range(written + 1):
            feed[decoder[i]] = answer[:, i]
        for i in range(written):
            feed[weights[i]] = np.ones(16)
        (first if step < 10 else final).append(sess.run([losses[bucket], updates[bucket]], feed)[0])
assert np.mean(final[-10:]) < 0.75 * np.mean(first), (first, final[-10:])
print("loss falls")
