"""The names of the modules of nn that are imported when one of them is first asked for: written by
tools/later_names.py."""

LAYERS = {
    "attention": (
        "MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
        "TransformerEncoderLayer"
    ),
    "channels": (
        "ChannelShuffle ConstantPad3d Dropout1d Dropout2d Dropout3d HShrink InstanceNorm1d InstanceNorm2d "
        "InstanceNorm3d LRN PixelUnshuffle RReLU ReflectionPad1d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
        "ReplicationPad3d SoftShrink Softmax2d Threshold Upsample"
    ),
    "containers": "CellDict GetNextSingleOp GraphCell Jvp ParameterUpdate TimeDistributed Vjp WithGradCell",
    "lines": "AdaptiveAvgPool1d AdaptiveMaxPool1d AvgPool1d MaxPool1d",
    "margin_losses": (
        "CTCLoss FocalLoss GaussianNLLLoss MultiClassDiceLoss MultiLabelSoftMarginLoss MultiMarginLoss "
        "MultilabelMarginLoss PoissonNLLLoss RMSELoss SampledSoftmaxLoss TripletMarginLoss "
        "TripletMarginWithDistanceLoss"
    ),
    "optim.averaging": "ASGD LazyAdam Rprop",
    "optim.proximal": "FTRL ProximalAdagrad",
    "optim.scaled": "AdaFactor LARS",
    "pools": (
        "AdaptiveAvgPool3d AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d "
        "LPPool1d LPPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d"
    ),
    "recurrent": "GRU GRUCell LSTM LSTMCell RNN RNNCell",
    "similarity": "ImageGradients MSSSIM PSNR SSIM",
    "small_layers": (
        "BiDense CentralCrop ClipByNorm Conv2dBnAct DenseBnAct EmbeddingLookup L1Regularizer MatMul Moments Range "
        "ReduceLogSumExp Roll Tril Triu"
    ),
}
