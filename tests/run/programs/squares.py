"""A test as TensorFlow's own are written: by test_util's decorators, and tf.test.main."""

import os

import tensorflow as tf
from tensorflow.python.framework import constant_op, dtypes, errors, ops, test_util
from tensorflow.python.ops import array_ops, gradient_checker, math_ops
from tensorflow.python.platform import googletest, test


@test_util.run_all_in_graph_and_eager_modes
class SquareTest(test_util.TensorFlowTestCase):
    def testSquare(self):
        x = constant_op.constant([2.0, 3.0])
        self.assertAllClose([4.0, 9.0], math_ops.square(x))
        self.assertAllEqual(self.evaluate(x), [2, 3])

    @test_util.run_deprecated_v1
    def testGradient(self):
        with self.cached_session():
            x = constant_op.constant([[2.0, 3.0]])
            err = gradient_checker.compute_gradient_error(x, [1, 2], math_ops.square(x), [1, 2])
        self.assertLess(err, 1e-2)


class ClusterTest(test.TestCase):
    def testCluster(self):
        workers, servers = tf.test.create_local_cluster(num_workers=2, num_ps=1)
        with ops.Graph().as_default():
            with ops.device("/job:ps/task:0"):
                v = tf.Variable(1)
            with tf.Session(workers[0].target) as first, tf.Session(workers[1].target) as second:
                first.run(v.initializer)
                second.run(v.assign_add(4))
                self.assertEqual(first.run(v), 5)

    def testFiles(self):
        path = self.create_tempfile(content="abc").full_path
        with open(path) as f:
            self.assertEqual(f.read(), "abc")
        self.assertTrue(os.path.isdir(self.get_temp_dir()))

    def testError(self):
        with self.session() as sess:
            bad = array_ops.gather([1], array_ops.placeholder_with_default(5, []))
            with self.assertRaisesOpError("indices"):
                sess.run(bad)
            with self.assertRaises(errors.InvalidArgumentError):
                sess.run(bad)


class SquareBenchmark(test.Benchmark):
    def benchmarkSquare(self):
        with ops.Graph().as_default(), tf.Session(config=test.benchmark_config()) as sess:
            y = math_ops.square(array_ops.ones([10], dtypes.float32))
            self.run_op_benchmark(sess, y, min_iters=3, mbs=1, extras={"size": 10}, store_trace=True)


if __name__ == "__main__":
    googletest.main()
