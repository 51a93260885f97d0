"""The service's graphs: nodes, and the functions of the library."""
