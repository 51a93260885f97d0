"""Sequence to sequence with attention: learns to spell numbers backwards, and searches for answers with a beam."""

from __future__ import absolute_import, division, print_function

import collections
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.layers import core as layers_core
from tensorflow.python.ops import lookup_ops

tf.app.flags.DEFINE_string("out_dir", "", "Where vocabularies and texts are written.")
tf.app.flags.DEFINE_integer("max_steps", 180, "Steps of all workers.")
tf.app.flags.DEFINE_string("master", "", "The session's target.")
tf.app.flags.DEFINE_integer("num_ps_tasks", 0, "Parameter servers; 0 for a program without a cluster.")
tf.app.flags.DEFINE_integer("task", 0, "Which worker this is.")
FLAGS = tf.app.flags.FLAGS

WORDS = "one two three four five six".split()
UNK, SOS, EOS = "<unk>", "<s>", "</s>"


class BatchedInput(
    collections.namedtuple(
        "BatchedInput",
        ("initializer", "source", "target_input", "target_output", "source_length", "target_length"),
    )
):
    pass


def write_texts(directory, prefix, seed, count):
    rng = np.random.RandomState(seed)
    src, tgt = os.path.join(directory, prefix + ".src"), os.path.join(directory, prefix + ".tgt")
    with tf.gfile.GFile(src, "w") as source, tf.gfile.GFile(tgt, "w") as target:
        for _ in range(count):
            words = [WORDS[i] for i in rng.randint(0, len(WORDS), rng.randint(2, 6))]
            source.write(" ".join(words) + "\n")
            target.write(" ".join(reversed(words)) + "\n")
    return src, tgt


