"""Functions of the library on values that have a slice for each call of a function that is mapped (`ops.vmap`)."""
