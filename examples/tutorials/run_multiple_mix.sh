#!/bin/bash
# bash run_multiple_mix.sh MNIST: eight ranks, their logs in log_output/1/rank.*/stdout
export DATA_PATH=$1
mpirun -n 8 --output-filename log_output --merge-stderr-to-stdout python3 multiple_mix.py
