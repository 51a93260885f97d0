"""Reading files of records: TFRecords, lines, parts of equal length, and the values in them."""
