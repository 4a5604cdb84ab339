#include "progress_cases.h"

#include "base/attributes.h"

#define U   BL_PROGRESS_UNKNOWN
#define T   BL_PROGRESS_TRAIN
#define E   BL_PROGRESS_EVAL
#define S   BL_PROGRESS_SETUP
#define BAR "\xe2\x94\x81\xe2\x94\x81\xe2\x94\x81\xe2\x94\x80"

const progress_case progress_cases[] = {
    {"tqdm", U, 120, 1000, 11.97, "ep1:  12%|#2 | 120/1000 [00:10<01:13, 11.97it/s, loss=.5]\r"},
    {"tqdm", U, 120000, 1000000, 1200, "ep1:  12%|#2 | 120k/1.00M [00:10<01:13, 1.20kit/s]\r"},
    {"tqdm", U, 12, 100, 1 / 58.86, "ep1:  12%|#2 | 12/100 [11:46<1:26:19, 58.86s/it]\r"},
    {"tqdm", U, 0, 1000, 0, "  0%|          | 0/1000 [00:00<?, ?it/s]\r"},
    {"tqdm", T, 7, 8, 2.5, "training: 88%|\xe2\x96\x88\xe2\x96\x88\xe2\x96\x8a| 7/8 [00:02<00:00,  2.50batch/s]\n"},
    {"tqdm", E, 7, 8, 0, "validating: 88%|######8 | 7/8 [00:02<00:00, 99.1img/s]\n"},
    {"tqdm", U, 1234, 10000, 8, "12%|#2 | 1,234/10,000 [00:10<01:13, 8,00it/s]\r"},
    {"tqdm", U, 345, 0, 11.97, "345it [00:28, 11.97it/s]\r"},
    {"tqdm", S, 45000000, 90000000, 0, "model.safetensors:  50%|##### | 45.0M/90.0M [00:01<00:01, 41.2MB/s]\r"},
    {"tqdm", S, 3, 4, 4, "Loading checkpoint shards:  75%|####### | 3/4 [00:01<00:00,  4.00it/s]\r"},
    {"tqdm", S, 50, 100, 0, "Map (num_proc=4):  50%|##### | 50/100 [00:00<00:00, 1234.5 examples/s]\r"},
    {"tqdm", S, 50, 100, 0, "train: Caching: 50%|##### | 50/100 [00:00<00:00, 12.5MB/s]\r"},
    /* Lightning */
    {"tqdm", U, 2, 200, 0.25, "Epoch 0:   1%| | 2/200 [00:08<13:12,  0.25it/s, v_num=3]\r"},
    {"tqdm", E, 1, 2, 9.1, "Sanity Checking DataLoader 0:  50%|#####     | 1/2 [00:00<00:00,  9.10it/s]\r"},
    {"tqdm", E, 3, 40, 9.1, "Validation DataLoader 0:   8%|7   | 3/40 [00:00<00:04,  9.10it/s]\r"},
    {"tqdm", U, 3, 40, 9.1, "Epoch 4 val_loss=0.31:   8%|7   | 3/40 [00:00<00:04,  9.10it/s]\r"},
    {"rich", U, 120, 1000, 11.97,
     "Epoch 0/9 \xe2\x94\x81\xe2\x94\x81\xe2\x94\x81\xe2\x94\x81\xe2\x94\x81 120/1000 0:00:10 \xe2\x80\xa2 0:01:13 "
     "11.97it/s\r"},
    {"rich", E, 4, 79, 3.5, "Validation " BAR " 4/79 0:00:01 \xe2\x80\xa2 -:--:-- 3.50it/s\n"},
    {"rich", T, 4, 79, 0, "\x1b[36mTrain\x1b[0m \x1b[38;5;237m----------\x1b[0m  5% 4/79 0:00:09\x1b[K\r"},
    /* YOLO */
    {"tqdm", U, 12, 100, 9.8,
     "      0/99     2.31G    0.1234    0.0567    0.0321        45       640:  12%|# | 12/100 [00:02<00:09,  "
     "9.80it/s]\r"},
    {"tqdm", E, 3, 20, 4,
     "               Class     Images  Instances          P          R      mAP50:  15%|#5 | 3/20 [00:01<00:04,  "
     "4.00it/s]\r"},
    {"ultralytics", U, 120, 1000, 1200,
     "\r\x1b[K      1/100     2.31G      1.2      3.4     1.5     20     640: 12% " BAR
     " 120/1000 1.2Kit/s 10.1s<1:13"},
    {"ultralytics", E, 5, 25, 8.5,
     "\r\x1b[K                 Class     Images  Instances      Box(P          R      mAP50): 20% " BAR
     " 5/25 8.5it/s 0.6s<2.4s"},
    /* Keras: backspaces, colours, both forms of the bar */
    {"keras", U, 12, 469, 1000. / 12,
     "\b\b\b\b\r\x1b[1m12/469\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m5s\x1b[0m 12ms/step - loss: 2.1\n"},
    {"keras", U, 13, 469, 0, " 13/469 [..............................] - ETA: 1:05 - loss: 2.1\n"},
    {"keras", U, 469, 469, 1. / 2,
     "469/469 [==============================] - 938s 2s/step - loss: 0.1 - val_loss: 0.2\n"},
    {"keras", U, 14, 0, 1e6 / 850, "14/Unknown \x1b[1m3s\x1b[0m 850us/step - loss: 2.1\n"},
    /* lines of logs */
    {"torchvision", U, 10, 5005, 1 / 0.495,
     "Epoch: [0]  [  10/5005]  eta: 0:41:12  img/s: 512.3  loss: 6.9 (6.95)  time: 0.4950  data: 0.0123  max mem: "
     "10310\n"},
    {"torchvision", E, 10, 98, 1 / 0.25, "Test:   [ 10/98]  eta: 0:00:20  loss: 1.2  time: 0.2500\n"},
    {"torchvision", U, 30, 391, 1 / 0.201, "Epoch: [3][ 30/391]\tTime  0.201 ( 0.310)\tData  0.001\tLoss 1.23\n"},
    {"torchvision", U, 50, 391, 1 / 0.12,
     "2024-01-01 10:00:00 - mmcv - INFO - Epoch [1][50/391]\tlr: 1.000e-02, eta: 0:10:00, time: 0.120, memory: 900\n"},
    {"timm", T, 50, 1251, 1 / 0.321,
     "Train: 0 [  50/1251 (  4%)]  Loss: 6.93 (6.95)  Time: 0.321s,  797.51/s  (0.345s,  742.03/s)  LR: 1.000e-05  "
     "Data: 0.010 (0.024)\n"},
    {"timm", E, 10, 97, 1 / 0.2, "Test: [  10/97 ( 10%)]  Time: 0.200s  Loss: 1.1\n"},
    {"mnist", T, 640, 60000, 0, "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3\n"},
    {"mmengine", T, 50, 391, 1 / 0.12,
     "2024/01/01 10:00:00 - mmengine - INFO - Epoch(train)   [1][ 50/391]  lr: 1.0000e-02  eta: 0:10:00  time: 0.1200  "
     "data_time: 0.0100  memory: 900  loss: 2.0\n"},
    {"mmengine", E, 50, 79, 1 / 0.12,
     "10:00:00 - mmengine - INFO - Epoch(val)  [1][50/79]    eta: 0:00:03  time: 0.1200\n"},
    {"mmengine", T, 100, 80000, 1 / 0.5,
     "mmengine - INFO - Iter(train) [  100/80000]  lr: 1e-2  time: 0.5000  loss: 1\n"},
    {"detectron2", U, 19, 0, 1 / 0.35,
     "[01/01 10:00:00 d2.utils.events]:  eta: 0:12:34  iter: 19  total_loss: 1.2  loss_cls: 0.9  time: 0.3500  "
     "data_time: 0.01  lr: 0.0005  max_mem: 1234M\n"},
    {"paddle", T, 10, 5004, 1 / 0.4,
     "ppcls INFO: [Train][Epoch 1/120][Iter: 10/5004]lr(Piecewise): 0.1, CELoss: 7.0, loss: 7.0, batch_cost: 0.40000s, "
     "reader_cost: 0.1, ips: 160 samples/s\n"},
    {"paddle", E, 10, 98, 1 / 0.2, "[Eval][Epoch 1][Iter: 10/98]CELoss: 7.0, loss: 7.0, batch_cost: 0.20000s\n"},
    {"darknet", U, 101, 0, 1 / 1.23, "101: 12.3, 14.5 avg, 0.001 rate, 1.23 seconds, 6464 images\n"},
    {"darknet", U, 17, 0, 1 / 0.042027,
     "17, 2.125: 0.075785, 0.153746 avg, 0.010000 rate, 0.042027 seconds, 136 images\n"},
    {"darknet", U, 7, 0, 1 / 2.5,
     " 7: -nan, -nan avg loss, 0.000000 rate, 2.500000 seconds, 448 images, 3.5 hours left\n"},
    {"llm.c", U, 5, 100, 1000 / 123.45,
     "step    5/100 | loss 4.123456 (+0.12z)| norm 1.2345 (-0.50z)| lr 3.00e-04 | 123.45 ms | 45.6% bf16 MFU | 132741 "
     "tok/s\n"},
    {"nanogpt", U, 0, 0, 1000 / 135.21, "iter 0: loss 4.1234, time 135.21ms, mfu -100.00%\n"},
    {"nanogpt", U, 9, 0, 1000 / 88.5, "step 9: train loss 4.677779 (took 88.500000 ms)\n"},
    {"torchtitan", U, 10, 0, 0,
     "\x1b[32m[titan] 2025-01-01 10:00:00,123 - root - INFO - step: 10  \x1b[31mloss:  8.1234  \x1b[33mmemory: "
     "1.2GiB(9.9%)  \x1b[34mtps: 1,234\x1b[39m\n"},
    {"hf trainer", U, -1, 0, 3.1,
     "{'train_runtime': 437.8, 'train_samples_per_second': 25.1, 'train_steps_per_second': 3.1, 'epoch': 1.0}\n"},
    /* what anybody may write */
    {"counter", U, 12, 100, 0, "[12:00:01] Iteration: [12/100] nll=2.3\n"},
    {"counter", U, 3, 50, 0, "batch 3 of 50, loss 0.31\n"},
    {"counter", U, 1200, 0, 0, "global_step=1200 lr=1e-4 train_loss=0.33\n"},
    {"counter", T, 17, 20, 0, "Training step 17/20\n"},
    {NULL, U, 0, 0, 0, "Epoch 1/10\n"},
    {NULL, U, 0, 0, 0, "2024/01/12 saved model to runs/12/100.pt\n"},
    {NULL, U, 0, 0, 0, "loading 12 of 30 files\n"},
    {NULL, U, 0, 0, 0, "batch size 128, learning rate 0.1, loss: cross entropy\n"},
    {NULL, U, 0, 0, 0, "accuracy 981/1000\n"},
    {"counter", U, 250, 0, 0, "step 250: train loss 4.2874, val loss 4.2823\n"},
    {NULL, U, 0, 0, 0, "tensor of 3/4 [00\n"},
    {NULL, U, 0, 0, 0, "12%|#2 | 1200/1000 [00:10<01:13, 11.97it/s]\n"},
};

const size_t n_progress_cases = BL_ARRAY_LEN(progress_cases);
