"""All programs: importing the module brings them in."""

from tests.compat.op_programs import OPS, variant_values

__all__ = ["OPS", "variant_values"]