def get_iterator(src_file, tgt_file, table, batch_size, train):
    src_dataset = tf.data.TextLineDataset(src_file)
    tgt_dataset = tf.data.TextLineDataset(tgt_file)
    dataset = tf.data.Dataset.zip((src_dataset, tgt_dataset))
    src_eos_id = tf.cast(table.lookup(tf.constant(EOS)), tf.int32)
    sos_id = tf.cast(table.lookup(tf.constant(SOS)), tf.int32)
    if train:
        dataset = dataset.shuffle(1000, seed=1).repeat()
    dataset = dataset.map(lambda src, tgt: (tf.string_split([src]).values, tf.string_split([tgt]).values))
    dataset = dataset.filter(lambda src, tgt: tf.logical_and(tf.size(src) > 0, tf.size(tgt) > 0))
    dataset = dataset.map(
        lambda src, tgt: (tf.cast(table.lookup(src), tf.int32), tf.cast(table.lookup(tgt), tf.int32))
    )
    dataset = dataset.map(
        lambda src, tgt: (src, tf.concat(([sos_id], tgt), 0), tf.concat((tgt, [src_eos_id]), 0))
    )
    dataset = dataset.map(
        lambda src, tgt_in, tgt_out: (src, tgt_in, tgt_out, tf.size(src), tf.size(tgt_in)),
        num_parallel_calls=2,
    ).prefetch(50)

    def batching_func(x):
        return x.padded_batch(
            batch_size,
            padded_shapes=(
                tf.TensorShape([None]),
                tf.TensorShape([None]),
                tf.TensorShape([None]),
                tf.TensorShape([]),
                tf.TensorShape([]),
            ),
            padding_values=(src_eos_id, src_eos_id, src_eos_id, 0, 0),
        )

    if train:

        def key_func(unused_1, unused_2, unused_3, src_len, tgt_len):
            return tf.to_int64(tf.maximum(src_len, tgt_len) // 4)

        def reduce_func(unused_key, windowed_data):
            return batching_func(windowed_data)

        batched = dataset.apply(
            tf.contrib.data.group_by_window(
                key_func=key_func, reduce_func=reduce_func, window_size=batch_size
            )
        )
    else:
        batched = batching_func(dataset)
    iterator = batched.make_initializable_iterator()
    return BatchedInput(iterator.initializer, *iterator.get_next())


class Model(object):
    def __init__(self, mode, iterator, vocab_size, num_units=32, beam_width=4):
        self.mode = mode
        self.num_units = num_units
        self.beam_width = beam_width
        self.iterator = iterator
        self.sos_id, self.eos_id = 1, 2
        self.batch_size = tf.size(iterator.source_length)
        training = mode == tf.contrib.learn.ModeKeys.TRAIN
        initializer = tf.random_uniform_initializer(-0.3, 0.3, seed=5)
        with tf.variable_scope("dynamic_seq2seq", reuse=not training, initializer=initializer):
            with tf.variable_scope("embeddings", dtype=tf.float32):
                self.embedding = tf.get_variable("embedding_share", [vocab_size, 16])
            self.output_layer = layers_core.Dense(vocab_size, use_bias=False, name="output_projection")
            encoder_outputs, encoder_state = self._build_encoder()
            logits, self.predicted_ids = self._build_decoder(encoder_outputs, encoder_state)
        if training:
            self._build_training(logits)

    def _build_encoder(self):
        with tf.variable_scope("encoder"):
            inputs = tf.nn.embedding_lookup(self.embedding, self.iterator.source)
            outputs, state = tf.nn.bidirectional_dynamic_rnn(
                tf.contrib.rnn.GRUCell(self.num_units // 2),
                tf.contrib.rnn.GRUCell(self.num_units // 2),
                inputs,
                dtype=tf.float32,
                sequence_length=self.iterator.source_length,
                swap_memory=True,
            )
            return tf.concat(outputs, -1), tf.concat(state, -1)

    def _build_decoder(self, memory, encoder_state):
        infer = self.mode == tf.contrib.learn.ModeKeys.INFER
        lengths = self.iterator.source_length
        batch_size = self.batch_size
        with tf.variable_scope("decoder") as decoder_scope:
            if infer:
                memory = tf.contrib.seq2seq.tile_batch(memory, multiplier=self.beam_width)
                lengths = tf.contrib.seq2seq.tile_batch(lengths, multiplier=self.beam_width)
                encoder_state = tf.contrib.seq2seq.tile_batch(encoder_state, multiplier=self.beam_width)
                batch_size = batch_size * self.beam_width
            attention = tf.contrib.seq2seq.LuongAttention(
                self.num_units, memory, memory_sequence_length=lengths, scale=True
            )
            cell = tf.contrib.seq2seq.AttentionWrapper(
                tf.contrib.rnn.GRUCell(self.num_units),
                attention,
                attention_layer_size=self.num_units,
                alignment_history=False,
                output_attention=True,
                name="attention",
            )
            initial_state = cell.zero_state(batch_size, tf.float32).clone(cell_state=encoder_state)
            if infer:
                decoder = tf.contrib.seq2seq.BeamSearchDecoder(
                    cell=cell,
                    embedding=self.embedding,
                    start_tokens=tf.fill([self.batch_size], self.sos_id),
                    end_token=self.eos_id,
                    initial_state=initial_state,
                    beam_width=self.beam_width,
                    output_layer=self.output_layer,
                    length_penalty_weight=0.0,
                )
                outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(
                    decoder,
                    maximum_iterations=2 * tf.reduce_max(self.iterator.source_length),
                    output_time_major=False,
                    swap_memory=True,
                    scope=decoder_scope,
                )
                return tf.no_op(), outputs.predicted_ids
            helper = tf.contrib.seq2seq.TrainingHelper(
                tf.nn.embedding_lookup(self.embedding, self.iterator.target_input),
                self.iterator.target_length,
            )
            decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, initial_state)
            outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(
                decoder, output_time_major=False, swap_memory=True, scope=decoder_scope
            )
            return self.output_layer(outputs.rnn_output), outputs.sample_id

    def _build_training(self, logits):
        targets = self.iterator.target_output
        weights = tf.sequence_mask(self.iterator.target_length, tf.shape(targets)[1], dtype=tf.float32)
        self.loss = tf.contrib.seq2seq.sequence_loss(logits, targets, weights)
        self.global_step = tf.train.get_or_create_global_step()
        params = tf.trainable_variables()
        gradients, self.grad_norm = tf.clip_by_global_norm(tf.gradients(self.loss, params), 5.0)
        # It comes to rest: at a constant rate the last steps, with late gradients of other workers, may unlearn a lot.
        rate = tf.train.cosine_decay(0.012, self.global_step, FLAGS.max_steps)
        self.update = tf.train.AdamOptimizer(rate).apply_gradients(zip(gradients, params), self.global_step)


def main(_):
    directory = os.path.join(FLAGS.out_dir or tempfile.mkdtemp(), "worker%d" % FLAGS.task)
    tf.gfile.MakeDirs(directory)
    vocab_file = os.path.join(directory, "vocab.txt")
    with tf.gfile.GFile(vocab_file, "w") as f:
        f.write("\n".join([UNK, SOS, EOS] + WORDS) + "\n")
    train_texts = write_texts(directory, "train", FLAGS.task, 2000)
    test_texts = write_texts(directory, "test", 100, 100)

    worker = "/job:worker/task:%d" % FLAGS.task
    tf.set_random_seed(21)
    with tf.device(tf.train.replica_device_setter(FLAGS.num_ps_tasks, worker_device=worker)):
        with tf.device(worker if FLAGS.num_ps_tasks else None):
            table = lookup_ops.index_table_from_file(vocab_file, default_value=0)
            reverse_table = lookup_ops.index_to_string_table_from_file(vocab_file, default_value=UNK)
            train_input = get_iterator(train_texts[0], train_texts[1], table, 32, train=True)
            test_input = get_iterator(test_texts[0], test_texts[1], table, 100, train=False)
        vocab_size = len(WORDS) + 3
        model = Model(tf.contrib.learn.ModeKeys.TRAIN, train_input, vocab_size)
        infer = Model(tf.contrib.learn.ModeKeys.INFER, test_input, vocab_size)
        found = reverse_table.lookup(tf.to_int64(infer.predicted_ids))
        init = tf.global_variables_initializer()
        ready = tf.report_uninitialized_variables(tf.global_variables())

    scaffold = tf.train.Scaffold(
        init_op=init,
        local_init_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
        ready_op=ready,
        ready_for_local_init_op=ready,
    )
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    hooks = [tf.train.StopAtStepHook(last_step=FLAGS.max_steps), tf.train.NanTensorHook(model.loss)]
    hooks.append(tf.train.LoggingTensorHook({"loss": model.loss, "norm": model.grad_norm}, every_n_iter=50))
    answers = []

    class InputHook(tf.train.SessionRunHook):
        """Starts the inputs once the tables, which they look words up in, are there; searches at the end."""

        def after_create_session(self, session, coord):
            session.run([train_input.initializer, test_input.initializer])

        def end(self, session):
            answers.extend(session.run([found, infer.iterator.target_output]))

    with tf.train.MonitoredTrainingSession(
        FLAGS.master, FLAGS.task == 0, scaffold=scaffold, hooks=hooks + [InputHook()], config=config
    ) as sess:
        while not sess.should_stop():
            _, loss = sess.run([model.update, model.loss])
    words, _ = answers
    assert words.shape[0] == 100 and words.shape[2] == 4, words.shape
    with tf.gfile.GFile(test_texts[1]) as f:
        expected = [line.strip() for line in f]
    right = 0
    for sentence, line in zip(words[:, :, 0], expected):
        text = b" ".join(sentence).decode().split(EOS)[0].strip()
        right += text == line
    print("%s -> %s" % (line, text))
    print("loss %.4f" % loss)
    accuracy = right / 100.0
    assert accuracy > 0.8, accuracy
    print("accuracy", accuracy)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run()
