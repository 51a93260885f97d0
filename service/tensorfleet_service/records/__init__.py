"""Files of records as a task reads them: records, lines, parts of equal length, and the values in them."""
