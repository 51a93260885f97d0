"""The ground: dtypes, shapes, devices, errors, attribute values, nested structures, files, the log."""
