"""ResNet-50 (He et al., 2016) of cells, as the scripts of this folder import it."""
from partita import nn, ops
from partita.common.initializer import Normal


def _conv(in_channel, out_channel, kernel_size, stride=1):
    return nn.Conv2d(in_channel, out_channel, kernel_size, stride=stride, pad_mode="same", weight_init="he_normal")


class ResidualBlock(nn.Cell):
    """Three convolutions beside a shortcut; the second one has the stride. It begins as the shortcut alone."""
    expansion = 4

    def __init__(self, in_channel, out_channel, stride=1):
        super().__init__()
        channel = out_channel // self.expansion
        self.conv1, self.bn1 = _conv(in_channel, channel, 1), nn.BatchNorm2d(channel)
        self.conv2, self.bn2 = _conv(channel, channel, 3, stride), nn.BatchNorm2d(channel)
        self.conv3, self.bn3 = _conv(channel, out_channel, 1), nn.BatchNorm2d(out_channel, gamma_init="zeros")
        self.relu = nn.ReLU()
        self.has_down_sample = stride != 1 or in_channel != out_channel
        if self.has_down_sample:
            self.down_conv = _conv(in_channel, out_channel, 1, stride)
            self.down_bn = nn.BatchNorm2d(out_channel)
        self.add = ops.Add()

    def construct(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        identity = self.down_bn(self.down_conv(x)) if self.has_down_sample else x
        return self.relu(self.add(out, identity))


class ResNet(nn.Cell):
    """A stem, four stages of blocks, the mean over the image, classes."""

    def __init__(self, blocks, num_classes):
        super().__init__()
        self.conv1, self.bn1, self.relu = _conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU()
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        cells, in_channel = [], 64
        for stage, count in enumerate(blocks):
            out_channel = 256 * 2 ** stage
            for block in range(count):
                cells.append(ResidualBlock(in_channel, out_channel, 2 if block == 0 and stage > 0 else 1))
                in_channel = out_channel
        self.layers = nn.SequentialCell(cells)
        self.mean, self.flatten = ops.ReduceMean(keep_dims=True), nn.Flatten()
        self.end_point = nn.Dense(in_channel, num_classes, weight_init=Normal(0.01), bias_init="zeros")

    def construct(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layers(x)
        return self.end_point(self.flatten(self.mean(x, (2, 3))))


def resnet50(batch_size=32, num_classes=10):
    """The network; any batch goes through it."""
    return ResNet([3, 4, 6, 3], num_classes)
