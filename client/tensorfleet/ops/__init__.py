"""The op types: signatures, shape rules, the functions that make them, and beside them their gradients."""
