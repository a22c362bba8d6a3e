#pragma once
// One function per model. Each is defined, with its recipe, in a file of the model's name. All throw InvalidArgument
// for sizes out of range.

#include "zoo/zoo.h"

namespace partita {

inline constexpr int64_t kMaxLayers = 10000;
inline constexpr int64_t kMaxChannels = 1024;  // channels of an image

/// Makes `layers` hidden layers of `hidden` units with relu, for rows of any shape. Options: layers, hidden, classes,
/// dropout. Throws InvalidArgument for sizes out of range.
ZooModel make_mlp(ModelSizes& options);
/// Two convolutions and three dense layers (LeCun et al., 1998), with relu and max pooling. Options: classes, dropout.
/// Throws InvalidArgument for sizes out of range.
ZooModel make_lenet(ModelSizes& options);
/// Makes a residual network. Options: classes, size and channels (of the image), width (channels of the first stage),
/// dropout, small_stem (1: one 3x3 convolution instead of 7x7 and pooling; the default of resnet18 for images up to
/// 64). Throws InvalidArgument for sizes out of range.
ZooModel make_resnet18(ModelSizes& options);
ZooModel make_resnet50(ModelSizes& options);
ZooModel make_resnet101(ModelSizes& options);
ZooModel make_resnet152(ModelSizes& options);
/// A residual network with wider 3x3 convolutions. Options in addition to those of `make_resnet18`: layers (50, 101,
/// 152), factor (of the 3x3 convolutions). Published: 250m to 13b of Alpa. Throws InvalidArgument for an unknown
/// published name, for sizes out of range and for another number of layers.
ZooModel make_wide_resnet(ModelSizes& options);
/// Concatenated branches of convolutions (Inception v3). Options: classes, size, channels (of the image), width (scales
/// the number of filters of every convolution; 32: as published), dropout. Published: v3. Throws InvalidArgument for an
/// unknown published name and for sizes out of range.
ZooModel make_inception(ModelSizes& options);
/// An encoder of image patches. Options: layers, hidden, heads, inner, size, channels, patch, classes, dropout, epsilon
/// (of the norms), key_bias (1: keys have a bias). Published: tiny, small, base, large, huge, giant. Throws
/// InvalidArgument for an unknown published name, for a patch that does not divide the image and for sizes out of
/// range; building the network refuses heads that do not divide hidden.
ZooModel make_vit(ModelSizes& options);
/// A decoder-only transformer over bytes. Options: layers, hidden, heads, seq, vocab, dropout, inner (width of the
/// feed-forward part; 0: four times hidden), positions (rows of their embedding; 0: seq), epsilon (of the norms),
/// gelu_tanh (1: gelu by tanh), key_bias (1: keys have a bias), tied (1: the token embedding is also the output layer).
/// Published: GPT-3 from 125m to 175b, Megatron-LM from 1.7b to 1t. Throws InvalidArgument for an unknown published
/// name and for sizes out of range; building the network refuses heads that do not divide hidden.
ZooModel make_gpt(ModelSizes& options);
/// A decoder-only transformer with mixtures of experts. Options: layers, hidden, heads, seq, vocab, dropout, experts,
/// top_k, capacity (tokens that an expert takes, relative to an equal share; 0: every token), expert_hidden (0: four
/// times hidden), shared (experts that every token uses), balance (weight of the balance loss), every (2: every second
/// block has experts, the others are as in gpt). Published: 380m to 140b of Alpa. Throws InvalidArgument for an unknown
/// published name, for sizes out of range and top_k above experts; building the network refuses heads that do not
/// divide hidden.
ZooModel make_moe(ModelSizes& options);
/// A decoder-only transformer with rotary positions, RMS norms, grouped-query attention and SwiGLU. Options: layers,
/// hidden, heads, kv_heads, head_width (0: hidden by heads), intermediate, seq, vocab, tied (1: the token embedding is
/// also the output layer), longest (rows that it may be given, at most; 0: seq), epsilon (of the norms), bias (1: of q,
/// k and v), proj_bias (1: of the projection), head_norm (1: heads of q and k are normalized), rotary_base,
/// rotary_factor, rotary_low, rotary_high, rotary_trained (`partita ops rotary`), and, for experts in place of SwiGLU,
/// experts (0: none), top_k, capacity and balance as in `make_moe`. Published: Llama 3 with 1b, 3b, 8b, 70b and 405b.
/// Throws InvalidArgument for an unknown published name and for sizes out of range; building the network refuses heads
/// that do not divide hidden or have an odd width, and kv_heads that do not divide heads.
ZooModel make_llama(ModelSizes& options);
/// An encoder that restores masked tokens. Options: layers, hidden, heads, seq, vocab, masked (positions per row, at
/// most seq), dropout, inner, positions, epsilon and key_bias as in `make_gpt`, segments (rows of their embedding; 0:
/// none), mask (the token for masked ones; -1: the last). Published: base, large. Throws InvalidArgument for an unknown
/// published name and for sizes out of range; building the network refuses heads that do not divide hidden.
ZooModel make_bert(ModelSizes& options);
/// An encoder, and a decoder that attends to it and continues the text. Options: layers (of each), hidden, heads,
/// head_width, inner, seq, target (tokens that the decoder predicts), vocab, dropout. heads need not divide hidden.
/// Published: small, base, large, 3b, 11b. Throws InvalidArgument for an unknown published name and for sizes out of
/// range.
ZooModel make_t5(ModelSizes& options);
/// Makes look-ups in a large table next to a dense network. Options: fields (ids per row), rows (of the table), width,
/// features (numbers per row), layers, hidden (units of the first layer; each next one has half). Published: criteo.
/// Throws InvalidArgument for an unknown published name and for sizes out of range.
ZooModel make_recommender(ModelSizes& options);
/// Layers of 32, 16 and 16 units with one annotated product and its own rows. No options.
ZooModel make_quickstart(ModelSizes& options);

}  // namespace partita
