"""A model of characters: unrolled cells, the state fed from step to step."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib import legacy_seq2seq, rnn

text = "abcabdabcabd" * 30
chars = sorted(set(text))
data = np.array([chars.index(c) for c in text])
batch, length, size = 4, 6, 16
cell = rnn.MultiRNNCell([rnn.BasicLSTMCell(size, state_is_tuple=True) for _ in range(2)], state_is_tuple=True)
inputs = tf.placeholder(tf.int32, [batch, length])
targets = tf.placeholder(tf.int32, [batch, length])
initial = cell.zero_state(batch, tf.float32)
with tf.variable_scope("rnnlm"):
    softmax_w = tf.get_variable("softmax_w", [size, len(chars)])
    softmax_b = tf.get_variable("softmax_b", [len(chars)])
    embedding = tf.get_variable("embedding", [len(chars), size])
    steps = [tf.squeeze(i, [1]) for i in tf.split(tf.nn.embedding_lookup(embedding, inputs), length, 1)]
outputs, last = legacy_seq2seq.rnn_decoder(steps, initial, cell, loop_function=None, scope="rnnlm")
output = tf.reshape(tf.concat(outputs, 1), [-1, size])
logits = tf.matmul(output, softmax_w) + softmax_b
loss = legacy_seq2seq.sequence_loss_by_example(
    [logits], [tf.reshape(targets, [-1])], [tf.ones([batch * length])]
)
cost = tf.reduce_sum(loss) / batch / length
lr = tf.Variable(0.0, trainable=False)
grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tf.trainable_variables()), 5)
train = tf.train.AdamOptimizer(lr).apply_gradients(zip(grads, tf.trainable_variables()))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(tf.assign(lr, 0.02))
    for epoch in range(12):
        state = sess.run(initial)
        for start in range(0, len(data) // batch - length - 1, length):
            part = np.stack([data[start + b * (len(data) // batch) :][: length + 1] for b in range(batch)])
            feed = {inputs: part[:, :-1], targets: part[:, 1:]}
            for i, (c, h) in enumerate(initial):
                feed[c] = state[i].c
                feed[h] = state[i].h
            value, state, _ = sess.run([cost, last, train], feed)
assert value < 0.6, value
print("names", sorted(v.op.name for v in tf.trainable_variables())[3])
