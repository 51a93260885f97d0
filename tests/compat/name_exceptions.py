"""Calls whose nodes differ from those of TensorFlow's package, and why."""

from __future__ import annotations

_BY_REASON = {
    "fewer nodes for the same result": (
        "tf.tensordot(m, m, [[0, 1], [0, 1]])",
        "tf.linspace(0., 1., 3)",
        "tf.matrix_transpose(u)",
        "tf.batch_gather(m, [[0], [1]])",
        "tf.nn.softmax(m, 0)",
        "tf.nn.log_softmax(m, 0)",
        'tf.nn.depthwise_conv2d(img, tf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME")',
        'tf.nn.separable_conv2d(img, tf.ones([1, 1, 1, 1]), tf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME")',
        'tf.nn.atrous_conv2d(img, tf.ones([1, 1, 1, 1]), 2, "SAME")',
        "tf.gradients(tf.reduce_max(p, 1), [m, p, u])",
        "tf.gradients(tf.reduce_min(u), [m, p, u])",
        "tf.gradients(tf.reduce_prod(m, 1), [m, p, u])",
        "tf.gradients(tf.tensordot(m, tf.transpose(p), 1), [m, p, u])",
        "tf.gradients(tf.slice(m, [0, 0], [1, 2]), [m, p, u])",
        "tf.gradients(tf.gather(m, [0, 1], axis=1), [m, p, u])",
        "tf.gradients(tf.pad(m, [[1, 1], [0, 0]]), [m, p, u])",
        "tf.gradients(tf.tile(m, [2, 1]), [m, p, u])",
        "tf.gradients(tf.unsorted_segment_sum(m, [0, 0], 2), [m, p, u])",
        "tf.gradients(tf.dynamic_partition(m, [0, 1], 2), [m, p, u])",
        "tf.gradients(tf.nn.top_k(m)[0], [m, p, u])",
    ),
    "the same values by other nodes": (
        "tf.saturate_cast(m, tf.uint8)",
        "tf.nn.swish(m)",
        "tf.nn.weighted_moments(m, [0], 1.)",
        "tf.nn.embedding_lookup([m, m], [0, 1])",
        "tf.nn.log_poisson_loss(m, m, compute_full_loss=True)",
        ("tf.metrics.true_positives_at_thresholds(tf.constant([0, 1]), tf.constant([0.5, 0.7]), [0.2, 0.6])"),
        (
            "tf.metrics.false_negatives_at_thresholds(tf.constant([0, 1]), tf.constant([0.5, 0.7]), "
            "[0.2, 0.6])"
        ),
        "tf.gradients(tf.broadcast_to(m, [2, 2, 3]), [m, p, u])",
        "tf.gradients(tf.nn.swish(m), [m, p, u])",
        "tf.gradients(tf.nn.embedding_lookup([m, p], [0, 1]), [m, p, u])",
        "tf.gradients(tf.trace(tf.matmul(m, m, transpose_b=True)), [m, p, u])",
        "tf.gradients(tf.linalg.inv(tf.matmul(m, m, transpose_b=True)), [m, p, u])",
        "tf.gradients(tf.linalg.det(tf.matmul(m, m, transpose_b=True)), [m, p, u])",
        "tf.gradients(tf.cholesky(tf.matmul(m, m, transpose_b=True)), [m, p, u])",
    ),
    "as in 1.15; today's package has another formula": (
        "tf.nn.dropout(m, rate=0.5)",
        "tf.nn.dropout(p, 0.5)",
        "tf.nn.dropout(u, 0.5)",
        "tf.gradients(tf.reshape(p, [-1]), [m, p, u])",
        "tf.gradients(tf.cumprod(m), [m, p, u])",
        "tf.gradients(tf.nn.softplus(m), [m, p, u])",
        "tf.gradients(tf.nn.dropout(m, rate=0.5), [m, p, u])",
        "tf.gradients(tf.nn.softmax_cross_entropy_with_logits_v2(labels=m, logits=p), [m, p, u])",
    ),
    "TensorFlow chooses by conditionals here, which cost a step more than what they choose between": (
        "tf.nn.zero_fraction(m)",
        "tf.train.cosine_decay_restarts(0.1, tf.constant(1), 3)",
        "tf.train.cosine_decay_restarts(0.1, tf.constant(1), 3, 1.)",
        "tf.train.piecewise_constant(tf.constant(1), [2, 4], [0.1, 0.2, 0.3])",
        "tf.train.piecewise_constant(tf.train.get_or_create_global_step(), [2, 4], [0.1, 0.2, 0.3])",
        "tf.train.piecewise_constant(0.5, [1.], [0.1, 0.2])",
    ),
    "TensorFlow checks ranks and shapes in the run here, by conditionals and DenseToDenseSetOperation": (
        "tf.losses.mean_squared_error(m, u)",
        "tf.losses.mean_squared_error(m, u, u)",
        "tf.metrics.mean(u, u)",
    ),
    "1.15's Tile as the result's name; its multiples would be found in the run, by nine ops more": (
        "tf.gradients(tf.reduce_sum(p, 1), [m, p, u])",
        "tf.gradients(tf.reduce_sum(u), [m, p, u])",
        "tf.gradients(tf.reduce_mean(p, 0), [m, p, u])",
        "tf.gradients(tf.reduce_mean(u), [m, p, u])",
        "tf.gradients(tf.reduce_mean(u, [1]), [m, p, u])",
    ),
    "1.15's count, a product of sizes": (
        "tf.gradients(tf.reduce_mean(p), [m, p, u])",
        "tf.gradients(tf.losses.softmax_cross_entropy(m, p), [m, p, u])",
        "tf.gradients(tf.losses.sparse_softmax_cross_entropy([0, 1], p), [m, p, u])",
    ),
    "today's package copies the bounds of a slice into constants of the gradient": (
        "tf.gradients(m + m[0], [m, p, u])",
        "tf.gradients(m - m[0], [m, p, u])",
        "tf.gradients(m * m[0], [m, p, u])",
        "tf.gradients(tf.div_no_nan(m, m[0]), [m, p, u])",
        "tf.gradients(m[0], [m, p, u])",
        "tf.gradients(p[:, 1:], [m, p, u])",
        "tf.gradients(tf.nn.bias_add(m, m[0]), [m, p, u])",
        "tf.gradients(tf.nn.batch_normalization(m, p[0], p[1], m[0], m[1], 1e-3), [m, p, u])",
        "tf.hessians(tf.reduce_sum(m[0] * m[0]), m)",
    ),
    (
        "TensorFlow 1.15's nodes: the gradient of an operand whose shape is known in part is "
        "reshaped, and its axes found"
    ): (
        "tf.gradients(p + m[0], [m, p, u])",
        "tf.gradients(tf.losses.mean_squared_error(m, p), [m, p, u])",
        "tf.gradients(tf.losses.huber_loss(m, p), [m, p, u])",
        (
            "tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.square(tf.matmul(p, "
            "tf.Variable(tf.zeros([3, 1]))) + tf.Variable(tf.zeros([1])) - 1.)), "
            "tf.train.get_or_create_global_step())"
        ),
        (
            "tf.train.AdamOptimizer().minimize(tf.losses.sparse_softmax_cross_entropy([0, 1], "
            'tf.matmul(p, tf.get_variable("w", [3, 2])) + tf.get_variable("b", [2], '
            "initializer=tf.zeros_initializer())), tf.train.get_or_create_global_step())"
        ),
        (
            "tf.train.MomentumOptimizer(tf.train.exponential_decay(0.1, "
            "tf.train.get_or_create_global_step(), 10, 0.9), "
            "0.9).minimize(tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot("
            '[0, 1], 2), logits=tf.nn.xw_plus_b(p, tf.get_variable("w", [3, 2]), tf.get_variable("b", '
            "[2])))), tf.train.get_or_create_global_step())"
        ),
        "tf.gradients(m * 2., [m], grad_ys=[p])",
    ),
    "one SplitV in place of a Slice for each part": (
        "tf.gradients(tf.concat([m, p], 0), [m, p, u])",
        "tf.gradients(tf.concat([m, m], 1), [m, p, u])",
    ),
    "names of the stacks that loops keep values on, and of the flows of tensor arrays": (
        (
            "tf.gradients(tf.while_loop(lambda k, x: k < 3, lambda k, x: (k + 1, x * 2.), "
            "[tf.constant(0), m])[1], [m, p, u])"
        ),
        "tf.gradients(tf.map_fn(lambda x: x * 2., m), [m, p, u])",
    ),
    "a Const stands where TensorFlow has an Identity or a dead Const more": (
        (
            '[v := tf.get_variable("v", [2, 3]), tf.train.AdagradDAOptimizer(0.1, '
            "tf.train.get_or_create_global_step()).minimize(tf.reduce_sum(tf.square(v)))]"
        ),
        (
            '[v := tf.get_variable("v", [2, 3]), tf.train.AdagradDAOptimizer(0.1, '
            "tf.train.get_or_create_global_step()).minimize(tf.reduce_mean(tf.nn.embedding_lookup(v, "
            "[0, 1])))]"
        ),
    ),
}

EXCEPTIONS = {expression: reason for reason, expressions in _BY_REASON.items() for expression in expressions}
