"""What `tf.contrib.graph_editor` does: choosing operations of a graph, copying and rewiring them."""
