"""Handwritten digits on one ps and two workers: a step takes the mean of both workers' gradients."""

import os
import sys

import tensorfleet as tf
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.tutorials.mnist import input_data

STEPS = int(sys.argv[1])
WORKERS = 2
BATCH_SIZE = 50

mnist = input_data.read_data_sets(str(sample_dir()), one_hot=True, validation_size=0)
with tf.device("/job:ps/task:0"), tf.name_scope("mnist"):
    w1 = tf.Variable(tf.random_normal([784, 100], stddev=0.1, seed=1))
    b1 = tf.Variable(tf.zeros([100]))
    w2 = tf.Variable(tf.random_normal([100, 10], stddev=0.1, seed=2))
    b2 = tf.Variable(tf.zeros([10]))
    variables = [w1, b1, w2, b2]
    optimizer = tf.train.GradientDescentOptimizer(0.5)

batches, gradients, accuracies = [], [], []
for worker in range(WORKERS):
    with tf.device(f"/job:worker/task:{worker}"):
        images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
        logits = tf.matmul(tf.nn.relu(tf.matmul(images, w1) + b1), w2) + b2
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
        batches.append((images, labels))
        gradients.append(tf.gradients(loss, variables))
        right = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
        accuracies.append(tf.reduce_mean(tf.cast(right, tf.float32)))
with tf.device("/job:ps/task:0"):
    mean = [tf.add_n(list(parts)) / WORKERS for parts in zip(*gradients, strict=True)]
    train = optimizer.apply_gradients(zip(mean, variables, strict=True))

with tf.Session(os.environ["TENSORFLEET_ADDRESS"]) as session:
    session.run(tf.global_variables_initializer())
    for _ in range(STEPS):
        feeds = {}
        for images, labels in batches:
            feeds[images], feeds[labels] = mnist.train.next_batch(BATCH_SIZE)
        session.run(train, feeds)
    images, labels = batches[0]
    accuracy = session.run(accuracies[0], {images: mnist.test.images, labels: mnist.test.labels})
print(f"{STEPS} steps, accuracy {accuracy:.3f}")
