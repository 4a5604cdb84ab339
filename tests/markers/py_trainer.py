"""A script that uses the Python helper as its users do."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["BATCHLAB_SOURCE_ROOT"], "python"))
from batchlab_marker import Marker, track

batch = int(os.environ.get("BATCHLAB_BATCH", 4))
loader = [([0] * batch, "labels")] * 5 + [([0] * (batch - 1), "labels")]

if sys.argv[1] == "track":
    for images, labels in track(loader, batch):
        time.sleep(0.001)
elif sys.argv[1] == "oom":
    with Marker(program="py_trainer.py", batch=batch) as marker:
        for images, labels in marker.track(loader, batch):
            raise MemoryError("no room")
else:
    with Marker(program="py_trainer.py", program_version="3", precision="f32", batch=batch) as marker:
        for i, (images, labels) in enumerate(marker.track(loader, batch)):
            time.sleep(0.001)
            marker.loss = float("nan") if i == 1 else 2.5 / (i + 1)
        with marker.phase("eval"):
            marker.step(batch)
        marker.memory("activations", 3000)
        marker.metric("top1", 0.625)
        marker.metric("nothing", float("inf"))
        marker.noise(8, 128, 0.5, 0.125)
        marker.noise(8, 128, float("nan"), 0.125)
        marker.noise(1, 64, 3, 2, scaled=True)
print("end")
