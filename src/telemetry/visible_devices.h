/* Which devices the trials may use: CUDA_VISIBLE_DEVICES. Of use inside this room. */
#ifndef BL_TELEMETRY_VISIBLE_DEVICES_H
#define BL_TELEMETRY_VISIBLE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bl_known_device {
    const char *uuid; /* "GPU-8932f937-..."; "" where not known */
    const char *name;
    bool visible; /* filled */
} bl_known_device;

/* Marks the devices that `list` (NULL: not set) lets a program see; as CUDA reads it: numbers or beginnings of UUIDs,
 * and nothing behind the first that fits no device. devices: in the order of the bus. Returns a static text that says
 * how this may be wrong, or NULL: numbers follow the bus only where `order` is PCI_BUS_ID or all devices are of one
 * kind; else all are marked. */
const char *bl_visible_devices(const char *list, const char *order, bl_known_device *devices, size_t n);

#endif
