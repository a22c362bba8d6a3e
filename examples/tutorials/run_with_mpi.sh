#!/bin/bash
# The quick start on eight ranks, its log in ./device/train.log.
rm -rf device
mkdir device
cp ./quick_start.py ./device
cd ./device
mpirun -n 8 python3 ./quick_start.py > train.log 2>&1 &
wait
