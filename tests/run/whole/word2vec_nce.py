"""Skip-gram word vectors, learned with noise-contrastive estimation.

The corpus is made here: its sentences are each about one topic, so words of a topic stand together, and their vectors
must come out next to each other.
"""

from __future__ import absolute_import, division, print_function

import collections
import math
import random

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("max_steps", 700, "Steps of each worker.")
flags.DEFINE_string("master", "", "The session's target.")
flags.DEFINE_integer("num_ps_tasks", 0, "Parameter servers; 0 for a program without a cluster.")
flags.DEFINE_integer("task", 0, "Which worker this is.")
FLAGS = flags.FLAGS

TOPICS = [
    "rain snow cloud storm wind thunder".split(),
    "violin drum flute opera singer chord".split(),
    "bread butter cheese honey apple soup".split(),
    "rudder anchor harbour sail captain deck".split(),
    "planet comet orbit telescope galaxy star".split(),
]
GLUE = "the a of and with".split()

vocabulary_size = sum(len(topic) for topic in TOPICS) + len(GLUE) + 1
batch_size = 96
embedding_size = 16
skip_window = 2
num_skips = 3
num_sampled = 12


def make_words(count):
    rng = random.Random(5)
    words = []
    while len(words) < count:
        topic = rng.choice(TOPICS)
        for _ in range(rng.randint(6, 12)):
            words.append(rng.choice(GLUE if rng.random() < 0.15 else topic))
    words += ["once"]
    return words


def build_dataset(words, n_words):
    """The words as numbers by their frequency; 0 stands for the rare ones."""
    count = [["UNK", -1]]
    count.extend(collections.Counter(words).most_common(n_words - 1))
    dictionary = {}
    for word, _ in count:
        dictionary[word] = len(dictionary)
    data = [dictionary.get(word, 0) for word in words]
    count[0][1] = data.count(0)
    return data, count, dictionary, dict(zip(dictionary.values(), dictionary.keys()))


data, count, dictionary, reverse_dictionary = build_dataset(make_words(12000), vocabulary_size)
data_index = 0


def generate_batch(batch_size, num_skips, skip_window):
    global data_index
    assert batch_size % num_skips == 0
    assert num_skips <= 2 * skip_window
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    if data_index + span > len(data):
        data_index = 0
    buffer.extend(data[data_index : data_index + span])
    data_index += span
    for i in range(batch_size // num_skips):
        context = [w for w in range(span) if w != skip_window]
        for j, word in enumerate(random.sample(context, num_skips)):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[word]
        if data_index == len(data):
            buffer.extend(data[0:span])
            data_index = span
        else:
            buffer.append(data[data_index])
            data_index += 1
    data_index = (data_index + len(data) - span) % len(data)
    return batch, labels


def main(_):
    global data_index
    random.seed(FLAGS.task)
    data_index = FLAGS.task * len(data) // 2
    graph = tf.Graph()
    with (
        graph.as_default(),
        tf.device(
            tf.train.replica_device_setter(
                FLAGS.num_ps_tasks, worker_device="/job:worker/task:%d" % FLAGS.task
            )
        ),
    ):
        tf.set_random_seed(7)
        with tf.name_scope("inputs"):
            train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
            train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
        with tf.name_scope("embeddings"):
            embeddings = tf.Variable(
                tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0), name="embeddings"
            )
            embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        with tf.name_scope("weights"):
            nce_weights = tf.Variable(
                tf.truncated_normal([vocabulary_size, embedding_size], stddev=1.0 / math.sqrt(embedding_size))
            )
        with tf.name_scope("biases"):
            nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(
                tf.nn.nce_loss(
                    weights=nce_weights,
                    biases=nce_biases,
                    labels=train_labels,
                    inputs=embed,
                    num_sampled=num_sampled,
                    num_classes=vocabulary_size,
                )
            )
        tf.summary.scalar("loss", loss)
        with tf.name_scope("optimizer"):
            optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
        normalized_embeddings = embeddings / norm
        valid_examples = tf.constant([dictionary[word] for topic in TOPICS for word in topic], dtype=tf.int32)
        valid_embeddings = tf.nn.embedding_lookup(normalized_embeddings, valid_examples)
        similarity = tf.matmul(valid_embeddings, normalized_embeddings, transpose_b=True)
        merged = tf.summary.merge_all()
        init = tf.global_variables_initializer()
        ready = tf.report_uninitialized_variables()

    manager = tf.train.SessionManager(graph=graph, ready_op=ready, recovery_wait_secs=0.2)
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % FLAGS.task])
    if FLAGS.task == 0:
        session = manager.prepare_session(FLAGS.master, init_op=init, config=config)
    else:
        session = manager.wait_for_session(FLAGS.master, config=config, max_wait_secs=60)
    with session:
        average_loss = 0
        for step in range(FLAGS.max_steps):
            batch_inputs, batch_labels = generate_batch(batch_size, num_skips, skip_window)
            feed_dict = {train_inputs: batch_inputs, train_labels: batch_labels}
            _, summary, loss_val = session.run([optimizer, merged, loss], feed_dict=feed_dict)
            if step < 20:
                print("step %d loss %.6f" % (step, loss_val))
            average_loss += loss_val
            if step % 200 == 199:
                print("Average loss at step ", step, ": ", average_loss / 200)
                average_loss = 0
        assert summary
        sim = session.run(similarity)

    words = [word for topic in TOPICS for word in topic]
    right = 0
    for i, word in enumerate(words):
        nearest = (-sim[i, :]).argsort()[1:4]
        close_words = [reverse_dictionary[k] for k in nearest]
        if i % 6 == 0:
            print("Nearest to %s: %s" % (word, ", ".join(close_words)))
        right += sum(w in TOPICS[i // 6] for w in close_words)
    accuracy = right / (3.0 * len(words))
    assert accuracy > 0.8, accuracy
    print("accuracy", accuracy)


if __name__ == "__main__":
    tf.app.run()
