#!/bin/bash
# As the tutorial of r0.2 prints it; what the page lost (the loop, the folder, the last line) is put back.
export MINDSPORE_HCCL_CONFIG_PATH=./rank_table.json
export RANK_SIZE=2
for((i=0;i<$RANK_SIZE;i++))
do
    rm -rf device$i
    mkdir device$i
    cp ./resnet50_distributed_training_r0_2.py ./resnet.py ./device$i
    cd ./device$i
    export RANK_ID=$i
    export DEVICE_ID=$i
    echo "start training for device $i"
    env > env$i.log
    pytest -s -v ./resnet50_distributed_training_r0_2.py > log$i 2>&1 &
    cd ../
done
wait
