"""The networks of `tf.contrib.slim.nets`: AlexNet, VGG, OverFeat, ResNets and Inceptions."""
