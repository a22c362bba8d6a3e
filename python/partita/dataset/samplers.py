"""Which rows are taken, and in which order."""

import operator


class _Sampler:
    def shards(self):
        return 1, 0

    def choose(self, rows, seed, shard):
        raise NotImplementedError


class SequentialSampler(_Sampler):
    """The rows in their order."""

    def __init__(self, start_index=None, num_samples=None):
        self.start_index, self.num_samples = start_index or 0, num_samples

    def choose(self, rows, seed, shard):
        rows = rows.skip(self.start_index) if self.start_index else rows
        return rows if self.num_samples is None else rows.take(self.num_samples)


class RandomSampler(_Sampler):
    """The rows in a new order in each epoch."""

    def __init__(self, replacement=False, num_samples=None):
        if replacement:
            raise NotImplementedError(
                "[RandomSampler] rows cannot be drawn with replacement, got replacement=True, expected False"
            )
        self.num_samples = num_samples

    def choose(self, rows, seed, shard):
        rows = rows.shuffle(seed)
        return rows if self.num_samples is None else rows.take(self.num_samples)


class DistributedSampler(_Sampler):
    """Every num_shards-th row, in a new order in each epoch unless told otherwise."""

    def __init__(self, num_shards, shard_id, shuffle=True, num_samples=None, offset=-1):
        if not 0 <= shard_id < num_shards:
            raise ValueError(f"[DistributedSampler] shard out of range, got {shard_id}, expected 0 to {num_shards - 1}")
        self.num_shards, self.shard_id, self.shuffle, self.num_samples = num_shards, shard_id, shuffle, num_samples

    def shards(self):
        return self.num_shards, self.shard_id

    def choose(self, rows, seed, shard):
        rows = (rows.shuffle(seed) if self.shuffle else rows).shard(*shard)
        return rows if self.num_samples is None else rows.take(self.num_samples)


class SubsetSampler(_Sampler):
    """The rows with these numbers, in this order."""

    def __init__(self, indices, num_samples=None):
        where = type(self).__name__
        try:
            self.indices = [operator.index(one) for one in indices]
        except TypeError:
            raise TypeError(
                f"[{where}] the numbers of rows are no integers, got {indices!r}, expected a list"
            ) from None
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples < 0):
            raise ValueError(f"[{where}] bad num_samples, got {num_samples!r}, expected an integer from 0")
        self.num_samples = num_samples

    def choose(self, rows, seed, shard):
        rows = rows.select(self.indices)
        return rows if self.num_samples is None else rows.take(self.num_samples)


class SubsetRandomSampler(SubsetSampler):
    """The rows with these numbers, in a new order in each epoch."""

    def choose(self, rows, seed, shard):
        rows = rows.select(self.indices).shuffle(seed)
        return rows if self.num_samples is None else rows.take(self.num_samples)
