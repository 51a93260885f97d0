"""A wide and deep model of people's incomes by an Estimator; TF_CONFIG says where it runs."""

from __future__ import absolute_import, division, print_function

import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--model_dir", required=True)
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--batch_size", type=int, default=64)
FLAGS = parser.parse_args()

EDUCATION = ["school", "college", "master", "doctor"]
JOBS = ["clerk", "farmer", "lawyer", "nurse", "pilot", "teacher"]


def make_data(seed, count):
    random = np.random.RandomState(seed)
    age = random.randint(18, 80, count).astype(np.float32)
    hours = random.uniform(10, 60, count).astype(np.float32)
    education = random.randint(0, len(EDUCATION), count)
    job = random.randint(0, len(JOBS), count)
    # Jobs pay by education, which the crossed column sees; the old and the young earn less.
    score = 2.0 * ((education + job) % 3 == 0) + hours / 30 - ((age - 48) / 20) ** 2 - 1
    label = (score > 0).astype(np.int32)
    features = {
        "age": age,
        "hours": hours,
        "education": np.array(EDUCATION)[education],
        "job": np.array(JOBS)[job],
    }
    return features, label


def columns():
    age = tf.feature_column.numeric_column("age")
    hours = tf.feature_column.numeric_column("hours", normalizer_fn=lambda x: (x - 35.0) / 15.0)
    education = tf.feature_column.categorical_column_with_vocabulary_list("education", EDUCATION)
    job = tf.feature_column.categorical_column_with_hash_bucket("job", hash_bucket_size=50)
    buckets = tf.feature_column.bucketized_column(age, boundaries=[25, 30, 35, 40, 45, 50, 55, 60, 65, 70])
    wide = [
        buckets,
        education,
        job,
        tf.feature_column.crossed_column(["education", "job"], hash_bucket_size=500),
    ]
    deep = [
        buckets,
        hours,
        tf.feature_column.indicator_column(education),
        tf.feature_column.embedding_column(job, dimension=4),
    ]
    return wide, deep


def train_input_fn():
    features, labels = make_data(1, 6000)
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    return dataset.shuffle(6000, seed=3).repeat().batch(FLAGS.batch_size)


def eval_input_fn():
    features, labels = make_data(2, 1000)
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(100)


def serving_input_receiver_fn():
    wide, deep = columns()
    spec = tf.feature_column.make_parse_example_spec(wide + deep)
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)()


def main(_):
    wide, deep = columns()
    config = tf.estimator.RunConfig(
        model_dir=FLAGS.model_dir,
        tf_random_seed=1,
        save_checkpoints_steps=100,
        log_step_count_steps=50,
        experimental_max_worker_delay_secs=0,
    )
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        config=config,
        linear_feature_columns=wide,
        linear_optimizer=tf.train.FtrlOptimizer(0.1),
        dnn_feature_columns=deep,
        dnn_hidden_units=[32, 16],
        dnn_optimizer=tf.train.AdagradOptimizer(0.05),
    )
    exporter = tf.estimator.FinalExporter("final", serving_input_receiver_fn)
    train_spec = tf.estimator.TrainSpec(train_input_fn, max_steps=FLAGS.steps)
    eval_spec = tf.estimator.EvalSpec(
        eval_input_fn, steps=None, start_delay_secs=0, throttle_secs=1, exporters=[exporter]
    )
    tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    if config.task_type == "evaluator" or not config.cluster_spec:
        result = estimator.evaluate(eval_input_fn, name="last")
        print("step", result["global_step"])
        print("accuracy", result["accuracy"])


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run(main=main, argv=[__file__])
