"""All programs: importing the module brings them in."""

from tests.compat.op_programs import OPS, linear_algebra, variant_values

__all__ = ["OPS", "linear_algebra", "variant_values"]
