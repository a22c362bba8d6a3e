#pragma once
// One function per model; each stands with its recipe in a file of its name.

#include "zoo/zoo.h"

namespace partita {

inline constexpr int64_t kMaxLayers = 10000;
inline constexpr int64_t kMaxChannels = 1024;  // of an image

/// `layers` hidden layers of `hidden` units with relu; options layers, hidden, classes, dropout.
ZooModel make_mlp(ModelSizes& options);
/// Two convolutions and three dense layers (LeCun et al., 1998), with relu and max pooling; options classes, dropout.
ZooModel make_lenet(ModelSizes& options);
/// Residual networks. Options classes, size and channels (of the image), width (channels of the first stage), dropout,
/// small_stem (1: one 3x3 convolution instead of 7x7 and pooling; resnet18 takes it for images up to 64).
ZooModel make_resnet18(ModelSizes& options);
ZooModel make_resnet50(ModelSizes& options);
ZooModel make_resnet101(ModelSizes& options);
ZooModel make_resnet152(ModelSizes& options);
/// The same with wider 3x3 convolutions; options also layers (50, 101, 152), factor; published: 250m to 13b of Alpa.
ZooModel make_wide_resnet(ModelSizes& options);
/// Branches of convolutions that are concatenated (Inception v3); options classes, size, channels, width (32: as
/// published, its channels in proportion), dropout; published: v3.
ZooModel make_inception(ModelSizes& options);
/// An encoder of image patches; options layers, hidden, heads, inner, size, channels, patch, classes, dropout;
/// published: tiny, small, base, large, huge, giant.
ZooModel make_vit(ModelSizes& options);
/// A decoder-only transformer over bytes; options layers, hidden, heads, seq, vocab, dropout; published: GPT-3 from
/// 125m to 175b, Megatron-LM from 1.7b to 1t.
ZooModel make_gpt(ModelSizes& options);
/// The same with mixtures of experts; options layers, hidden, heads, seq, vocab, dropout, experts, top_k, capacity
/// (slots of an expert, times those of an even share; 0: room for every token), expert_hidden (0: four times hidden),
/// shared (experts that every token uses), balance (weight of the balance loss), every (2: each second block has
/// experts, others are as in gpt); published: 380m to 140b of Alpa.
ZooModel make_moe(ModelSizes& options);
/// A decoder-only transformer with rotary positions, RMS norms, grouped-query attention and SwiGLU; options layers,
/// hidden, heads, kv_heads, intermediate, seq, vocab, tied (1: the table of tokens is also the last layer),
/// rotary_base; published: Llama 3 with 1b, 3b, 8b, 70b and 405b.
ZooModel make_llama(ModelSizes& options);
/// An encoder that restores masked tokens; options layers, hidden, heads, seq, vocab (its last token is the mask),
/// masked (positions of a row), dropout; published: base, large.
ZooModel make_bert(ModelSizes& options);
/// An encoder, and a decoder that attends to it and continues the text; options layers (of each), hidden, heads,
/// head_width, inner, seq, target (tokens that follow), vocab, dropout; published: small, base, large, 3b, 11b.
ZooModel make_t5(ModelSizes& options);
/// Look-ups in a large table beside a network of products; options fields (ids of a row), rows (of the table), width,
/// features (numbers of a row), layers, hidden, classes; published: criteo.
ZooModel make_recommender(ModelSizes& options);
/// 32-16-16 with one annotated product and rows of its own.
ZooModel make_quickstart(ModelSizes& options);

}  // namespace partita
