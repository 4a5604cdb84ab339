#!/usr/bin/env python3
"""The same training as pytorch_training.py by a stranger: it prints nothing and knows no markers. It is timed whole, so
say how many samples a run trains:

    batchlab sweep -b 100,127,128,129,156 --samples '{batch}*8' -- \\
        python3 experiments/pytorch_silent.py --data DIR --batch-size {batch} --steps 8
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.argv.append('--silent')
import pytorch_training

pytorch_training.main()
