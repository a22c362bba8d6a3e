"""Templates of calls of metrics, of the top level and of facts of tensors: see drawn_templates."""

_CLASSES = "{g:n,k}, {ids:n<k}"
ROWS = [
    ("text", "nn.Precision nn.Recall", [
        "metric(nn.{Precision|Recall}(), " + _CLASSES + ").tolist()",
        "metric(nn.{Precision|Recall}('multilabel'), np.round({u:n,k}.asnumpy()), "
        "np.round({u:n,k}.asnumpy())).tolist()",
    ]),
    ("text", "nn.F1 nn.Fbeta", ["metric(nn.{F1()|Fbeta(2)|Fbeta(0.5)}, " + _CLASSES + ").tolist()"]),
    ("text", "nn.MAE nn.MSE", ["metric(nn.{MAE|MSE}(), {g:n,k}, {g:n,k})", "metric(nn.{MAE|MSE}(), {g:n}, {g:n})"]),
    ("text", "nn.Dice", ["metric(nn.Dice([?{0.5|1e-3}]), {g:n,k}, {g:n,k})"]),
    ("text", "nn.ConfusionMatrix", [
        "metric(nn.ConfusionMatrix(3[?, normalize='{target|prediction|all}']), {g:n,3}, {ids:n<3}).tolist()",
    ]),
    ("text", "nn.ConfusionMatrixMetric", [
        "metric(nn.ConfusionMatrixMetric(metric_name='{tpr|tnr|ppv|npv|fnr|fpr|fdr|ts|acc|ba|f1|fm|bm}'), "
        "np.round({u:n,k,3}.asnumpy()), np.round({u:n,k,3}.asnumpy())).tolist()",
    ]),
    ("text", "nn.CosineSimilarity", [
        "metric(nn.CosineSimilarity('{dot|cosine}', '{none|sum|mean}'), {g:n,3}).tolist()",
    ]),
    ("text", "nn.Perplexity", ["metric(nn.Perplexity([?{0|1}]), {u:4,k}, {ids:4<k})"]),
    ("text", "nn.MeanSurfaceDistance nn.RootMeanSquareDistance", [
        "float(metric(nn.{MeanSurfaceDistance|RootMeanSquareDistance}({True|False}, '{euclidean|chessboard|taxicab}'), "
        "np.round({u:5,6}.asnumpy()), np.round({u:5,6}.asnumpy()), 1))",
    ]),
    ("text", "nn.HausdorffDistance", [
        "float(metric(nn.HausdorffDistance('{euclidean|chessboard|taxicab}'[?, {50.0|90.0}][?, crop=False]), "
        "np.round({u:5,6}.asnumpy()), np.round({u:5,6}.asnumpy()), 1))",
    ]),
    ("text", "nn.ROC", [
        "[one.tolist() for one in metric(nn.ROC(), {u:7}, ms.Tensor([0, 1, 1, 0, 1, {0|1}, 0]))]",
    ]),
    ("text", "nn.auc", ["nn.auc(np.arange(4.0), {g:4}.asnumpy())", "nn.auc({g:5}.asnumpy(), {g:5}.asnumpy(), True)"]),
    ("text", "from_numpy frombuffer", [
        "ms.from_numpy({a}.asnumpy())", "ms.frombuffer({g}.asnumpy().tobytes(), ms.int32)",
    ]),
    ("text", "swap_tensors recompute", [
        "[ms.swap_tensors(a, b) or (a, b) for a, b in [({g:n}.copy(), {g:n}.copy())]]",
        "ms.recompute(given(nn.Dense({k}, {m})), {g:n,k})",
        "ms.recompute(nn.Tanh(), {g})",
    ]),
    ("text", "Tensor.get_bytes Tensor.is_signed Tensor.itemset", [
        "{a}.get_bytes()", "{a}.is_signed()", "{g:n,k}.itemset({0..0}, 2.5)", "{a}.storage().size()",
    ]),
    ("text", "utils.to_dlpack", ["ms.utils.from_dlpack(ms.utils.to_dlpack({g}))"]),
]  # fmt: skip
