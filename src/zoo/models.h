#pragma once
// One function per model; each stands with its recipe in a file of its name.

#include "zoo/zoo.h"

namespace partita {

/// `layers` hidden layers of `hidden` units with relu; options layers, hidden, classes, dropout.
ZooModel make_mlp(ModelOptionsText& options);
/// Two convolutions and three dense layers (LeCun et al., 1998), with relu and max pooling; options classes, dropout.
ZooModel make_lenet(ModelOptionsText& options);
/// He et al., 2015, with the names of torchvision; for small images the stem is one 3x3 convolution.
/// Options classes, size (of the image), width (channels of the first stage), dropout.
ZooModel make_resnet18(ModelOptionsText& options);

}  // namespace partita
