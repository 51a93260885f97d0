"""The monitors of `tf.contrib.learn`, which came before `tf.train.SessionRunHook`."""
