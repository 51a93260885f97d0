"""An encoder and a decoder with attention: trained on sequences that are to be reversed."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib.seq2seq.python.ops import attention_wrapper
from tensorflow.python.layers.core import Dense

symbols, size, length = 6, 24, 4
source = tf.placeholder(tf.int32, [None, None])
lengths = tf.placeholder(tf.int32, [None])
target_in = tf.placeholder(tf.int32, [None, None])
target = tf.placeholder(tf.int32, [None, None])
batch = tf.shape(source)[0]
embedding = tf.get_variable("embedding", [symbols, size])
outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
    tf.contrib.rnn.GRUCell(size),
    tf.contrib.rnn.GRUCell(size),
    tf.nn.embedding_lookup(embedding, source),
    sequence_length=lengths,
    dtype=tf.float32,
)
mechanism = tf.contrib.seq2seq.BahdanauAttention(size, tf.concat(outputs, -1), memory_sequence_length=lengths)
cell = attention_wrapper.AttentionWrapper(tf.contrib.rnn.GRUCell(size), mechanism, attention_layer_size=size)
layer = Dense(symbols, use_bias=False)
initial = cell.zero_state(batch, tf.float32).clone(cell_state=state_fw + state_bw)


def decode(helper, reuse):
    with tf.variable_scope("decode", reuse=reuse):
        decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, initial, output_layer=layer)
        return tf.contrib.seq2seq.dynamic_decode(decoder, impute_finished=True, maximum_iterations=length + 2)


training = tf.contrib.seq2seq.TrainingHelper(tf.nn.embedding_lookup(embedding, target_in), lengths + 1)
logits = decode(training, None)[0].rnn_output
weights = tf.sequence_mask(lengths + 1, tf.shape(logits)[1], dtype=tf.float32)
loss = tf.contrib.seq2seq.sequence_loss(logits, target, weights)
train = tf.train.AdamOptimizer(0.02).minimize(loss)
greedy = tf.contrib.seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([batch], 0), 1)
written = decode(greedy, True)[0].sample_id
rng = np.random.RandomState(0)


def feed():
    s = rng.randint(2, symbols, [32, length])
    back = s[:, ::-1]
    return {
        source: s,
        lengths: [length] * 32,
        target_in: np.insert(back, 0, 0, 1),
        target: np.concatenate([back, np.ones([32, 1], int)], 1),
    }


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(150):
        sess.run(train, feed())
    given = feed()
    found, value = sess.run([written, loss], given)
assert "decode/decoder/attention_wrapper/bahdanau_attention/query_layer/kernel" in [
    v.op.name for v in tf.trainable_variables()
], [v.op.name for v in tf.trainable_variables()]
print("accuracy", (found[:, :length] == given[target][:, :length]).mean())
