"""Pipeline parallelism: two stages, each on two ranks, with four micro-batches in flight.

    python3 pipeline_stages.py
    mpirun -n 4 python3 pipeline_stages.py

`pipeline_stage` assigns cells to stages. `PipelineCell` divides the batch into micro-batches, so that both stages work
at once. Prints the losses under two orders of the micro-batches, which must be those of one rank.
"""

import digits

import partita as ms
from partita import nn

RANKS, STAGES, MICRO_BATCHES = 4, 2, 4


def make_model(micro_batches=1):
    lower = nn.SequentialCell(nn.Flatten(), nn.Dense(digits.SIZE**2, 128), nn.ReLU())
    upper = nn.SequentialCell(nn.Dense(128, 64), nn.ReLU(), nn.Dense(64, 10))
    if micro_batches > 1:
        lower.pipeline_stage, upper.pipeline_stage = 0, 1
    with_loss = nn.WithLossCell(nn.SequentialCell(lower, upper), nn.CrossEntropyLoss())
    return digits.model_of(nn.PipelineCell(with_loss, micro_batches) if micro_batches > 1 else with_loss, loss=None)


if __name__ == "__main__":
    digits.start(RANKS)
    data = digits.rows(batch=32)
    expected = digits.losses_on_one_rank(make_model, data)
    for order in ("gpipe", "1f1b"):
        ms.set_auto_parallel_context(
            parallel_mode="semi_auto_parallel",
            dataset_strategy="full_batch",
            pipeline_stages=STAGES,
            pipeline_config={"pipeline_scheduler": order},
        )
        ms.set_seed(1)
        model = make_model(MICRO_BATCHES)
        program = model.program(data)
        assert program.stages == STAGES, program.stages
        digits.compare(order, digits.losses_of(model, data), expected)
