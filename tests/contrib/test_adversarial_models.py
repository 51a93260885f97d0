"""tf.contrib.gan: models, losses and training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

gan = tf.contrib.gan
RNG = np.random.default_rng(3)
REAL, FAKE = (RNG.normal(size=(6, 1)).astype("f") * 2 for _ in range(2))


def run(*tensors: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(tensors))  # type: ignore[no-any-return]


def entropy(logits: Any, label: float) -> Any:
    return (np.log1p(np.exp(-np.abs(logits))) + np.maximum(logits, 0) - logits * label).mean()


OF_BOTH = {
    "wasserstein": FAKE.mean() - REAL.mean(),
    "least_squares": ((REAL - 1) ** 2).mean() / 2 + (FAKE**2).mean() / 2,
    "minimax": entropy(REAL, 0.75 + 0.125) + entropy(FAKE, 0),
    "modified": entropy(REAL, 0.75 + 0.125) + entropy(FAKE, 0),
}
OF_GENERATOR = {
    "wasserstein": -FAKE.mean(),
    "least_squares": ((FAKE - 1) ** 2).mean() / 2,
    "minimax": -entropy(np.ones(1), 1) - entropy(FAKE, 0),
    "modified": entropy(FAKE, 1),
}


@pytest.mark.parametrize("kind", OF_BOTH)
def test_losses_against_their_formulas(kind: str) -> None:
    real, fake = tf.constant(REAL), tf.constant(FAKE)
    wargs = gan.losses.wargs
    both = getattr(wargs, f"{kind}_discriminator_loss")(real, fake, add_summaries=True)
    own = getattr(wargs, f"{kind}_generator_loss")(fake, add_summaries=True)
    weights = np.array([[1], [0], [2], [0], [1], [1]], "f")
    weighted = getattr(wargs, f"{kind}_generator_loss")(
        fake, weights=weights, reduction=tf.losses.Reduction.NONE, loss_collection="mine"
    )
    assert len(tf.losses.get_losses()) == 2
    assert len(tf.get_collection("mine")) == 1
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 4
    got = run(both, own, weighted)
    np.testing.assert_allclose(got[0], OF_BOTH[kind], rtol=1e-5)
    np.testing.assert_allclose(got[1], OF_GENERATOR[kind], rtol=1e-5)
    assert got[2].shape == (6, 1)
    assert (got[2][weights == 0] == 0).all()
    assert (got[2][weights > 0] != 0).all()


def test_gradient_penalty_of_a_linear_discriminator() -> None:
    slope = np.array([[3.0], [4.0]], "f")
    data = [tf.constant(RNG.normal(size=(5, 2)), tf.float32) for _ in range(2)]

    def discriminator(x: Any, inputs: Any) -> Any:
        return tf.matmul(x, tf.get_variable("w", initializer=slope))

    penalty = gan.losses.wargs.wasserstein_gradient_penalty
    with tf.variable_scope("D") as scope:
        discriminator(data[0], None)
    given = (*data, None, discriminator, scope)
    two = penalty(*given)
    toward, above = penalty(*given, target=10.0), penalty(*given, target=10.0, one_sided=True)
    assert [v.op.name for v in tf.global_variables()] == ["D/w"]
    np.testing.assert_allclose(run(two, toward, above), [16.0, 0.25, 0.0], rtol=1e-4)
    # It has a gradient itself, which trains the discriminator.
    [by_w] = run(*tf.gradients(two, tf.trainable_variables()))
    np.testing.assert_allclose(by_w, 2 * 4 * slope / 5, rtol=1e-4)
    with pytest.raises(ValueError, match="rank"):
        penalty(tf.placeholder(tf.float32), data[1], None, discriminator, scope)


def generator(noise: Any) -> Any:
    inputs = noise[0] if isinstance(noise, list) else noise
    return inputs + tf.get_variable("shift", [], initializer=tf.zeros_initializer())


def discriminator(data: Any, conditioning: Any) -> Any:
    return data * tf.get_variable("slope", [], initializer=tf.ones_initializer())


def model(**kwargs: Any) -> Any:
    noise = RNG.normal(size=(8, 1)).astype("f")
    return gan.gan_model(generator, discriminator, tf.constant(noise + 3), tf.constant(noise), **kwargs)


def test_models_and_their_losses() -> None:
    made = gan.gan_model(generator, discriminator, tf.constant(REAL), tf.constant(FAKE))
    assert [v.op.name for v in made.generator_variables] == ["Generator/shift"]
    assert [v.op.name for v in made.discriminator_variables] == ["Discriminator/slope"]
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.5, name="Generator/r"))
    loss = gan.gan_loss(made, gradient_penalty_weight=2.0)
    wasserstein = gan.losses.wasserstein_discriminator_loss(made)
    combined = gan.losses.combine_adversarial_loss(
        loss, made, tf.square(made.generator_variables[0] - 4.0), gradient_ratio=2.0
    )
    got = run(*loss, wasserstein, combined.generator_loss)
    np.testing.assert_allclose(got[0], 0.5 - FAKE.mean(), rtol=1e-5)
    np.testing.assert_allclose(got[2], FAKE.mean() - REAL.mean(), rtol=1e-5)
    np.testing.assert_allclose(got[1], got[2], atol=1e-5)  # a slope of 1 has no penalty
    np.testing.assert_allclose(got[3], 16.0 + 8.0 / 2.0 * got[0], rtol=1e-4)
    with pytest.raises(ValueError, match="same shape"):
        gan.gan_model(generator, discriminator, tf.zeros([2, 2]), tf.zeros([3, 3]), "G2", "D2")
    for arguments, text in (
        ({"gradient_penalty_weight": -1.0}, "must be greater than 0"),
        ({"mutual_information_penalty_weight": 1.0}, "InfoGANModel"),
        ({"aux_cond_generator_weight": 1.0}, "ACGANModel"),
    ):
        with pytest.raises(ValueError, match=text):
            gan.gan_loss(made, **arguments)
    with pytest.raises(ValueError, match="supplied"):
        gan.losses.acgan_generator_loss(made)
    with pytest.raises(ValueError, match="both the model"):
        gan.losses.wasserstein_generator_loss(made, discriminator_gen_outputs=1)


def test_infogan_and_acgan() -> None:
    code = tf.constant(RNG.normal(size=(6, 1)), tf.float32)
    normal = tf.distributions.Normal(0.5, 2.0)
    info = gan.infogan_model(
        generator,
        lambda data, inputs: (discriminator(data, inputs), [normal]),
        tf.constant(REAL),
        [tf.constant(FAKE)],
        [code],
    )
    plain = gan.gan_loss(info, add_summaries=False)
    informed = gan.gan_loss(info, mutual_information_penalty_weight=3.0, add_summaries=False)
    labels = np.eye(3, dtype="f")[[0, 1, 2, 0, 1, 2]]
    logits = RNG.normal(size=(6, 3)).astype("f")
    with tf.variable_scope("ac"):
        classes = gan.acgan_model(
            generator,
            lambda data, inputs: (discriminator(data, inputs), data * 0.0 + logits),
            tf.constant(REAL),
            tf.constant(FAKE),
            tf.constant(labels),
        )
        without = gan.gan_loss(classes, add_summaries=False)
        judged = gan.gan_loss(classes, aux_cond_generator_weight=1.0, aux_cond_discriminator_weight=2.0)
        with pytest.raises(TypeError, match="tuple"):
            gan.acgan_model(generator, lambda d, i: d, REAL, FAKE, labels, "G3", "D3")
    got = run(*plain, *informed, *without, *judged, code)
    likelihood = (-((got[8] - 0.5) ** 2) / 8 - np.log(2 * np.sqrt(2 * np.pi))).mean()
    np.testing.assert_allclose(np.subtract(got[2:4], got[:2]), -3.0 * likelihood, rtol=1e-4)
    crossed = (np.log(np.exp(logits).sum(1)) - (logits * labels).sum(1)).mean()
    np.testing.assert_allclose(np.subtract(got[6:8], got[4:6]), [crossed, 4 * crossed], rtol=1e-4)
    with pytest.raises(ValueError, match="1 structured"):
        gan.infogan_model(generator, lambda d, i: (d, []), REAL, [tf.constant(FAKE)], [code], "G4", "D4")


def test_cyclegan_and_stargan() -> None:
    def scale(data: Any) -> Any:
        return data * tf.get_variable("scale", [], initializer=tf.constant_initializer(2.0))

    cycle = gan.cyclegan_model(scale, discriminator, tf.constant(REAL), tf.constant(FAKE))
    loss = gan.cyclegan_loss(cycle, cycle_consistency_loss_weight=5.0)
    ops = gan.gan_train_ops(
        cycle, loss, tf.train.GradientDescentOptimizer(0.01), tf.train.GradientDescentOptimizer(0.01)
    )
    assert len(ops.generator_train_op) == len(ops.discriminator_train_op) == 2
    names = [v.op.name for v in cycle.model_y2x.generator_variables]
    assert names == ["ModelY2X/Generator/scale"]

    def to_domain(data: Any, target: Any) -> Any:
        table = tf.get_variable("table", [3, 1], initializer=tf.constant_initializer([[1.0], [2.0], [4.0]]))
        return data * tf.matmul(target, table)

    labels = np.eye(3, dtype="f")[[0, 1, 2, 0, 1, 2]]

    def judge(data: Any, domains: int) -> Any:
        return data[:, 0], tf.tile(data, [1, domains]) * tf.constant([1.0, 0.0, -1.0])

    star = gan.stargan_model(to_domain, judge, tf.constant(REAL), tf.constant(labels))
    of_star = gan.stargan_loss(star, gradient_penalty_weight=None)
    got = run(*loss.loss_x2y, loss.loss_y2x.generator_loss, *of_star, star.generated_data_domain_target,
              star.generated_data)  # fmt: skip
    cycled = 5.0 * (3 * np.abs(REAL).mean() + 3 * np.abs(FAKE).mean()) / 2
    np.testing.assert_allclose(got[0], ((2 * REAL - 1) ** 2).mean() / 2 + cycled, rtol=1e-5)
    np.testing.assert_allclose(got[1], ((FAKE - 1) ** 2).mean() / 2 + (4 * REAL**2).mean() / 2, rtol=1e-5)
    np.testing.assert_allclose(got[2], ((2 * FAKE - 1) ** 2).mean() / 2 + cycled, rtol=1e-5)
    target, generated = got[5:]
    table = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(generated[:, 0], REAL[:, 0] * (target @ table), rtol=1e-6)

    def crossed(data: Any, wanted: Any) -> Any:
        logits = data * np.array([1.0, 0, -1])
        return (np.log(np.exp(logits).sum(1)) - (logits * wanted).sum(1)).mean()

    returned = generated[:, 0] * (labels @ table)
    expected = -generated.mean() + 10 * np.abs(returned - REAL[:, 0]).mean() + crossed(generated, target)
    np.testing.assert_allclose(got[3], expected, rtol=1e-4)
    np.testing.assert_allclose(got[4], generated.mean() - REAL.mean() + crossed(REAL, labels), rtol=1e-4)


@pytest.mark.parametrize("hooks", [gan.get_sequential_train_hooks, gan.get_joint_train_hooks])
def test_training_takes_so_many_steps_of_each_part(hooks: Any, tmp_path: Path) -> None:
    made = model()
    loss = gan.gan_loss(made)
    rate = tf.train.GradientDescentOptimizer
    ops = gan.gan_train_ops(made, loss, rate(0.5), rate(0.01))
    end = tf.train.StopAtStepHook(num_steps=4)
    final = tf.train.FinalOpsHook([made.generator_variables[0], made.discriminator_variables[0]])
    step = gan.gan_train(ops, str(tmp_path), hooks(gan.GANTrainSteps(2, 1)), hooks=[end, final])
    assert step == 4
    shift, slope = final.final_ops_values
    # By hand: the generator's gradient is minus the slope, the discriminator's that of its outputs.
    expected_shift, expected_slope = 0.0, 1.0
    for _ in range(4):
        if hooks is gan.get_joint_train_hooks:
            changes = 0.5 * expected_slope, 0.01 * (3.0 - expected_shift)
            expected_shift, expected_slope = expected_shift + changes[0], expected_slope + changes[1]
            expected_shift += 0.5 * expected_slope
        else:
            expected_shift += 2 * 0.5 * expected_slope
            expected_slope += 0.01 * (3.0 - expected_shift)
    np.testing.assert_allclose([shift, slope], [expected_shift, expected_slope], rtol=0.03)


def test_update_operations_belong_to_one_part() -> None:
    with tf.variable_scope("counts"):
        counts = [tf.get_variable(n, [], initializer=tf.zeros_initializer(), trainable=False) for n in "gd"]
    made = model()
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counts[0], 1.0, name="Generator/u"))
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counts[1], 1.0, name="Discriminator/u"))
    rate = tf.train.GradientDescentOptimizer(0.1)
    ops = gan.gan_train_ops(made, gan.gan_loss(made), rate, rate)
    train_step = gan.get_sequential_train_steps(gan.GANTrainSteps(3, 2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        total, over = train_step(session, ops, tf.train.get_global_step(), {"should_stop": tf.constant(True)})
        assert (np.isfinite(total), over) == (True, True)
        np.testing.assert_array_equal(session.run([*counts, tf.train.get_global_step()]), [3, 2, 1])
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counts[0], 1.0, name="elsewhere"))
    with pytest.raises(ValueError, match="unused update ops"):
        gan.gan_train_ops(made, gan.gan_loss(made), rate, rate)
    gan.gan_train_ops(made, gan.gan_loss(made), rate, rate, check_for_unused_update_ops=False)


def test_estimator(tmp_path: Path) -> None:
    modes = []

    def moded(noise: Any, mode: str) -> Any:
        modes.append(mode)
        return generator(noise)

    estimator = gan.estimator.GANEstimator(
        str(tmp_path),
        moded,
        discriminator,
        gan.losses.wasserstein_generator_loss,
        gan.losses.wasserstein_discriminator_loss,
        tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.GradientDescentOptimizer(0.0),
        get_eval_metric_ops_fn=lambda m: {"twice": tf.metrics.mean(m.generated_data * 2)},
        add_summaries=gan.estimator.SummaryType.VARIABLES,
    )

    def inputs() -> Any:
        return tf.constant(FAKE), tf.constant(REAL)

    estimator.train(inputs, steps=5)
    found = estimator.evaluate(inputs, steps=1)
    assert found["global_step"] == 5
    np.testing.assert_allclose(found["twice"], 2 * (FAKE.mean() + 0.5), rtol=1e-5)
    np.testing.assert_allclose(found["generator_loss"], -(FAKE.mean() + 0.5), rtol=1e-5)
    np.testing.assert_allclose(found["discriminator_loss"], FAKE.mean() + 0.5 - REAL.mean(), rtol=1e-5)
    predicted = list(estimator.predict(lambda: tf.data.Dataset.from_tensors(tf.constant(FAKE))))
    np.testing.assert_allclose(predicted, FAKE + 0.5, rtol=1e-5)
    assert modes == ["train", "eval", "infer"]
    with pytest.raises(ValueError, match="callable"):
        gan.estimator.GANEstimator(generator_loss_fn=None)


def test_head() -> None:
    made = model()
    rate = tf.train.GradientDescentOptimizer(0.1)
    losses = gan.losses.wasserstein_generator_loss, gan.losses.wasserstein_discriminator_loss
    head = gan.estimator.gan_head(*losses, rate, rate, name="h")
    spec = head.create_estimator_spec(None, "eval", made)
    assert set(spec.eval_metric_ops) == {"generator_loss/h", "discriminator_loss/h"}
    assert len(head.create_estimator_spec(None, "train", made).training_hooks) == 2
    assert "predict" in (head.create_estimator_spec(None, "infer", made).export_outputs or {})
    with pytest.raises(ValueError, match="must be `None`"):
        head.create_estimator_spec(None, "eval", made, labels=1)
    with pytest.raises(ValueError, match="GANModel"):
        head.create_estimator_spec(None, "eval", 3)


def test_stargan_estimator(tmp_path: Path) -> None:
    labels = np.eye(2, dtype="f")[[0, 1, 0, 1, 0, 1]]

    def to_domain(data: Any, target: Any) -> Any:
        return data + tf.matmul(target, tf.get_variable("t", [2, 1], initializer=tf.zeros_initializer()))

    def judge(data: Any, domains: int) -> Any:
        return tf.layers.dense(data, 1), tf.layers.dense(data, domains)

    rate = tf.train.GradientDescentOptimizer(0.01)
    estimator = gan.estimator.StarGANEstimator(str(tmp_path), to_domain, judge, None, rate, rate)
    estimator.train(lambda: (tf.constant(REAL), tf.constant(labels)), steps=2)
    assert np.isfinite(estimator.evaluate(lambda: (tf.constant(REAL), tf.constant(labels)), steps=1)["loss"])
    domains = estimator.get_variable_value("Generator/t")
    # A dataset has (features, labels), where these features are a pair themselves.
    predicted = list(estimator.predict(lambda: tf.data.Dataset.from_tensors(((REAL, labels), labels))))
    np.testing.assert_allclose(predicted, REAL + labels @ domains, rtol=1e-5)
