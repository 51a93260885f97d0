"""Invertible functions with the determinants of their Jacobians (`tf.contrib.distributions.bijectors`)."""
