"""Embeddings of words from a queue of pairs, with threads that fill it."""

import collections
import threading

import numpy as np
import tensorflow as tf

text = "the quick brown fox jumps over the lazy dog while the quick cat sleeps".split() * 20
words = [w for w, _ in collections.Counter(text).most_common(10)]
index = {w: i for i, w in enumerate(words)}
ids = [index.get(w, 0) for w in text]
batch_in = tf.placeholder(tf.int32, [None])
label_in = tf.placeholder(tf.int32, [None])
queue = tf.RandomShuffleQueue(500, 50, [tf.int32, tf.int32], shapes=[[], []])
enqueue = queue.enqueue_many([batch_in, label_in])
inputs, labels = queue.dequeue_many(32)
with tf.device("/cpu:0"):
    embeddings = tf.Variable(tf.random_uniform([10, 8], -1.0, 1.0))
    embed = tf.nn.embedding_lookup(embeddings, inputs)
logits = tf.matmul(embed, tf.Variable(tf.truncated_normal([8, 10], stddev=0.3)))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
similarity = tf.matmul(embeddings / norm, embeddings / norm, transpose_b=True)
coord = tf.train.Coordinator()


def fill(sess):
    while not coord.should_stop():
        try:
            sess.run(enqueue, {batch_in: ids[:-1], label_in: ids[1:]})
        except tf.errors.CancelledError:
            return


with tf.Session() as sess:
    tf.global_variables_initializer().run()
    thread = threading.Thread(target=fill, args=(sess,), daemon=True)
    thread.start()
    losses = [sess.run([loss, optimizer])[0] for _ in range(80)]
    coord.request_stop()
    sess.run(queue.close(cancel_pending_enqueues=True))
    coord.join([thread])
    assert np.mean(losses[-10:]) < np.mean(losses[:10])
    print("similar", similarity.eval().shape)
