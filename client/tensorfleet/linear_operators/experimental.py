"""`tf.linalg.experimental`: solutions by iteration."""

from tensorfleet.linear_operators.conjugate_gradient import conjugate_gradient as conjugate_gradient

__all__ = ["conjugate_gradient"]
