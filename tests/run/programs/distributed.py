"""Between-graph replication: one ps and two workers, by Supervisor or MonitoredTrainingSession."""

import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_string("ps_hosts", "", "Comma-separated list of hostname:port pairs")
tf.app.flags.DEFINE_string("worker_hosts", "", "Comma-separated list of hostname:port pairs")
tf.app.flags.DEFINE_string("job_name", "", "One of 'ps', 'worker'")
tf.app.flags.DEFINE_integer("task_index", 0, "Index of task within the job")
tf.app.flags.DEFINE_boolean("supervisor", False, "a Supervisor in place of MonitoredTrainingSession")
FLAGS = tf.app.flags.FLAGS


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
        return
    is_chief = FLAGS.task_index == 0
    worker = "/job:worker/task:%d" % FLAGS.task_index
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        global_step = tf.contrib.framework.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.contrib.layers.fully_connected(x, 1, activation_fn=None)
        loss = tf.reduce_mean(tf.square(y - tf.reduce_sum(x, 1, keep_dims=True)))
        train_op = tf.train.AdagradOptimizer(0.5).minimize(loss, global_step=global_step)
        init_op = tf.global_variables_initializer()
    # Without them a worker waits for the other one, which may have come to its end already.
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    rng = np.random.RandomState(FLAGS.task_index)
    if FLAGS.supervisor:
        sv = tf.train.Supervisor(
            is_chief=is_chief, logdir=None, init_op=init_op, global_step=global_step, recovery_wait_secs=1
        )
        with sv.managed_session(server.target, config=config) as sess:
            while not sv.should_stop():
                value, step = sess.run([loss, train_op, global_step], {x: rng.rand(32, 4)})[::2]
                if step >= 60:
                    break
    else:
        hooks = [tf.train.StopAtStepHook(last_step=60), tf.train.NanTensorHook(loss)]
        with tf.train.MonitoredTrainingSession(
            master=server.target, is_chief=is_chief, hooks=hooks, config=config
        ) as sess:
            while not sess.should_stop():
                value = sess.run([train_op, loss], {x: rng.rand(32, 4)})[1]
    assert value < 0.5, value
    print("loss %g" % value)


if __name__ == "__main__":
    tf.app.run()
