"""Images: decoding and encoding, resizing, cropping, colours, boxes, patches, measures."""
