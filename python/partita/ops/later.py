"""The names of the modules of ops that are imported when one of them is first asked for: written by
tools/later_names.py."""

FUNCTIONS = {
    "assembled": (
        "atleast_3d cartesian_prod column_stack combinations dsplit dstack expand expand_as hsplit ravel rot90 "
        "row_stack strided_slice take view_as vsplit"
    ),
    "attention": "flash_attention_score rotary_position_embedding speed_fusion_attention",
    "bilinear": "bidense",
    "blocks": "batch_to_space_nd mirror_pad padding space_to_batch_nd",
    "boxes": "bounding_box_decode bounding_box_encode check_valid crop_and_resize iou",
    "channels": "channel_shuffle dropout1d dropout2d dropout3d group_norm lrn pixel_shuffle pixel_unshuffle",
    "ctc": "ctc_greedy_decoder ctc_loss",
    "diagonals": "diag diag_embed diagflat matrix_band_part matrix_diag matrix_diag_part matrix_set_diag",
    "differences": "diff dyn_shape sequence_mask",
    "directional": "jvp linearize vjp",
    "distributions": (
        "bernoulli bernoulli_ext cauchy choice_with_mask gamma laplace multinomial_with_replacement normal poisson "
        "randint_like random_categorical random_gamma random_poisson shuffle standard_laplace truncated_normal "
        "uniform"
    ),
    "exponents": (
        "deg2rad exp2 float_power float_power_ext hypot ldexp log10 log2 logaddexp logaddexp2 logit rad2deg xdivy "
        "xlogy"
    ),
    "extremes": "aminmax cummax cummin logcumsumexp median msort nanmean nanmedian nanquantile nansum quantile",
    "filled": (
        "diagonal_scatter gather_d index_fill inplace_index_add put_ reverse_sequence scatter select_scatter "
        "slice_scatter tensor_scatter_elements"
    ),
    "folds": "col2im fold",
    "frequencies": (
        "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 "
        "irfftn rfft rfft2 rfftfreq rfftn stft"
    ),
    "grids": "affine_grid grid_sample",
    "in_place": "bernoulli_ clamp_ exponential_ normal_ random_ tanh_ uniform_ zero_",
    "integers": "bitwise_left_shift bitwise_not bitwise_right_shift gcd invert lcm nextafter population_count",
    "linear_solutions": (
        "adjoint cholesky cholesky_inverse cholesky_solve det inverse log_matrix_determinant logdet lstsq "
        "matrix_determinant matrix_exp matrix_power matrix_solve pinv slogdet"
    ),
    "margin_losses": (
        "gaussian_nll_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss triplet_margin_loss"
    ),
    "matrix_factors": "eig eigvals geqrf lu_solve lu_unpack orgqr ormqr qr svd",
    "matrix_measures": (
        "batch_dot block_diag cdist cond cov dist einsum_ext ger histc kron matrix_norm pdist renorm trapz vecdot "
        "vector_norm"
    ),
    "normalized_sums": "add_layer_norm add_rms_norm rms_norm",
    "placed": (
        "scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd scatter_nd_add scatter_nd_div "
        "scatter_nd_max scatter_nd_min scatter_nd_mul scatter_nd_sub scatter_nd_update scatter_update "
        "tensor_scatter_add tensor_scatter_div tensor_scatter_max tensor_scatter_min tensor_scatter_mul "
        "tensor_scatter_sub tensor_scatter_update"
    ),
    "pools": (
        "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d avg_pool3d "
        "fractional_max_pool2d fractional_max_pool3d lp_pool1d lp_pool2d max_pool3d max_unpool1d max_unpool2d "
        "max_unpool3d"
    ),
    "ranked": "argwhere intopk sparse_segment_mean unique_with_pad",
    "scalars": (
        "accumulate_n bool_and bool_eq bool_not bool_or is_ is_not numel pows scalar_add scalar_cast scalar_div "
        "scalar_eq scalar_floordiv scalar_ge scalar_gt scalar_le scalar_log scalar_lt scalar_max scalar_min "
        "scalar_mod scalar_mul scalar_ne scalar_pow scalar_sub scalar_uadd scalar_usub string_concat string_eq "
        "tensor_div tensor_exp tensor_expm1 tensor_floordiv tensor_ge tensor_gt tensor_le tensor_lt tensor_mod "
        "tensor_muls tensor_range"
    ),
    "segments": "unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum",
    "signs": (
        "absolute allclose approximate_equal conj copysign div_no_nan divide eps fix floordiv floormod fmax fmin fmod "
        "frac heaviside imag inv is_complex is_nonzero isnan_ext isneginf isposinf isreal mul_no_nan nan_to_num "
        "negative positive real rint sgn signbit sinc square_sum_all squared_difference subtract truncate_div "
        "truncate_mod"
    ),
    "sparse_names": (
        "coo2csr coo_abs coo_acos coo_acosh coo_add coo_asin coo_asinh coo_atan coo_atanh coo_ceil coo_concat coo_cos "
        "coo_cosh coo_exp coo_expm1 coo_floor coo_inv coo_isfinite coo_isinf coo_isnan coo_log coo_log1p coo_neg "
        "coo_relu coo_relu6 coo_round coo_sigmoid coo_sin coo_sinh coo_softsign coo_sqrt coo_square coo_tan coo_tanh "
        "coo_tensor_get_dense_shape coo_tensor_get_indices coo_tensor_get_values csr2coo csr_abs csr_acos csr_acosh "
        "csr_add csr_asin csr_asinh csr_atan csr_atanh csr_ceil csr_cos csr_cosh csr_div csr_exp csr_expm1 csr_floor "
        "csr_gather csr_inv csr_isfinite csr_isinf csr_isnan csr_log csr_log1p csr_mm csr_mul csr_mv csr_neg "
        "csr_reduce_sum csr_relu csr_relu6 csr_round csr_sigmoid csr_sin csr_sinh csr_softmax csr_softsign csr_sqrt "
        "csr_square csr_tan csr_tanh csr_tensor_get_dense_shape csr_tensor_get_indices csr_tensor_get_indptr "
        "csr_tensor_get_values csr_to_coo csr_to_dense dense_to_sparse_coo dense_to_sparse_csr make_coo_tensor "
        "make_csr_tensor make_sparse_tensor row_tensor_add row_tensor_get_dense_shape row_tensor_get_indices "
        "row_tensor_get_values"
    ),
    "special": (
        "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e "
        "bessel_y0 bessel_y1 i0 igamma igammac mvlgamma zeta"
    ),
    "tables": "embedding",
    "thresholds": "gumbel_softmax hardshrink rrelu soft_shrink softshrink swiglu threshold",
    "transposed_volumes": "conv3d_transpose conv_transpose2d deformable_conv2d",
    "updates_of_rows": "inplace_add inplace_sub inplace_update",
    "value_tools": "deepcopy is_sequence_value_unknown typeof",
    "windows": (
        "bartlett_window blackman_window fills hamming_window hann_window kaiser_window logspace range tril_indices "
        "triu_indices vander"
    ),
}
INNER = {
    "inner_functions": (
        "_check_same_type _expand _get_seed _interploate_ext_make_tuple _interpolate_ext_scale_factor_convert_size "
        "_set_prim_op_user_data apply_global_norm avg_pool2d_ext get_square_sum pad_ext"
    ),
    "projections": (
        "_check_attn_mask_shape _check_kpm_shape _check_qkv_shape _in_projection _in_projection_packed _inner_dropout "
        "_inner_pad linear multi_head_attention_forward"
    ),
}
OBJECTS = {
    "angle_primitives": (
        "ACos Acosh Asin Asinh Atan Atan2 Atanh Cos Cosh Digamma Erfc Erfinv Expm1 Lgamma Log1p Polygamma Sin Sinh "
        "Tan"
    ),
    "applied": (
        "Adam AdamNoUpdateParam ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 "
        "ApplyAdamWithAmsgrad ApplyAdamWithAmsgradV2 ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyGradientDescent "
        "ApplyKerasMomentum ApplyMomentum ApplyPowerSign ApplyProximalAdagrad ApplyProximalGradientDescent "
        "ApplyRMSProp FusedSparseAdam FusedSparseFtrl FusedSparseLazyAdam FusedSparseProximalAdagrad "
        "FusedWeightScaleApplyMomentum LARSUpdate SGD SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradV2 "
        "SparseApplyFtrl SparseApplyFtrlV2 SparseApplyProximalAdagrad SparseApplyRMSProp"
    ),
    "attention_primitives": "FlashAttentionScore PromptFlashAttention",
    "colors": "HSVToRGB InstanceNorm RGBToHSV",
    "convolution_primitives": (
        "BasicLSTMCell Conv3D Conv3DTranspose DeformableOffsets DepthwiseConv2dNative DropoutDoMask DynamicGRUV2 "
        "DynamicRNN FractionalAvgPool FractionalMaxPool RNNTLoss"
    ),
    "draw_primitives": (
        "Bernoulli Cauchy ComplexAbs Gamma LogNormalReverse Multinomial MultinomialWithReplacement "
        "NPUAllocFloatStatus NPUClearFloatStatus NPUGetFloatStatus NonDeterministicInts Poisson Polar "
        "RandomCategorical RandomChoiceWithMask RandomGamma RandomPoisson RandomShuffle Randperm RandpermV2 "
        "StandardLaplace TruncatedNormal UniformInt"
    ),
    "element_primitives": (
        "AccumulateNV2 Addcdiv ApproximateEqual AssignAdd AssignSub BartlettWindow BesselI0 BesselI0e BesselI1 "
        "BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 BitwiseAnd BitwiseOr "
        "BitwiseXor BlackmanWindow CeLU CheckNumerics DivNoNan Eps FastGelu FillV2 Fills FloatStatus Fmax Fmin GLU "
        "Gcd Gelu HShrink HammingWindow Heaviside Hypot Igamma Igammac Imag InplaceAdd InplaceSub InplaceUpdate "
        "InplaceUpdateV2 Inv Invert IsClose IsInf IsNan L2Loss Lcm LeftShift Lerp LerpScalar LinSpace LogSpace Logit "
        "MulNoNan Mvlgamma NanToNum NextAfter PReLU PopulationCount Range Real RightShift Rint ScalarCast Sinc "
        "SoftShrink SquareSumAll SquaredDifference TrilIndices TriuIndices TruncateDiv TruncateMod Xdivy Xlogy Zeta"
    ),
    "image_primitives": (
        "AffineGrid ChannelShuffle Col2Im Dropout2D Dropout3D ExtractImagePatches GridSampler2D GridSampler3D Im2Col "
        "LRN ResizeArea ResizeBicubic ResizeBilinearV2 ResizeLinear1D ResizeNearestNeighbor ResizeNearestNeighborV2 "
        "UpsampleNearest3D UpsampleTrilinear3D"
    ),
    "linear_primitives": (
        "Bincount Cdist Cholesky CholeskyInverse CholeskySolve Cross Eig EuclideanNorm Geqrf Ger Histogram "
        "HistogramFixedWidth LogMatrixDeterminant Lstsq LuSolve LuUnpack MatrixDeterminant MatrixExp MatrixInverse "
        "MatrixLogarithm MatrixPower MatrixSolve MatrixSolveLs MatrixTriangularSolve NuclearNorm Orgqr Ormqr Pdist Qr "
        "Renorm Svd Trace TridiagonalMatMul"
    ),
    "loss_primitives": (
        "BCEWithLogitsLoss BinaryCrossEntropy CTCGreedyDecoder CTCLoss CTCLossV2 MultiMarginLoss MultilabelMarginLoss "
        "SmoothL1Loss SoftMarginLoss TripletMarginLoss"
    ),
    "order_primitives": (
        "ArgMaxWithValue ArgMinWithValue Argmin BatchToSpace BatchToSpaceND BoundingBoxDecode BoundingBoxEncode "
        "Bucketize CountNonZero CropAndResize CumProd Cummax Cummin CumulativeLogsumexp DataFormatDimMap "
        "DataFormatVecPermute DepthToSpace DynamicShape IOU InTopK ListDiff LowerBound Median MirrorPad NMSWithMask "
        "NthElement Pack PadV3 Padding Quantile ROIAlign RaggedRange ReduceProd ReduceStd Roll SearchSorted "
        "SpaceToBatch SpaceToBatchND SpaceToDepth SplitV UniqueConsecutive Unpack UpperBound"
    ),
    "place_primitives": (
        "BatchToSpaceNDV2 CheckValid Diag DiagPart EmbeddingLookup EqualCount Expand FillDiagonal IdentityN IndexAdd "
        "IndexFill IndexPut InplaceIndexAdd InvertPermutation MaskedScatter MatrixBandPart MatrixDiagPartV3 "
        "MatrixDiagV3 MatrixSetDiagV3 NonMaxSuppressionV3 NonZero ParallelConcat ReverseSequence ReverseV2 "
        "ScalarToArray ScatterAdd ScatterAddWithAxis ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNd "
        "ScatterNdAdd ScatterNdDiv ScatterNdMax ScatterNdMin ScatterNdMul ScatterNdSub ScatterNdUpdate "
        "ScatterNonAliasingAdd ScatterSub ScatterUpdate SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum "
        "StopGradient SubAndFilter TensorScatterAdd TensorScatterDiv TensorScatterElements TensorScatterMax "
        "TensorScatterMin TensorScatterMul TensorScatterSub TensorScatterUpdate TensorShape TensorToTuple Triu "
        "TupleToArray Unique UniqueWithPad UnravelIndex UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd "
        "UnsortedSegmentSum"
    ),
    "pool_primitives": (
        "AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D AvgPool3D "
        "FractionalMaxPool3DWithFixedKsize FractionalMaxPoolWithFixedKsize MaxPool3D MaxPool3DWithArgmax "
        "MaxPoolWithArgmax MaxPoolWithArgmaxV2 MaxUnpool2D MaxUnpool3D"
    ),
}
# Methods of tensors that become theirs when one of them is first called.
METHODS = {
    "in_place": (
        "abs_ add_ bernoulli bernoulli_ bfloat16 byte cauchy clamp_ div_ double exp_ exponential_ float_power floor_ "
        "floor_divide_ inplace_update is_signed log_ log_normal neg_ new_empty normal_ random_ relu_ remainder_ short "
        "sigmoid_ sign_ sqrt_ sub_ tanh_ uniform uniform_"
    ),
    "place_methods": (
        "argmax_with_value argmin_with_value argsort choose fill_diagonal fill_diagonal_ index_add_ index_copy_ "
        "index_fill_ index_put index_put_ itemset kthvalue masked_scatter masked_scatter_ median ptp resize "
        "reverse_sequence scatter scatter_ scatter_add scatter_add_ sort storage_offset stride sum_to_size"
    ),
}
