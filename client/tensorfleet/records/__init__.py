"""Files of records: TFRecord files, their compression, and how they are read and written."""
